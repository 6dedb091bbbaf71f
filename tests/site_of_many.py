"""An index of many wheels with everything that is known of real ones, without a file of them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from wheelmill.index.collect import EMPTY_LISTING, site_of
from wheelmill.index.tree import IndexFile, Site
from wheelmill.names import (
    CudaVersion,
    Platform,
    ProjectName,
    PythonVersion,
    ReleaseTag,
    Sha256,
    TorchVersion,
    project_version,
)
from wheelmill.plan.targets import Cell
from wheelmill.release.manifest.record import ListedCell, ListedCertificate, ListedExpectations, ListedProvenance
from wheelmill.smoke.verdict import ListedEvidence, ListedRoom
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.sizes import Sizes
from wheelmill.wheel.torch_symbols import TorchFit, TorchWindow

PAIRS: Final = tuple(
    (CudaVersion(*cuda), TorchVersion(2, torch))
    for cuda, torches in (
        ((12, 6), range(6, 12)),
        ((12, 8), range(7, 12)),
        ((13, 0), range(9, 15)),
        ((13, 2), (14, 15)),
    )
    for torch in torches
)
PYTHONS: Final = tuple(map(PythonVersion.parse, ("3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t")))
PLATFORMS: Final = (("linux", "x86_64"), ("linux", "aarch64"), ("win", "amd64"))
_WHEN: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
_WINDOW: Final = TorchWindow(
    symbols=148,
    cuda=True,
    torches=(TorchFit(torch="2.10", lacks=("_ZN3c106detail14torchCheckFailEPKcS2_jS2_",)), TorchFit(torch="2.11")),
)
_SIZES: Final = Sizes(
    gpu_code={"sm_90": 8_900_000, "sm_100": 9_100_000, "sm_80": 7_400_000, "compute_120": 1_200_000},
    host_code=1_780_000,
    debug=338,
    other=64_000,
)


def site_of_many(wheels: int, projects: list[ProjectName]) -> Site:
    """Half of the wheels are of the first project."""
    files: list[IndexFile] = []
    for number, project in enumerate(projects):
        count = wheels // 2 if number == 0 else wheels // 2 // (len(projects) - 1)
        files += itertools.islice(_wheels_of(project), count)
    return site_of(files, [], EMPTY_LISTING, {}, hint="")


def _wheels_of(project: ProjectName) -> Iterator[IndexFile]:
    for number in itertools.count():
        version = project_version(f"2.{99 - number // 10}.{9 - number % 10}")
        for (cuda, torch), python, (system, machine) in itertools.product(PAIRS, PYTHONS, PLATFORMS):
            yield _wheel(
                Cell(
                    project=project,
                    version=version,
                    python=python,
                    cuda=cuda,
                    torch=torch,
                    platform=Platform(system, machine),
                )
            )


def _wheel(cell: Cell) -> IndexFile:
    version = f"{cell.version}+{cell.cuda.tag}torch{cell.torch}"
    policy = f"manylinux_2_28_{cell.platform.machine}" if cell.platform.system == "linux" else str(cell.platform)
    filename = f"{cell.project.replace('-', '_')}-{version}-{cell.python.interpreter}-{cell.python.abi}-{policy}.whl"
    sha256 = Sha256(hashlib.sha256(filename.encode()).hexdigest())
    return IndexFile(
        name=WheelName.parse(filename),
        filename=filename,
        folder="https://github.com/example/wheels/releases/download/v2026-11-20/",
        sha256=sha256,
        size=int(sha256[:7], 16),
        requires_python=">=3.10",
        requires_dist=("einops", f"torch=={cell.torch}.*"),
        metadata_sha256=sha256,
        uploaded_at=_WHEN,
        release=ReleaseTag("v2026-11-20"),
        certificate=ListedCertificate(
            sha256=sha256,
            evidence=_evidence(policy, cell),
            clean_rooms=(_room(cell),),
            provenance=_made(cell, sha256),
            sizes=_SIZES,
        ),
        attestation="https://github.com/example/wheels/releases/download/v2026-11-20/attestations.jsonl",
    )


def _evidence(policy: str, cell: Cell) -> ListedEvidence:
    return ListedEvidence(
        policy=policy,
        needed=("libc.so.6", "libc10.so", "libtorch.so", "libtorch_python.so", f"libcudart.so.{cell.cuda.major}"),
        glibc="2.17",
        glibcxx="3.4.21",
        cuda_major=cell.cuda.major,
        sass=("sm_80", "sm_90", "sm_100"),
        ptx=("compute_120",),
        torch_window=_WINDOW,
    )


def _room(cell: Cell) -> ListedRoom:
    return ListedRoom(
        place="docker.io/library/almalinux:8@sha256:" + "a" * 64,
        python=f"{cell.python}.1",
        skipped=("smoke script: docker.io/library/almalinux:8 has no GPU",),
    )


def _made(cell: Cell, sha256: Sha256) -> ListedProvenance:
    return ListedProvenance(
        sha256=sha256,
        built_for=ListedCell(
            project=cell.project,
            version=cell.version,
            python=str(cell.python),
            cuda=str(cell.cuda),
            torch=str(cell.torch),
            platform=str(cell.platform),
        ),
        architectures=("8.0", "9.0", "12.0+PTX"),
        source_sha256=Sha256("5" * 64),
        patches=(),
        pythons=(str(cell.python),),
        expectations=ListedExpectations(),
        toolkit=f"{cell.cuda}.1",
        torch_release=f"{cell.torch}.0",
        images=("docker.io/nvidia/cuda:13.0.2-devel-ubi8@sha256:" + "b" * 64,),
        seconds=1234.5,
    )
