#!/usr/bin/env python3
"""The first page of an index in a real browser: what it weighs, how long until it answers, and for every new choice."""

import argparse
import gzip
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

VENV = Path(__file__).resolve().parents[1] / ".venv"
if Path(sys.prefix) != VENV and (VENV / "bin" / "python").exists():
    os.execv(VENV / "bin" / "python", [str(VENV / "bin" / "python"), *sys.argv])  # noqa: S606 - itself, by the right interpreter

from playwright.sync_api import sync_playwright  # noqa: E402 - only .venv has it

from wheelmill.index.serve import serve_folder  # noqa: E402
from wheelmill.index.site.pages import site_pages  # noqa: E402
from wheelmill.index.tree import IndexFile, Site, Tree, VersionFiles  # noqa: E402
from wheelmill.index.write import write_site  # noqa: E402
from wheelmill.names import ProjectName, Sha256  # noqa: E402
from wheelmill.wheel.name import WheelName  # noqa: E402

CHOICES: Final = ("3.9", "3.10", "3.11", "3.12", "3.13")
"""Pythons that are chosen one after the other."""


def wheels(count: int) -> Iterator[IndexFile]:
    """That many wheels of 50 projects: two CUDAs, five torches and five Pythons of every version."""
    axes = itertools.product(range(1, count // 2500 + 2), range(50), ("cu128", "cu130"), range(7, 12), range(9, 14))
    for version, project, cuda, torch, python in itertools.islice(axes, count):
        label = f"{cuda}torch2.{torch}"
        filename = f"p{project}-{version}.0+{label}-cp3{python}-cp3{python}-manylinux_2_28_x86_64.whl"
        yield IndexFile(
            name=WheelName.parse(filename),
            filename=filename,
            url=f"files/{filename}",
            sha256=Sha256("0" * 64),
            size=10**7,
            requires_python=None,
            requires_dist=(),
            metadata_sha256=None,
            uploaded_at=None,
            release=None,
            certificate=None,
            attestation=None,
            yanked=None,
        )


def site_of(count: int) -> Site:
    """An index of that many wheels, without its narrower trees: pages for people do not show them."""
    versions: dict[ProjectName, tuple[VersionFiles, ...]] = {}
    for project, files in itertools.groupby(sorted(wheels(count), key=lambda file: file.project), lambda f: f.project):
        versions[project] = tuple(
            VersionFiles(tuple(own)) for _, own in itertools.groupby(files, lambda file: file.name.version)
        )
    return Site(trees=(Tree(path="", versions=versions),))


def measure(url: str) -> dict[str, float]:
    """Milliseconds until the first answer stands on the page, and for another one."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), chromium_sandbox=False)
        page = browser.new_page()
        page.goto(url)
        page.locator(".verdict").wait_for()
        first = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        again = [page.evaluate(_CHOOSE, python) for python in CHOICES]
        browser.close()
    return {"first_answer_ms": round(first, 1), "next_answer_ms": round(median(again), 1)}


_CHOOSE: Final = """python => {
    const field = document.querySelector("[name=python]");
    field.value = python;
    const before = performance.now();
    field.dispatchEvent(new Event("change", { bubbles: true }));
    document.body.getBoundingClientRect();
    return performance.now() - before;
}"""


def main() -> None:
    """Print the figures as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=int, default=10_000)
    count = parser.parse_args().wheels
    with tempfile.TemporaryDirectory() as name:
        write_site(site_pages(site_of(count)), Path(name))
        content = (Path(name) / "index.html").read_bytes()
        with serve_folder(Path(name)) as url:
            figures = {"bytes": len(content), "compressed": len(gzip.compress(content)), **measure(url)}
    print(json.dumps({"wheels": count, **figures}))


if __name__ == "__main__":
    main()
