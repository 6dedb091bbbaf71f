"""A configuration of two packages, in small."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from wheelmill.config.model.compatibility import Compatibility, CudaFacts, CudaRelease, TorchFacts, TorchRelease
from wheelmill.config.model.config import Config
from wheelmill.config.model.files import (
    CudaImagesFacts,
    ImageReference,
    Images,
    Listing,
    Lock,
    LockedSdist,
    ManylinuxImages,
    PlainImage,
)
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_fields import BuildArguments
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    Sha256,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.plan.targets import Cell

DEMO, PLAIN = project_name("demo"), project_name("plain")
V1, V2 = project_version("1.0"), project_version("2.0")
CUDA_12, CUDA_13 = CudaVersion(12, 8), CudaVersion(13, 0)
TORCH_9, TORCH_11, TORCH_12_RC = TorchVersion(2, 9), TorchVersion(2, 11), TorchVersion(2, 12, 1)
PY_12, PY_13T = PythonVersion(3, 12), PythonVersion(3, 13, free_threaded=True)
X86, ARM = Platform.parse("linux_x86_64"), Platform.parse("linux_aarch64")
VOLTA, HOPPER, BLACKWELL = Architecture(7, 0), Architecture(9, 0), Architecture(12, 0, ptx=True)
LOCKED: Final = LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("1" * 64))

PACKAGE: Final = Package(
    name=DEMO,
    versions=(V1, V2),
    build_args=BuildArguments(isolation=False),
    extra_deps=("ninja", "Torch>=2"),
    architectures=(VOLTA, BLACKWELL),
)
LOOKED_UP: Final[dict[str, Any]] = {"checked": dt.date(2026, 11, 21), "source": "the tests"}
FACTS: Final = Compatibility(
    cuda=CudaFacts(
        **LOOKED_UP,
        releases={
            CUDA_13: CudaRelease(
                toolkit="13.0.2", minimum_driver="580.65.06", host_gcc=15, architectures=frozenset({"9.0", "12.0"})
            ),
            CUDA_12: CudaRelease(
                toolkit="12.8.1",
                minimum_driver="525.60.13",
                host_gcc=14,
                architectures=frozenset({"7.0", "9.0", "12.0"}),
            ),
        },
    ),
    torch=TorchFacts(
        **LOOKED_UP,
        index="https://torch.example/cu{cuda}",
        releases={
            TORCH_11: TorchRelease(
                release="2.11.0",
                cuda={X86: frozenset({CUDA_12, CUDA_13}), ARM: frozenset({CUDA_12, CUDA_13})},
                python=dict.fromkeys((X86, ARM), frozenset({PY_12})),
                default_cuda=CUDA_13,
                glibc="2.28",
            ),
            TORCH_9: TorchRelease(
                release="2.9.1",
                cuda={X86: frozenset({CUDA_12})},
                python={X86: frozenset({PY_12, PY_13T})},
                default_cuda=CUDA_12,
                glibc="2.28",
            ),
        },
    ),
    pythons=(PY_12,),
    platforms=(X86, ARM),
)
WITH_CANDIDATE: Final = replace(
    FACTS,
    torch=replace(
        FACTS.torch,
        test_index="https://torch.example/test/cu{cuda}",
        candidates={TORCH_12_RC: replace(FACTS.torch[TORCH_11], release="2.12.0rc1", cxx=20)},
    ),
)
"""The facts about two torches, and a release candidate of the next."""
CONFIG: Final = Config(
    file=Path("config/packages.yml"),
    packages={
        DEMO: PACKAGE,
        PLAIN: replace(PACKAGE, name=PLAIN, versions=(V1,), extra_deps=(), source=Path("config/plain")),
    },
    compatibility=FACTS,
    lock=Lock(sdists={DEMO: {V1: LOCKED}}),
    listing=Listing(),
    images=Images(
        manylinux=ManylinuxImages(**LOOKED_UP, images={}),
        plain=PlainImage(**LOOKED_UP, image=ImageReference("docker.io/library/plain", "8", "sha256:" + "0" * 64)),
        cuda=CudaImagesFacts(**LOOKED_UP, releases={}),
    ),
)
CELL: Final = Cell(project=DEMO, version=V1, python=PY_12, cuda=CUDA_13, torch=TORCH_11, platform=X86)
