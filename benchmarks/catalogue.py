#!/usr/bin/env python3
"""Cost of compiling the packages of packages.yml for one GPU architecture, and the evidence of their wheels.

    benchmarks/catalogue.py [--package PROJECT ...] [--arch 9.0] [--python 3.12] [--cuda 13.0] [--torch 2.11] [--json]

Without --package those that have 'seconds', which is what was compiled before. Each is run with an empty compiler cache
from its source to a tested wheel, one after the other; that of a package which must not be redistributed is a skip. CPU
seconds are those of the command and of all it started.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from wheelmill.config.load import load_config
from wheelmill.system import own_installation


@dataclass(frozen=True, kw_only=True)
class Row:
    """One package: what its wheel cost and shows, or why there is none."""

    package: str
    seconds: float
    cpu_seconds: float
    bytes: int | None = None
    policy: str | None = None
    sass: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def markdown(self) -> str:
        """A line of the table in docs/performance.md."""
        if self.bytes is None:
            return f"| {self.package} | | | | | {self.reason} |"
        numbers = f"{self.cpu_seconds:,.0f} | {self.seconds:,.0f} | {self.bytes:,}"
        evidence = f"{', '.join(self.sass) or 'no machine code'}; imports {', '.join(self.imports)}"
        return f"| {self.package} | {numbers} | {self.policy} | {evidence} |"


def main() -> None:
    """Run the packages and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", action="append", help="repeatable")
    for name, default in (("arch", "9.0"), ("python", "3.12"), ("cuda", "13.0"), ("torch", "2.11")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--config", type=Path, default=own_installation.CONFIG, help="a folder with packages.yml")
    parser.add_argument("--json", action="store_true", help="print one list")
    arguments = parser.parse_args()
    packages = load_config(arguments.config).packages
    chosen = arguments.package or [name for name, package in packages.items() if package.seconds]
    options = [f"--{name}={getattr(arguments, name)}" for name in ("arch", "python", "cuda", "torch", "config")]
    rows = []
    if not arguments.json:
        print("| package | CPU seconds | seconds | wheel, bytes | policy | evidence |\n|---|--:|--:|--:|---|---|")
    for row in run_packages(chosen, options):
        rows.append(row)
        if not arguments.json:
            print(row.markdown, flush=True)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))


def run_packages(packages: Sequence[str], options: Sequence[str]) -> Iterator[Row]:
    """Run one after the other, each with a compiler cache of its own."""
    for package in packages:
        with tempfile.TemporaryDirectory() as folder:
            yield run_package(package, options, Path(folder))


def run_package(package: str, options: Sequence[str], folder: Path) -> Row:
    """Build and test the wheel of one package.

    Args:
        package: its name in packages.yml.
        options: of `wheelmill run`: the cell, the architecture and the configuration.
        folder: an empty one, for the wheel and the compiler cache.
    """
    argv = [sys.executable, "-m", "wheelmill", "run", package, *options, f"--output={folder / 'out'}", "--json"]
    cached = str(Path("~/.cache/uv").expanduser())
    environment = {"UV_CACHE_DIR": cached, **os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    before, began = cpu_seconds(), time.monotonic()
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    row = Row(package=package, seconds=time.monotonic() - began, cpu_seconds=cpu_seconds() - before)
    found = json.loads(done.stdout) if done.stdout else {}
    for wheel in found.get("wheels", ()):
        if wheel["ok"]:
            return replace(row, **shown(wheel, folder))
    skipped = [skip["reason"] for skip in found.get("skips", ())]
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return replace(row, reason=skipped[0] if skipped else said[-1])


def shown(wheel: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Evidence of a tested wheel.

    Args:
        wheel: its part of what `wheelmill run --json` prints.
        folder: where it lies, somewhere below, beside its certificate.
    """
    (file,) = folder.glob(f"out/**/{wheel['file']}")
    certificate = json.loads(Path(f"{file}.tested.json").read_text())
    return {
        "bytes": file.stat().st_size,
        "policy": wheel["evidence"]["policy"],
        "sass": tuple(wheel["evidence"]["sass"]),
        "imports": tuple(certificate["provenance"]["expectations"]["imports"]),
    }


def cpu_seconds() -> float:
    """CPU seconds of all started processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
