#!/usr/bin/env python3
"""Growth of planning with the number of cells: time and peak memory for 10,000, 30,000 and 100,000 of them.

Run with the interpreter of .venv. Each size is planned three times in a process of its own; the best time counts.
"""

import json
import resource
import subprocess
import sys
import time
from dataclasses import replace

from wheelmill.config.load import load_config
from wheelmill.names import project_version
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters
from wheelmill.system import own_installation

SIZES = (10_000, 30_000, 100_000)


def measure(cells: int) -> dict[str, float]:
    """Plan about this many cells of one package with many versions, against the facts that ship."""
    config = load_config(own_installation.CONFIG)
    package = config.packages[next(iter(config.packages))]
    one = make_plan(
        replace(config, packages={package.name: replace(package, versions=package.versions[:1])}), Filters(), {}
    )
    versions = tuple(project_version(f"1.{number}") for number in range(cells // (len(one.targets) + len(one.skips))))
    config = replace(config, packages={package.name: replace(package, versions=versions)})
    plan, seconds = one, []
    for _ in range(3):
        start = time.perf_counter()
        plan = make_plan(config, Filters(), {})
        seconds.append(time.perf_counter() - start)
    return {
        "cells": len(plan.targets) + len(plan.skips),
        "seconds": min(seconds),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Measure every size and print a line for each, with the time per cell over that of the first."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
        return
    first = None
    for size in SIZES:
        argv = [sys.executable, __file__, str(size)]
        figures = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
        per_cell = figures["seconds"] / figures["cells"]
        first = first or per_cell
        print(
            f"{figures['cells']:>7} cells  {figures['seconds']:6.2f} s  {per_cell * 1e6:5.1f} us a cell  "
            f"x{per_cell / first:.2f}  {figures['peak_mb']:6.0f} MB"
        )


if __name__ == "__main__":
    main()
