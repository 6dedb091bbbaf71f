"""Targets, candidates and resolutions for tests of what is done with them."""

from collections.abc import Sequence
from dataclasses import replace

from packaging.utils import parse_wheel_filename

from wheelmill.client.records import Candidate, Choice, Resolution, Source, SourceKind, TargetEnvironment
from wheelmill.names import CudaVersion, Platform, PythonVersion, Sha256, TorchVersion
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.platforms import Libc

LINUX = TargetEnvironment(
    python=PythonVersion(3, 12),
    python_release="3.12.4",
    interpreter=None,
    platform=Platform.parse("linux_x86_64"),
    libc=Libc("glibc", 2, 28),
    torch=TorchVersion(2, 11),
    cuda=CudaVersion(13, 0),
)
ARM = replace(LINUX, platform=Platform.parse("linux_aarch64"))
LINUX_313 = replace(LINUX, python=PythonVersion(3, 13), python_release="3.13.1")

INDEX = Source(name="wheels", kind=SourceKind.SIMPLE, url="https://wheels.example/simple/")
PAGE = Source(name="page", kind=SourceKind.FIND_LINKS, url="https://page.example/")

SHA = Sha256("ab" * 32)


def candidate(filename: str, *, source: Source = PAGE, sha256: Sha256 | None = SHA, size: int | None = 7) -> Candidate:
    project, version, build, tags = parse_wheel_filename(filename)
    return Candidate(
        filename=filename,
        project=project,
        version=version,
        build=build,
        tags=tags,
        label=BuiltFor.parse(version.local or ""),
        url=f"{source.url}{filename.replace('+', '%2B')}",
        sha256=sha256,
        size=size,
        requires_python=None,
        metadata_sha256=None,
        has_metadata=False,
        yanked=None,
        source=source,
    )


def resolution(
    *candidates: Candidate, environment: TargetEnvironment = LINUX, requires: Sequence[str] = ()
) -> Resolution:
    return Resolution(
        environment=environment,
        choices={
            each.project: Choice(project=each.project, candidate=each, requires_dist=tuple(requires))
            for each in candidates
        },
        unresolved={},
    )


FLASH_ATTN = candidate("flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl")
FLASH_ATTN_OF_INDEX = candidate(FLASH_ATTN.filename, source=INDEX)
CHOSEN = replace(
    resolution(FLASH_ATTN), torch_backend=CudaVersion(13, 0).tag, torch_index="https://torch.example/cu130"
)
"""flash-attn with torch from an index for its CUDA."""
