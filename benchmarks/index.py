#!/usr/bin/env python3
"""Time and peak memory of ``wheelmill index build``, beside those of dumb-pypi over the same wheels.

Commands run as a person runs them, each in a process of its own: from manifests, or a list of packages, to a folder of
files. wheelmill writes HTML and JSON for every tree and pages for people; dumb-pypi writes one tree. Then ten wheels
are released, and both write their site again. Before that, the parts of wheelmill's work are done without writing, and
after it the unavoidable work: to read, hash and decode the manifests, to write as many bytes into as many files,
and to give as many files that did not change their place in a new folder.
"""

import argparse
import gc
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SCRIPTS: Final = Path(sys.executable).parent
sys.path.insert(0, str(ROOT))

from benchmarks.releases import PER_RELEASE, Release, releases_of, ten_more, wheels, write_release  # noqa: E402 - above

BASE_URL: Final = "https://example.org/releases/download"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Costs of one command."""

    seconds: float
    """Wall time."""
    cpu_seconds: float
    peak_mb: float
    files: int
    bytes: int


def add(releases: Iterable[Release], folder: Path) -> None:
    """Add releases to ``packages.json`` for dumb-pypi and to ``releases`` for wheelmill."""
    with (folder / "packages.json").open("a") as packages:
        for release in releases:
            write_release(folder / "releases", release)
            for entry in release.entries:
                row = {
                    "filename": entry["filename"],
                    "hash": f"sha256={entry['sha256']}",
                    "requires_python": entry["requires_python"],
                    "core_metadata": f"sha256={entry['metadata_sha256']}",
                    "upload_timestamp": int(release.day.timestamp()),
                }
                packages.write(json.dumps(row) + "\n")


def measure(
    argv: list[str | Path], site: Path, environment: Mapping[str, str] = MappingProxyType({}), *, allowed: int = 0
) -> Figures:
    """Run a command in this repository and weigh what it wrote; `allowed` is an exit code that is no failure."""
    start = time.perf_counter()
    env = {**os.environ, **environment}
    process = subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (0, allowed):
        sys.exit(f"{argv[1]} failed: {process.stderr.read().decode() if process.stderr else ''}")
    files = [path.stat().st_size for path in site.rglob("*") if path.is_file()]
    return Figures(
        seconds=round(seconds, 2),
        cpu_seconds=round(usage.ru_utime + usage.ru_stime, 2),
        peak_mb=round(usage.ru_maxrss / 1024, 1),
        files=len(files),
        bytes=sum(files),
    )


def release(count: int, folder: Path) -> int:
    """Release about that many wheels; returns how many releases there are."""
    made = wheels(count)
    add(releases_of(made), folder)
    (folder / "config").mkdir()
    store = f"dir:{folder / 'releases'}"
    command: list[str | Path] = [SCRIPTS / "wheelmill", "release", "ledger", "--rebuild", "--store", store]
    subprocess.run(command, check=True, capture_output=True)
    return -(-len(made) // PER_RELEASE)


def build(folder: Path) -> Figures:
    """Write our site of what is released."""
    argv: list[str | Path] = [
        *(SCRIPTS / "wheelmill", "index", "build", "--store", f"dir:{folder / 'releases'}"),
        *("--output", folder / "site", "--base-url", BASE_URL, "--config", folder / "config"),
    ]
    return measure(argv, folder / "site")


def build_by_them(folder: Path, *more: str | Path) -> Figures:
    """Write dumb-pypi's."""
    argv: list[str | Path] = [
        *(SCRIPTS / "dumb-pypi", "--package-list-json", folder / "packages.json"),
        *("--packages-url", BASE_URL, "--output-dir", folder / "dumb-pypi", *more),
    ]
    return measure(argv, folder / "dumb-pypi")


def compare(count: int, folder: Path) -> dict[str, object]:
    """Run both over the same wheels, and again when there are ten more."""
    releases = release(count, folder)
    parts = run_parts(f"dir:{folder / 'releases'}")
    manifest_bytes = _manifest_bytes(folder / "releases") // len(wheels(count))
    ours, theirs = build(folder), build_by_them(folder)
    floor = floor_of(folder / "releases", folder / "site", folder / "floor")
    add(releases_of(ten_more(count), first=releases), folder)
    more = build(folder)
    more_by_them = build_by_them(folder, "--previous-package-list-json", folder / "dumb-pypi" / "packages.json")
    return {
        "wheels": len(wheels(count)),
        "manifest_bytes_a_wheel": manifest_bytes,
        "wheelmill": asdict(ours),
        "dumb_pypi": asdict(theirs),
        "ratios": _ratios(ours, theirs),
        "parts": parts,
        "floor": floor,
        "ten_more": {
            "wheelmill": asdict(more),
            "dumb_pypi": asdict(more_by_them),
            "ratios": _ratios(more, more_by_them),
        },
    }


def growth(counts: Iterable[int]) -> dict[str, object]:
    """Measure our site by the number of wheels, and then with ten more."""
    figures: dict[str, object] = {}
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="wheelmill-benchmark-") as folder:
            releases = release(count, Path(folder))
            first = build(Path(folder))
            add(releases_of(ten_more(count), first=releases), Path(folder))
            figures[f"{count:,}"] = {**asdict(first), "ten_more": asdict(build(Path(folder)))}
    return figures


def run_parts(store: str, environment: Mapping[str, str] = MappingProxyType({})) -> dict[str, float]:
    """`parts_of` a store in a process of its own."""
    argv = [sys.executable, __file__, "--parts", store]
    done = subprocess.run(argv, env={**os.environ, **environment}, check=True, capture_output=True)
    parts: dict[str, float] = json.loads(done.stdout)
    return parts


def parts_of(place: str) -> dict[str, float]:
    """The CPU seconds of the parts of making an index of a store, without a file written."""
    from wheelmill.cli.factory.inputs import store_at  # noqa: PLC0415 - what is measured starts with nothing
    from wheelmill.index.collect import site_of_releases  # noqa: PLC0415
    from wheelmill.index.render import pages_of  # noqa: PLC0415
    from wheelmill.index.site.pages import site_pages  # noqa: PLC0415
    from wheelmill.index.tree import WHEELS_JSON  # noqa: PLC0415
    from wheelmill.release.ledger.releases import every_manifest  # noqa: PLC0415
    from wheelmill.release.manifest.record import Shared  # noqa: PLC0415

    gc.disable()  # as the command does
    seconds = {"imports": round(time.process_time(), 2)}

    def lap(name: str) -> None:
        seconds[name] = round(time.process_time() - sum(seconds.values()), 2)

    store, shared = store_at(place), Shared()
    known = store.ledger.summary().manifests
    lap("ledger")
    manifests = [shared.release(each) for each in every_manifest(store, known, sys.exit, lambda _, why: sys.exit(why))]
    lap("manifests")
    site = site_of_releases(manifests, BASE_URL)
    lap("rules and trees")
    for path, pieces in pages_of(site):
        deque(pieces, maxlen=0)
        if path == WHEELS_JSON:
            lap(WHEELS_JSON)
    lap("pages for installers")
    for _, pieces in site_pages(site):
        deque(pieces, maxlen=0)
    lap("pages for people")
    return seconds


def floor_of(releases: Path, site: Path, place: Path) -> dict[str, float]:
    """The CPU seconds that no program of such a site can do without, in this language.

    Args:
        releases: the folder with the manifests.
        site: the site that was made of them.
        place: a new folder, for files like those of the site, full of zeros; and for them once more, by second names.
    """
    from msgspec.json import Decoder  # noqa: PLC0415 - what is measured starts with nothing

    from wheelmill.release.manifest.record import ListedRelease  # noqa: PLC0415

    sizes = {path.relative_to(site): path.stat().st_size for path in site.rglob("*") if path.is_file()}
    zeros, decoder = memoryview(bytes(max(sizes.values()))), Decoder(ListedRelease)
    written, taken = place / "written", place / "taken over"
    paths = sorted(releases.glob("*/manifest.json"))
    laps = [time.process_time()]

    def lap() -> None:
        laps.append(time.process_time())

    for path in paths:
        hashlib.sha256(path.read_bytes()).hexdigest()
    lap()
    for path in paths:
        decoder.decode(path.read_bytes())
    lap()
    _make_folders(sizes, written)
    for path, size in sizes.items():
        with open(written / path, "wb") as file:  # noqa: PTH123 - quick
            file.write(zeros[:size])
    lap()
    _make_folders(sizes, taken)
    for path in sizes:
        os.link(written / path, taken / path)
    shutil.rmtree(written)
    lap()
    names = ("read and hash manifests", "read and decode them", "write as many files", "take as many over")
    return {name: round(after - before, 2) for name, (before, after) in zip(names, pairwise(laps), strict=True)}


def _make_folders(paths: Iterable[Path], place: Path) -> None:
    for folder in sorted({path.parent for path in paths}):
        (place / folder).mkdir(parents=True, exist_ok=True)


def _manifest_bytes(releases: Path) -> int:
    return sum(path.stat().st_size for path in releases.glob("*/manifest.json"))


def _ratios(ours: Figures, theirs: Figures) -> dict[str, float]:
    return {
        "seconds": round(ours.seconds / theirs.seconds, 3),
        "cpu_seconds": round(ours.cpu_seconds / theirs.cpu_seconds, 3),
        "peak_mb": round(ours.peak_mb / theirs.peak_mb, 3),
    }


def main() -> None:
    """Read the arguments and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=int, default=100_000, metavar="N")
    parser.add_argument("--growth", type=int, nargs="+", metavar="N", help="measure wheelmill alone, for each number")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--parts", metavar="STORE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.parts:
        print(json.dumps(parts_of(arguments.parts)))
        return
    if arguments.growth:
        figures = growth(arguments.growth)
    else:
        with tempfile.TemporaryDirectory(prefix="wheelmill-benchmark-") as folder:
            figures = compare(arguments.wheels, Path(folder))
    if arguments.json:
        print(json.dumps({"schema": "wheelmill.benchmark-index/1", **figures}, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:>22}  {value}")


if __name__ == "__main__":
    main()
