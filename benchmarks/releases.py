"""Releases as a factory makes them, of as many wheels as a benchmark wants: manifests with all that real ones say.

An entry has about 6.9 kB: certificate, clean room with all that was installed, torch window, provenance with the build
environment. The wheels of a project are spread over all releases, by chance and every time the same.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pydantic_core import to_json

PROJECTS: Final = 50
PER_RELEASE: Final = 240
FIRST_DAY: Final = datetime(2023, 1, 1, 12, tzinfo=UTC)

# The forms that names have in the releases of https://github.com/mjun0812/flash-attention-prebuild-wheels.
LABELS: Final = (
    *("cu118torch2.0", "cu118torch2.4", "cu121torch2.3", "cu124torch2.5", "cu124torch2.6", "cu126torch2.6"),
    *("cu126torch2.7", "cu126torch2.8", "cu126torch2.9", "cu126torch2.10", "cu126torch2.11", "cu126torch2.12"),
    *("cu128torch2.6", "cu128torch2.7", "cu128torch2.8", "cu128torch2.9", "cu128torch2.10", "cu129torch2.8"),
    *("cu130torch2.9", "cu130torch2.10", "cu130torch2.11", "cu130torch2.12", "cu132torch2.12", "cu132torch2.13"),
    "cu130",
)
PYTHONS: Final = (
    *("cp310-cp310", "cp311-cp311", "cp312-cp312", "cp313-cp313", "cp314-cp314"),
    *("cp313-cp313t", "cp314-cp314t", "cp39-abi3"),
)
PLATFORMS: Final = ("manylinux_2_24_x86_64.manylinux_2_28_x86_64", "manylinux_2_34_aarch64")
_IMAGE: Final = f"docker.io/library/almalinux:8@sha256:{hashlib.sha256(b'image').hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """Parts of a wheel's name."""

    project: str
    version: str
    """``1.0.0``."""
    label: str
    python: str
    """``cp312-cp312``."""
    platform: str

    @property
    def filename(self) -> str:
        """Its file name."""
        return f"{self.project.replace('-', '_')}-{self.labelled}-{self.python}-{self.platform}.whl"

    @property
    def labelled(self) -> str:
        """``1.0.0+cu128torch2.8``."""
        return f"{self.version}+{self.label}"


def wheels(count: int) -> list[Wheel]:
    """Wheels in this number, evenly over the projects, shuffled."""
    per_version = len(LABELS) * len(PYTHONS) * len(PLATFORMS)
    versions = [f"1.{number}.0" for number in range(count // PROJECTS // per_version + 1)]
    of_one = itertools.product(versions, LABELS, PYTHONS, PLATFORMS)
    made = [
        Wheel(project=f"cuda-kernels-{number}", version=version, label=label, python=python, platform=platform)
        for version, label, python, platform in itertools.islice(of_one, count // PROJECTS)
        for number in range(PROJECTS)
    ]
    random.Random(19).shuffle(made)  # noqa: S311 - every time the same
    return made


def ten_more(count: int) -> list[Wheel]:
    """Ten wheels of one project that are not among that many: those of a version for one Python."""
    labels = LABELS[:10]
    version = f"2.{count}.0"
    return [
        Wheel(project="cuda-kernels-7", version=version, label=label, python=PYTHONS[2], platform=PLATFORMS[0])
        for label in labels
    ]


@dataclass(frozen=True, kw_only=True)
class Release:
    """One release: its tag, when it was published, and what its manifest says."""

    tag: str
    day: datetime
    entries: list[dict[str, Any]]

    @property
    def manifest(self) -> bytes:
        """The bytes of ``manifest.json``, indented as those of a factory are."""
        content = {
            "schema": "wheelmill.manifest/1",
            "tag": self.tag,
            "published_at": self.day,
            "wheels": self.entries,
        }
        return to_json(content, indent=2) + b"\n"


def releases_of(made: Sequence[Wheel], *, per_release: int = PER_RELEASE, first: int = 0) -> Iterator[Release]:
    """Release wheels, one release a day; `first` is the number of the first day."""
    for number, start in enumerate(range(0, len(made), per_release), start=first):
        day = FIRST_DAY + timedelta(days=number)
        entries = [entry_of(wheel) for wheel in made[start : start + per_release]]
        yield Release(tag=f"v{day:%Y-%m-%d}", day=day, entries=entries)


def write_release(folder: Path, release: Release) -> None:
    """Write a manifest, and the files that it names, empty: an index needs no byte of them."""
    place = folder / release.tag
    place.mkdir(parents=True)
    for entry in release.entries:
        (place / f"{entry['filename']}").touch()
        (place / f"{entry['filename']}.metadata").touch()
    (place / "manifest.json").write_bytes(release.manifest)


def entry_of(wheel: Wheel) -> dict[str, Any]:
    """Manifest entry of a wheel; those of one version and label have the same metadata."""
    sha256 = hashlib.sha256(wheel.filename.encode()).hexdigest()
    torch = wheel.label.partition("torch")[2]
    return {
        "filename": wheel.filename,
        "sha256": sha256,
        "size": int(sha256[:7], 16) + 1,
        "metadata_sha256": hashlib.sha256(f"{wheel.project} {wheel.labelled}".encode()).hexdigest(),
        "name": wheel.project,
        "version": wheel.labelled,
        "requires_python": ">=3.9",
        "requires_dist": ["einops", *([f"torch=={torch}.*"] if torch else [])],
        "certificate": _certificate_of(wheel, sha256),
        "attestation": None,
        "attested": True,
    }


def _certificate_of(wheel: Wheel, sha256: str) -> dict[str, Any]:
    torch = wheel.label.partition("torch")[2]
    python = f"3.{wheel.python[3:].partition('-')[0]}"
    installed = {f"installed-distribution-{number}": f"1.{number}.0" for number in range(24)}
    room = {
        "place": _IMAGE,
        "python": f"{python}.7",
        "installed": {**installed, "torch": f"{torch}.0", wheel.project: wheel.labelled},
        "skipped": [f"smoke script: {wheel.project} on this machine, which has no NVIDIA driver"],
        "gpus": [],
    }
    return {
        "sha256": sha256,
        "evidence": {
            "policy": wheel.platform.rpartition(".")[2],
            "needed": ["libc.so.6", "libc10.so", "libtorch.so", "libcudart.so.12", "libstdc++.so.6"],
            "glibc": "2.28",
            "glibcxx": "3.4.25",
            "cuda_major": int(wheel.label[2:4]),
            "sass": ["sm_80", "sm_90", "sm_100"],
            "ptx": ["compute_120"],
            "undefined_symbols": 214,
            "torch_window": _window(torch) if torch else None,
        },
        "clean_rooms": [room],
        "provenance": _provenance_of(wheel, sha256, python, torch),
        "findings": [],
        "sizes": {
            "gpu_code": _gpu_code(wheel.project, wheel.labelled),
            "host_code": 1_800_000 + int(sha256[:3], 16),
            "debug": 338,
            "other": 64_000 + int(sha256[3:5], 16),
        },
    }


@functools.cache
def _gpu_code(project: str, version: str) -> dict[str, int]:
    """Code for GPUs is as large for every Python; the rest differs by some bytes."""
    number = hashlib.sha256(f"{project} {version}".encode()).digest()[0] + 1
    return {f"sm_{architecture}": number * 100 * architecture for architecture in (80, 90, 100)} | {
        "compute_120": number * 2_000
    }


@functools.cache
def _window(torch: str) -> dict[str, Any]:
    """Two torches define all symbols that a wheel needs, the others lack some."""
    lacks = ["_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", "_ZNK2at10TensorBase8data_ptrIfEEPT_v"]
    minor = int(torch.partition(".")[2])
    fits = [
        {"torch": f"2.{each}", "lacks": [] if each in (minor, minor + 1) else lacks}
        for each in range(max(minor - 2, 0), minor + 3)
    ]
    return {"symbols": 61, "cuda": True, "torches": fits}


def _provenance_of(wheel: Wheel, sha256: str, python: str, torch: str) -> dict[str, Any]:
    cuda = wheel.label.partition("torch")[0].removeprefix("cu")
    return {
        "sha256": sha256,
        "cell": {
            "project": wheel.project,
            "version": wheel.version,
            "python": python,
            "cuda": f"{cuda[:-1]}.{cuda[-1]}",
            "torch": torch or None,
            "platform": "linux_aarch64" if wheel.platform.endswith("aarch64") else "linux_x86_64",
        },
        "architectures": ["8.0", "9.0", "10.0", "12.0+PTX"],
        "source_sha256": hashlib.sha256(f"{wheel.project} {wheel.version}".encode()).hexdigest(),
        "patches": [],
        "pythons": [python],
        "expectations": {
            "imports": [wheel.project.replace("-", "_"), f"{wheel.project.replace('-', '_')}_cuda"],
            "script": "import torch\nassert torch.cuda.is_available()\n",
            "requires": [],
            "needs": ["torch"] if torch else ["cuda"],
            "import_needs": None,
            "cudart": None,
            "allow": {},
        },
        "toolkit": f"{cuda[:-1]}.{cuda[-1]}.1",
        "torch_release": f"{torch}.0" if torch else None,
        "build_environment": [f"build-requirement-{number}==1.{number}.0" for number in range(28)],
        "images": [_IMAGE],
        "seconds": int(sha256[:4], 16) / 16,
        "inputs": hashlib.sha256(f"{wheel.project} {wheel.labelled}".encode()).hexdigest(),
        "requires_dist": None,
        "system_packages": None,
        "cxx_standard": None,
        "gpus": [],
        "objects": {"found": 3, "compiled": 42},
        "sample": False,
        "memory": int(sha256[:8], 16),
    }
