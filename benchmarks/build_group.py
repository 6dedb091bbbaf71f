"""CPU time of a group's builds on an empty compiler cache: one Python, then the others, then the first one again.

    benchmarks/build_group.py PROJECT [--python 3.11 --python 3.12] [--cuda 13.0] [--torch 2.11] [--architecture 9.0]

Prints for each build the seconds of CPU that it and all it started took, what the cache gave, and the ratio of the
whole group to its first Python. The last build shows what a build costs that is started again after it was ended.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from wheelmill.build.builder import build_wheel
from wheelmill.build.local import LocalBuilder
from wheelmill.config.load import load_config
from wheelmill.names import Architecture, CudaVersion, PythonVersion, TorchVersion, project_name
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.system import own_installation
from wheelmill.system.progress import Progress


class Counts(Progress):
    """Keeps the line that says what the cache gave."""

    def __init__(self) -> None:
        self.said = "no object was compiled"

    def step(self, text: str) -> None:
        """Keep it."""
        if "compiler cache" in text:
            self.said = text.partition(": ")[2]


def main() -> None:
    """Build the group and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=project_name)
    parser.add_argument("--python", action="append", type=PythonVersion.parse)
    parser.add_argument("--cuda", type=CudaVersion.parse, default=CudaVersion(13, 0))
    parser.add_argument("--torch", type=TorchVersion.parse, default=TorchVersion(2, 11))
    parser.add_argument("--architecture", type=Architecture.parse, default=Architecture(9, 0))
    parser.add_argument("--without-patches", action="store_true", help="build the source as it is")
    arguments = parser.parse_args()
    targets = targets_of(arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("UV_CACHE_DIR", str(Path("~/.cache/uv").expanduser()))
        os.environ["XDG_CACHE_HOME"] = folder  # a compiler cache that is empty
        seconds = [measured(target, Path(folder, "wheels")) for target in [*targets, targets[0]]]
    *group, again = seconds
    print(f"group of {len(group)}: {sum(group):.0f} s of CPU, {sum(group) / group[0]:.2f} x its first Python")
    print(f"started again: {again:.0f} s of CPU, {again / group[0]:.2f} x")


def targets_of(arguments: argparse.Namespace) -> tuple[BuildTarget, ...]:
    """The targets of the group, for one architecture."""
    config = load_config(own_installation.CONFIG)
    package = replace(config.packages[arguments.project], architectures=(arguments.architecture,))
    if arguments.without_patches:
        package = replace(package, patches=())
    filters = Filters(
        projects=(package.name,),
        pythons=tuple(arguments.python or (PythonVersion(3, 11), PythonVersion(3, 12))),
        cudas=(arguments.cuda,),
        torches=(arguments.torch,) if package.needs_torch else (),
        platforms=config.compatibility.platforms[:1],
    )
    return make_plan(replace(config, packages={package.name: package}), filters, {}).targets


def measured(target: BuildTarget, output: Path) -> float:
    """Build one target and print what it took; returns its seconds of CPU."""
    counts, began, before = Counts(), time.monotonic(), cpu_seconds()
    built = build_wheel(target, LocalBuilder(), policy="auto", output=output, progress=counts)
    cpu = cpu_seconds() - before
    print(
        f"Python {target.cell.python}: {cpu:5.0f} s of CPU, {time.monotonic() - began:5.0f} s; {counts.said}",
        flush=True,
    )
    print(f"  {built.file.sha256} {built.file.filename}", flush=True)
    return cpu


def cpu_seconds() -> float:
    """CPU seconds of all started processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
