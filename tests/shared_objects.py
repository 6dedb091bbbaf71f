"""Shared objects for tests, made by the compiler of this machine."""

from pathlib import Path

from wheelmill.system import process

EXTENSION = """
#include <stdio.h>
__attribute__((section(".nv_fatbin"), used)) static const unsigned device_code[] = {
    0xba55ed50, 0x00100001, 72, 0, 2, 64, 8, 0, 0, 0, 0, 90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
extern int outside(int);
extern void maybe(void) __attribute__((weak));
int own(int number) { if (maybe) maybe(); return printf("%d", outside(number)); }
"""
"""A library that holds GPU code, prints, may use ``maybe`` and leaves ``outside`` open."""


def compiled(path: Path, code: str, *arguments: str | Path) -> Path:
    source = path.with_suffix(".c")
    source.write_text(code)
    process.run(["gcc", "-shared", "-fPIC", "-s", "-Wl,--no-as-needed", "-o", path, source, *arguments])
    return path
