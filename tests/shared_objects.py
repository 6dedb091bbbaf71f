"""Shared objects for tests: made by the compiler of this machine, or written byte by byte."""

import hashlib
import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.files import own_folder
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
    """Compile C into a small shared object, with further flags and the libraries that it is linked to."""
    flags = ("-shared", "-fPIC", "-s", "-Wl,--no-as-needed")
    return compile_once(path, ["gcc", *flags, "source.c", *arguments], {"source.c": code})


def compile_once(path: Path, command: Sequence[str | Path], sources: Mapping[str, str]) -> Path:
    """Run a compiler unless an earlier run did; paths in ``command`` are libraries, linked by their file names."""
    words = [argument.name if isinstance(argument, Path) else argument for argument in command]
    libraries = {library.name: library.read_bytes() for library in command if isinstance(library, Path)}
    files = {**{name: text.encode() for name, text in sources.items()}, **libraries}
    program = Path(shutil.which(words[0]) or words[0]).resolve(strict=True)
    what = (words, sorted(files.items()), str(program), program.stat().st_size, program.stat().st_mtime_ns)
    objects = own_folder("objects")
    known = objects / hashlib.sha256(repr(what).encode()).hexdigest()
    if not known.exists():
        with tempfile.TemporaryDirectory(dir=objects) as name:
            folder = Path(name)
            for file, content in files.items():
                (folder / file).write_bytes(content)
            process.run([*words, "-o", "made by the compiler"], cwd=folder)
            (folder / "made by the compiler").replace(known)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(known.read_bytes())
    path.chmod(0o755)
    return path


def shared_object(
    *,
    needed: Sequence[str] = (),
    undefined: Mapping[str, str | None] = MappingProxyType({}),
    defined: Sequence[str] = (),
    soname: str = "",
    search_path: str = "",
    machine: int = 62,
    sm: int = 0,
) -> bytes:
    """A shared object that says so much and holds no code: the same on every machine, and made at once.

    Args:
        needed: the libraries that it names.
        undefined: the symbols that it leaves open, with the version of each, ``GLIBC_2.34`` of libc.so.6, or None.
        defined: the symbols that it defines.
        soname: the name that others need it by.
        search_path: the folders in which its libraries are looked for.
        machine: the number of its processor: 62 is x86_64, 183 aarch64.
        sm: the GPU that it says to have machine code for, such as 90; 0 for none.
    """
    texts = bytearray(1)

    def text(name: str) -> int:
        texts.extend(f"{name}\0".encode())
        return len(texts) - len(name) - 1

    versions = {version: number for number, version in enumerate(sorted(filter(None, undefined.values())), 2)}
    symbols = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", text(name), 1 << 4, 0, section, 0, 0)
        for section, names in ((0, undefined), (1, defined))
        for name in names
    )
    numbers = [0, *(versions.get(version or "", 1) for version in undefined.values()), *([1] * len(defined))]
    chain = b"".join(
        struct.pack("<IHHII", 0, 0, number, text(version), 16 if number <= len(versions) else 0)
        for version, number in versions.items()
    )
    head = struct.pack("<HHIII", 1, len(versions), text("libc.so.6"), 16, 0) if versions else b""
    links = [(1, text(name)) for name in needed] + [(14, text(soname))] * bool(soname)
    links += [(29, text(search_path))] * bool(search_path) + [(0, 0)]
    fatbin = (
        text(".nv_fatbin"),
        1,
        0,
        struct.pack("<22I", 0xBA55ED50, 0x00100001, 72, 0, 2, 64, 8, *[0] * 4, sm, *[0] * 10),
    )
    sections = [  # name, kind, link, content
        (0, 0, 0, b""),
        (0, 11, 5, symbols),
        (0, 0x6FFFFFFF, 1, struct.pack(f"<{len(numbers)}H", *numbers)),
        (0, 0x6FFFFFFE, 5, head + chain),
        (0, 6, 5, b"".join(struct.pack("<QQ", *link) for link in links)),
        (0, 3, 0, bytes(texts)),
        *([fatbin] if sm else []),
    ]
    start, headers, body = 64, b"", b""
    for name, kind, link, content in sections:
        headers += struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, start + len(body), len(content), link, 0, 1, 0)
        body += content
    ident = b"\x7fELF\2\1\1" + bytes(9)
    header = struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, start + len(body), 0, 64, 0, 0, 64, len(sections), 5)
    return ident + header + body + headers
