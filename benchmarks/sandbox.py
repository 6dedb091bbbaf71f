#!/usr/bin/env python3
"""Cost of this machine's sandbox: a build and a clean room of the demo package, confined and unconfined.

    benchmarks/sandbox.py [--rounds 3] [--json]

Both are measured in turns in one process, without a compiler cache, and the least seconds and CPU seconds count: other
work on the machine adds to a single run. The unconfined ones run as where there is no bubblewrap.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from wheelmill.build.builder import build_wheel
from wheelmill.build.local import LocalBuilder
from wheelmill.config.load import load_config
from wheelmill.names import CudaVersion, PythonVersion, project_name
from wheelmill.pipeline.run import serve_candidate
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.smoke.environment import LocalEnvironments
from wheelmill.smoke.examine import examine_wheel
from wheelmill.system import sandbox
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelFile

DEMO = Path(__file__).parents[1] / "tests" / "data" / "demo"


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each")
    parser.add_argument("--json", action="store_true", help="print one object")
    arguments = parser.parse_args()
    if reason := sandbox.why_unconfined():
        parser.error(f"there is no sandbox to measure: {reason}")
    os.environ["CCACHE_DISABLE"] = "1"
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name), arguments.rounds)
    if arguments.json:
        print(json.dumps([[*what, *seconds] for what, seconds in found.items()]))
    else:
        for (what, unit), (unconfined, confined) in found.items():
            more = confined - unconfined
            print(f"{what:10} {unit:11} {unconfined:8.3f} {confined:8.3f} {more:+.3f} {100 * more / unconfined:+.1f} %")


def measure(folder: Path, rounds: int) -> dict[tuple[str, str], tuple[float, float]]:
    """The best of each, by what it is and its unit: unconfined and confined."""
    target = demo_target()
    confined = sandbox.why_unconfined
    best: dict[tuple[str, str, bool], float] = {}
    for number in range(rounds):
        for is_confined in (False, True):
            sandbox.why_unconfined = confined if is_confined else (lambda: "measured without")  # type: ignore[assignment]
            output = folder / f"{number}-{is_confined}"
            acts: dict[str, Callable[[], None]] = {
                "nothing": nothing,
                "build": partial(build, target, output),
                "clean room": partial(visit, output),
            }
            for what, act in acts.items():
                for unit, took in timed(act).items():
                    key = (what, unit, is_confined)
                    best[key] = min(took, best.get(key, took))
    return {
        (what, unit): (took, best[what, unit, True])
        for (what, unit, is_confined), took in best.items()
        if not is_confined
    }


def nothing() -> None:
    """Start a program that does nothing, where foreign code runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sandbox.Sandbox(writable={folder: folder}).run(["true"], cwd=folder, env={"PATH": os.environ["PATH"]})


def demo_target() -> BuildTarget:
    """The demo package for the first Python and CUDA that it can be built with here."""
    config = load_config(DEMO)
    filters = Filters(
        projects=(project_name("wheelmill-demo"),),
        pythons=(PythonVersion(3, 12),),
        cudas=(CudaVersion(13, 0),),
        platforms=config.compatibility.platforms[:1],
    )
    return make_plan(config, filters, {}).targets[0]


def build(target: BuildTarget, output: Path) -> None:
    """Compile the demo."""
    build_wheel(target, LocalBuilder(), policy="auto", output=output, progress=Progress())


def visit(folder: Path) -> None:
    """Install the only wheel of a folder in a clean environment, and import it."""
    wheel = WheelFile.at(next(folder.glob("*.whl")))
    environments = LocalEnvironments(compatibility=load_config(DEMO).compatibility)
    verdict = examine_wheel(wheel, environments, serve_candidate, progress=Progress())
    if verdict.findings:
        raise SystemExit("\n".join(map(str, verdict.findings)))


def timed(act: Callable[[], None]) -> dict[str, float]:
    """The seconds that something took, and the CPU seconds of this process and of all that it started."""
    before, began = cpu_seconds(), time.monotonic()
    act()
    return {"seconds": time.monotonic() - began, "CPU seconds": cpu_seconds() - before}


def cpu_seconds() -> float:
    """CPU seconds of this process, and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()
