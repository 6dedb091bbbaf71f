"""What a wheel itself says, and what of it speaks against a target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.choose.fit import admits_torch, within
from wheelmill.client.records import Aspect, Candidate, Mismatch, TargetEnvironment
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.names import Architecture, read_requirement
from wheelmill.wheel.gpu_code import lacks_code_for


@dataclass(frozen=True, kw_only=True)
class Inside:
    """What a wheel itself says."""

    requires_dist: tuple[str, ...]
    requires_python: str | None
    glibc: str | None = None
    """The newest that its code asks for."""
    cuda_major: int | None = None
    """Of the CUDA libraries that its code names."""
    cxx11_abi: bool | None = None
    sass: tuple[str, ...] = ()
    """``9.0a``."""
    ptx: tuple[str, ...] = ()
    code_read: bool = False

    def __str__(self) -> str:
        """``needs glibc 2.28 and CUDA 13; machine code for sm_90, PTX for sm_90; C++11 ABI``."""
        needs = [f"glibc {self.glibc}"] * bool(self.glibc) + [f"CUDA {self.cuda_major}"] * bool(self.cuda_major)
        code = [
            f"{kind} for {', '.join(Architecture.parse(each).sm for each in each_of)}"
            for kind, each_of in (("machine code", self.sass), ("PTX", self.ptx))
            if each_of
        ]
        known = [
            *([f"needs {' and '.join(needs)}"] if needs else []),
            *([", ".join(code)] if code else []),
            *([f"{'C++11' if self.cxx11_abi else 'old C++'} ABI"] if self.cxx11_abi is not None else []),
            *([] if self.code_read else ["its compiled code was not read"]),
        ]
        return "; ".join(known) or "no compiled code that needs anything"


def keep_inside(inside: Inside, candidate: Candidate, cache: PageCache) -> None:
    """Keep what a wheel shows, under its hash; without one there is no telling whether it is still the same."""
    if candidate.sha256:
        cache.keep_fact(f"inside/1:{candidate.sha256}", json.dumps(asdict(inside)))


def recall_inside(candidate: Candidate, cache: PageCache) -> Inside | None:
    """What the cache keeps of a wheel; None when it was never looked into."""
    kept = cache.fact(f"inside/1:{candidate.sha256}") if candidate.sha256 else None
    if kept is None:
        return None
    plain = json.loads(kept)
    return Inside(**plain | {key: tuple(plain[key]) for key in ("requires_dist", "sass", "ptx")})


def mismatches_inside(inside: Inside, candidate: Candidate, target: TargetEnvironment) -> Iterator[Mismatch]:
    """Give every reason against a wheel that shows inside it."""
    if not within(inside.requires_python, target.full_python):
        yield Mismatch(aspect=Aspect.PYTHON, reason=f"requires Python {inside.requires_python}")
    for wanted in map(_torch_requirement, inside.requires_dist):
        if wanted and target.torch and not admits_torch(wanted.specifier, target):
            yield Mismatch(aspect=Aspect.TORCH, reason=f"requires {wanted}, the target has {target.torch}")
    if inside.glibc and target.libc and target.libc.lacks(Version(inside.glibc)):
        yield Mismatch(aspect=Aspect.GLIBC, reason=f"its code needs glibc {inside.glibc}, the target has {target.libc}")
    if inside.cuda_major and target.cuda and inside.cuda_major != target.cuda.major:
        reason = f"its code is linked to CUDA {inside.cuda_major}, the target has {target.cuda}"
        yield Mismatch(aspect=Aspect.CUDA, reason=reason)
    if None not in (inside.cxx11_abi, target.cxx11_abi) and inside.cxx11_abi != target.cxx11_abi:
        yield Mismatch(aspect=Aspect.ABI, reason="its code has another C++ ABI than the target's torch")
    for gpu in target.gpus if inside.sass or inside.ptx else ():
        against = lacks_code_for(
            gpu.capability,
            map(Architecture.parse, inside.sass),
            map(Architecture.parse, inside.ptx),
            driver=target.driver_cuda,
            cuda=candidate.label.cuda,
        )
        if against:
            yield Mismatch(aspect=Aspect.GPU, reason=against)


def _torch_requirement(text: str) -> Requirement | None:
    try:
        required = read_requirement(text)
    except ValueError:
        return None
    return required if canonicalize_name(required.name) == "torch" and not required.marker else None
