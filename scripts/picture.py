#!/usr/bin/env python3
"""Take the picture of README.md: the wheel finder of the site that scripts/quickstart has made, in Chromium."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

ROOT: Final = Path(__file__).resolve().parents[1]
VENV: Final = ROOT / ".venv"
if Path(sys.prefix) != VENV and (VENV / "bin" / "python").exists():
    os.execv(VENV / "bin" / "python", [str(VENV / "bin" / "python"), *sys.argv])  # noqa: S606 - itself, by the right interpreter

from playwright.sync_api import sync_playwright  # noqa: E402 - only .venv has it

from wheelmill.index.serve import serve_folder  # noqa: E402
from wheelmill.names import Platform, PythonVersion  # noqa: E402
from wheelmill.wheel.name import WheelName  # noqa: E402

MADE: Final = ROOT / "out" / "quickstart"
PICTURE: Final = ROOT / "docs" / "pictures" / "finder.png"
WIDTH: Final = 960


def choice_of(wheel: Path) -> dict[str, object]:
    """Choose everything for which a wheel is."""
    name = WheelName.parse(wheel.name)
    (tag, *_) = name.tags
    platform = Platform.of_tag(tag.platform)
    python = PythonVersion.parse(tag.interpreter)
    return {"project": name.project, "python": python, "platform": platform, "cuda": name.built_for.cuda}


def main() -> None:
    """Show the first page down to what the finder says of the wheel."""
    chromium = shutil.which("chromium")
    if not (MADE / "site").exists() or chromium is None:
        sys.exit("error: run scripts/quickstart first, and have Chromium: sudo apt-get install chromium")
    with serve_folder(MADE) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"], chromium_sandbox=False)
        page = browser.new_page(viewport={"width": WIDTH, "height": WIDTH})
        page.goto(f"{url}site/#{urlencode(choice_of(next((MADE / 'wheels').glob('*.whl'))))}")
        notes = page.locator(".notes").bounding_box()
        assert notes  # noqa: S101 - the finder has an answer
        height = notes["y"] + notes["height"] + 16
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})


if __name__ == "__main__":
    main()
