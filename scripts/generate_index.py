#!/usr/bin/env python3
"""Generates a simple index over any folder of wheels, also of wheels that were not built here."""

import argparse
import itertools
import os
import sys
from pathlib import Path
from typing import NoReturn

VENV = Path(__file__).resolve().parents[1] / ".venv"
if Path(sys.prefix) != VENV and (VENV / "bin" / "python").exists():
    os.execv(VENV / "bin" / "python", [str(VENV / "bin" / "python"), *sys.argv])  # noqa: S606 - itself, by the right interpreter

from wheelmill import cli  # noqa: E402 - only .venv has it
from wheelmill.cli.shared.commands import say, say_warning  # noqa: E402
from wheelmill.config.load import load_compatibility  # noqa: E402
from wheelmill.errors import FindingsError  # noqa: E402
from wheelmill.index.collect import site_of_folder  # noqa: E402
from wheelmill.index.render import pages_of  # noqa: E402
from wheelmill.index.site.pages import site_pages  # noqa: E402
from wheelmill.index.write import write_site  # noqa: E402
from wheelmill.system import own_installation  # noqa: E402


def main() -> NoReturn:
    """Read the arguments, write the site, exit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels-dir", type=_path, required=True, help="folder of wheels")
    parser.add_argument("--output-dir", type=_path, required=True, help="folder for the site")
    parser.add_argument("--base-url", required=True, help="URL of the wheels' folder, or its path relative to the site")
    arguments = parser.parse_args()
    if not arguments.wheels_dir.is_dir():
        parser.error(f"--wheels-dir: {arguments.wheels_dir} is not a folder")
    left_out: list[str] = []
    torches = load_compatibility(own_installation.CONFIG).torches_of
    site = site_of_folder(
        arguments.wheels_dir, arguments.base_url, torches=torches, warn=say_warning, leave_out=left_out.append
    )
    write_site(itertools.chain(pages_of(site), site_pages(site)), arguments.output_dir)
    for fault in left_out:
        say(f"error: left out {fault}")
    sys.exit(FindingsError.exit_code if left_out else 0)


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("expected a path, not ''")
    return Path(text)


if __name__ == "__main__":
    cli.main(main)
