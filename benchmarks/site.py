#!/usr/bin/env python3
"""The pages for people in a real browser: what they weigh, how long they are, and how soon the finder answers."""

import argparse
import gzip
import json
import os
import resource
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
VENV: Final = ROOT / ".venv"
if Path(sys.prefix) != VENV and (VENV / "bin" / "python").exists():
    os.execv(VENV / "bin" / "python", [str(VENV / "bin" / "python"), *sys.argv])  # noqa: S606 - itself, by the right interpreter
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402 - only .venv has it

from tests.site_of_many import site_of_many  # noqa: E402 - found by the line above
from wheelmill.index.serve import serve_folder  # noqa: E402
from wheelmill.index.site.pages import site_pages  # noqa: E402
from wheelmill.index.write import write_site  # noqa: E402
from wheelmill.names import project_name  # noqa: E402

PROJECTS: Final = 50
CHOICES: Final = ("3.10", "3.11", "3.12", "3.13", "3.14")
"""Pythons that are chosen one after the other."""
PAGES: Final = {
    "index.html": "first page",
    "packages/p-0/index.html": "package",
    "packages/p-0/2.99.9/index.html": "version",
    "packages/p-0/2.99.9/cu130torch2.10/index.html": "wheels of one label",
}
"""Pages of the project that has half of the wheels."""


@dataclass(frozen=True, kw_only=True)
class Weight:
    """One page."""

    bytes: int
    compressed: int
    elements: int
    """Once its scripts have run."""
    height: int
    """Pixels on a phone that is 390 wide."""


def weight_of(browser: Browser, folder: Path, url: str, path: str) -> Weight:
    """Weigh a page, and show it on a phone."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(url + path.removesuffix("index.html"), wait_until="networkidle")
    elements = page.evaluate("document.querySelectorAll('*').length")
    height = page.evaluate("document.documentElement.scrollHeight")
    page.close()
    content = (folder / path).read_bytes()
    return Weight(bytes=len(content), compressed=len(gzip.compress(content)), elements=elements, height=height)


def answers(browser: Browser, url: str) -> dict[str, float]:
    """Milliseconds until the first page answers for a project, and for another choice."""
    page = browser.new_page()
    page.goto(f"{url}#project=p-0")
    page.locator(".verdict", has_text="builds of p-0").wait_for()
    first = page.evaluate("performance.now()")
    again = [page.evaluate(_CHOOSE, python) for python in CHOICES]
    page.close()
    return {"first_answer_ms": round(first, 1), "next_answer_ms": round(median(again), 1)}


_CHOOSE: Final = """python => {
    const field = document.querySelector("[name=python]");
    field.value = python;
    const before = performance.now();
    field.dispatchEvent(new Event("change", { bubbles: true }));
    document.body.getBoundingClientRect();
    return performance.now() - before;
}"""


def cpu_seconds() -> float:
    """CPU seconds of this process until now."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the figures as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=int, default=20_000)
    count = parser.parse_args().wheels
    site = site_of_many(count, [project_name(f"p-{number}") for number in range(PROJECTS)])
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        before = cpu_seconds()
        written = write_site(site_pages(site), folder)
        figures: dict[str, object] = {"cpu_seconds": round(cpu_seconds() - before, 2)}
        figures |= {"files": written.pages, "bytes": written.bytes}
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), chromium_sandbox=False)
        with serve_folder(folder) as url:
            shown = {title: path for path, title in PAGES.items() if (folder / path).is_file()}
            figures |= {"pages": {title: asdict(weight_of(browser, folder, url, shown[title])) for title in shown}}
            figures |= answers(browser, url)
        browser.close()
    print(json.dumps({"wheels": count, **figures}))


if __name__ == "__main__":
    main()
