#!/usr/bin/env python3
"""Time and peak memory of ``wheelmill index build``, beside those of dumb-pypi over the same wheels.

Both commands run as a person runs them, each in a process of its own: from manifests, or a list of packages, to a
folder of files. wheelmill writes HTML and JSON for every tree; dumb-pypi writes one tree.
"""

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

PROJECTS: Final = 50
PER_RELEASE: Final = 240
BASE_URL: Final = "https://example.org/releases/download"

# The forms that names have in the releases of https://github.com/mjun0812/flash-attention-prebuild-wheels.
LABELS: Final = (
    *("cu118torch2.0", "cu118torch2.4", "cu121torch2.3", "cu124torch2.5", "cu124torch2.6", "cu126torch2.6"),
    *("cu126torch2.7", "cu126torch2.8", "cu126torch2.9", "cu126torch2.10", "cu126torch2.11", "cu126torch2.12"),
    *("cu128torch2.6", "cu128torch2.7", "cu128torch2.8", "cu128torch2.9", "cu128torch2.10", "cu129torch2.8"),
    *(
        "cu130torch2.9",
        "cu130torch2.10",
        "cu130torch2.11",
        "cu130torch2.12",
        "cu132torch2.12",
        "cu132torch2.13",
        "cu130",
    ),
)
PYTHONS: Final = (
    *("cp310-cp310", "cp311-cp311", "cp312-cp312", "cp313-cp313", "cp314-cp314"),
    *("cp313-cp313t", "cp314-cp314t", "cp39-abi3"),
)
PLATFORMS: Final = ("manylinux_2_24_x86_64.manylinux_2_28_x86_64", "manylinux_2_34_aarch64")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one command took."""

    seconds: float
    """Wall time."""
    cpu_seconds: float
    peak_mb: float
    files: int
    bytes: int


def names(count: int) -> Iterator[tuple[str, str, str]]:
    """Projects, versions and file names of that many wheels, evenly over the projects."""
    per_version = len(LABELS) * len(PYTHONS) * len(PLATFORMS)
    versions = [f"1.{number}.0" for number in range(count // PROJECTS // per_version + 1)]
    of_one = itertools.product(versions, LABELS, PYTHONS, PLATFORMS)
    for version, label, python, platform in itertools.islice(of_one, count // PROJECTS):
        for number in range(PROJECTS):
            labelled = f"{version}+{label}"
            yield f"cuda-kernels-{number}", labelled, f"cuda_kernels_{number}-{labelled}-{python}-{platform}.whl"


def write_inputs(count: int, folder: Path) -> None:
    """Write ``packages.json`` for dumb-pypi and ``releases`` for wheelmill, of the same wheels."""
    wheels = list(names(count))
    published = datetime(2026, 1, 1, tzinfo=UTC)
    with (folder / "packages.json").open("w") as packages:
        for number, first in enumerate(range(0, len(wheels), PER_RELEASE)):
            day = published + timedelta(days=number)
            entries = [entry_of(*wheel) for wheel in wheels[first : first + PER_RELEASE]]
            write_release(folder / "releases" / f"v{day:%Y-%m-%d}", day, entries)
            for entry in entries:
                row = {
                    "filename": entry["filename"],
                    "hash": f"sha256={entry['sha256']}",
                    "requires_python": entry["requires_python"],
                    "core_metadata": f"sha256={entry['metadata_sha256']}",
                    "upload_timestamp": int(day.timestamp()),
                }
                packages.write(json.dumps(row) + "\n")


def entry_of(project: str, version: str, filename: str) -> dict[str, object]:
    """An entry of a manifest; wheels of one version have the same metadata."""
    sha256 = hashlib.sha256(filename.encode()).hexdigest()
    torch = version.partition("torch")[2]
    evidence = {
        "policy": filename.rpartition("-")[2].removesuffix(".whl"),
        "needed": ["libc.so.6", "libc10.so", "libtorch.so", "libcudart.so.12", "libstdc++.so.6"],
        "glibc": "2.28",
        "glibcxx": "3.4.25",
        "cuda_major": 12,
        "sass": ["sm_80", "sm_90", "sm_100"],
        "ptx": ["compute_120"],
        "undefined_symbols": 0,
    }
    return {
        "filename": filename,
        "sha256": sha256,
        "size": int(sha256[:7], 16),
        "metadata_sha256": hashlib.sha256(f"{project} {version}".encode()).hexdigest(),
        "name": project,
        "version": version,
        "requires_python": ">=3.9",
        "requires_dist": ["einops", *([f"torch=={torch}.*"] if torch else [])],
        "certificate": {"sha256": sha256, "evidence": evidence, "clean_rooms": [], "provenance": None},
    }


def write_release(folder: Path, day: datetime, entries: list[dict[str, object]]) -> None:
    """Write a manifest, and the files that it names, empty: an index needs no byte of them."""
    folder.mkdir(parents=True)
    for entry in entries:
        (folder / f"{entry['filename']}").touch()
        (folder / f"{entry['filename']}.metadata").touch()
    manifest = {
        "schema": "wheelmill.manifest/1",
        "tag": folder.name,
        "published_at": day.isoformat(),
        "wheels": entries,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


def measure(argv: list[str | Path], site: Path) -> Figures:
    """Run a command and weigh what it wrote."""
    start = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{argv[1]} failed: {process.stderr.read().decode() if process.stderr else ''}")
    files = [path.stat().st_size for path in site.rglob("*") if path.is_file()]
    return Figures(
        seconds=round(seconds, 2),
        cpu_seconds=round(usage.ru_utime + usage.ru_stime, 2),
        peak_mb=round(usage.ru_maxrss / 1024, 1),
        files=len(files),
        bytes=sum(files),
    )


def compare(count: int, folder: Path) -> dict[str, object]:
    """Run both over the same wheels."""
    write_inputs(count, folder)
    (folder / "config").mkdir()
    scripts = Path(sys.executable).parent
    ours = measure(
        [
            *(scripts / "wheelmill", "index", "build", "--store", f"dir:{folder / 'releases'}"),
            *("--output", folder / "site", "--base-url", BASE_URL, "--config", folder / "config"),
        ],
        folder / "site",
    )
    theirs = measure(
        [
            *(scripts / "dumb-pypi", "--package-list-json", folder / "packages.json"),
            *("--packages-url", BASE_URL, "--output-dir", folder / "dumb-pypi"),
        ],
        folder / "dumb-pypi",
    )
    return {
        "wheels": sum(1 for _ in names(count)),
        "wheelmill": asdict(ours),
        "dumb_pypi": asdict(theirs),
        "ratios": {
            "seconds": round(ours.seconds / theirs.seconds, 3),
            "cpu_seconds": round(ours.cpu_seconds / theirs.cpu_seconds, 3),
            "peak_mb": round(ours.peak_mb / theirs.peak_mb, 3),
        },
    }


def main() -> None:
    """Read the arguments and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=int, default=100_000, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wheelmill-benchmark-") as folder:
        figures = compare(arguments.wheels, Path(folder))
    if arguments.json:
        print(json.dumps({"schema": "wheelmill.benchmark-index/1", **figures}, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:>10}  {value}")


if __name__ == "__main__":
    main()
