"""Reasons why a wheel does not fit a target, its known facts, and the place of torch for a CUDA."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.version import Version

from wheelmill.client.records import Aspect, Candidate, Mismatch, Source, TargetEnvironment, WheelInspection
from wheelmill.config.model.compatibility import Compatibility, TorchRelease
from wheelmill.errors import UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.names import (
    Architecture,
    CudaTag,
    CudaVersion,
    Platform,
    PythonVersion,
    StableTorch,
    TorchVersion,
    read_range,
)
from wheelmill.web.pages import printable
from wheelmill.wheel.gpu_code import lacks_code_for, runs_on
from wheelmill.wheel.label import ACCELERATORS, BuiltFor, has_release_of, torch_requirement, words_for
from wheelmill.wheel.platforms import Libc, tag_places
from wheelmill.wheel.torch_symbols import TorchWindow, describe_symbol

_BEST_KNOWN: Final = Platform.parse("linux_x86_64")


def cudas_of(release: TorchRelease, platform: Platform) -> frozenset[CudaVersion]:
    """List the CUDAs that a torch is published for; platforms without facts, such as Windows, count as Linux."""
    return release.cuda.get(platform, release.cuda.get(_BEST_KNOWN, frozenset()))


def pythons_of(release: TorchRelease, platform: Platform) -> frozenset[PythonVersion]:
    """List the Pythons that a torch is published for; platforms without facts are treated as in `cudas_of`."""
    return release.python.get(platform, release.python.get(_BEST_KNOWN, frozenset()))


def abi_of(target: TargetEnvironment, facts: Compatibility) -> bool | None:
    """Find the C++ ABI of the target's torch: as detected or given, else as that torch was published."""
    if target.cxx11_abi is not None or target.torch is None or target.cuda is None:
        return target.cxx11_abi
    release = facts.torch.get(target.torch)
    return target.cuda not in release.old_cxx_abi if release else None


def minimum_driver(cuda: CudaVersion, facts: Compatibility) -> str | None:
    """Find the oldest driver for a CUDA release, by the nearest known release of the same major."""
    known = [version for version in facts.cuda if version.major == cuda.major]
    nearest = min(known, key=lambda version: abs(version.minor - cuda.minor), default=None)
    return facts.cuda[nearest].minimum_driver if nearest else None


def driver_cuda_of(target: TargetEnvironment, facts: Compatibility) -> CudaVersion | None:
    """Find the newest CUDA of a target's driver, as it reports, else by the known releases; None if it is unknown."""
    if target.driver_cuda or target.driver is None:
        return target.driver_cuda
    driver = Version(target.driver)
    known = (cuda for cuda, release in facts.cuda.items() if release.driver and Version(release.driver) <= driver)
    return max(known, default=None)


def is_older(target: TargetEnvironment, driver: str) -> bool:
    """True if a target's driver is known to be older; Windows numbers the same driver differently."""
    known = target.driver if target.platform.is_linux else None
    return known is not None and Version(known) < Version(driver)


def newer_driver(cuda: CudaVersion, target: TargetEnvironment, facts: Compatibility) -> str | None:
    """Find the oldest driver for a CUDA release; None if the target's suffices or cannot be compared."""
    minimum = minimum_driver(cuda, facts)
    return minimum if minimum and is_older(target, minimum) else None


def mismatches(
    candidate: Candidate, requirement: Requirement, target: TargetEnvironment, facts: Compatibility
) -> Iterator[Mismatch]:
    """Yield every reason against a candidate."""
    yield from mismatches_of_tags(candidate.tags, target)
    yield from mismatches_of_label(candidate.label, candidate.source, target, facts)
    if not within(candidate.requires_python, target.full_python):
        yield Mismatch(aspect=Aspect.PYTHON, reason=f"requires Python {printable(candidate.requires_python or '')}")
    if not requirement.specifier.contains(candidate.version, prereleases=True):
        yield Mismatch(aspect=Aspect.VERSION, reason=f"is not {requirement.specifier}")
    if candidate.inside:
        yield from mismatches_inside(candidate.inside, candidate.label, target)
    is_exact = any(part.operator in ("==", "===") and part.version[-2:] != ".*" for part in requirement.specifier)
    if candidate.yanked is not None and not is_exact:  # PEP 592
        yield Mismatch(aspect=Aspect.YANKED, reason=yanked_words(candidate.yanked))


def mismatches_of_tags(tags: frozenset[Tag], target: TargetEnvironment) -> tuple[Mismatch, ...]:
    """List the reasons that the tags of a wheel give against it; empty if one tag is accepted."""
    accepted = target.tag_places
    if any(tag in accepted for tag in tags):
        return ()
    return _against_tags(tags, target.python, target.platform, target.libc)


@functools.cache
def _against_tags(
    tags: frozenset[Tag], python: PythonVersion, platform: Platform, libc: Libc | None
) -> tuple[Mismatch, ...]:
    accepted = tag_places(python, platform, libc)
    against = []
    platforms = {tag.platform for tag in accepted}
    if not any(tag.platform in platforms for tag in tags):
        shown = ".".join(sorted({tag.platform for tag in tags}))
        newer = any(tag.platform.startswith("manylinux") and Platform.of_tag(tag.platform) == platform for tag in tags)
        has = f"{platform} with {libc}" if libc else platform
        against.append(
            Mismatch(aspect=Aspect.GLIBC if newer else Aspect.PLATFORM, reason=f"is for {shown}, the target is {has}")
        )
    abis = {(tag.interpreter, tag.abi) for tag in accepted}
    if not any((tag.interpreter, tag.abi) in abis for tag in tags):
        shown = ", ".join(sorted({f"{tag.interpreter}-{tag.abi}" for tag in tags}))
        against.append(Mismatch(aspect=Aspect.PYTHON, reason=f"is for {shown}, the target is {python.abi}"))
    return tuple(against)


def mismatches_of_label(
    label: BuiltFor, source: Source, target: TargetEnvironment, facts: Compatibility
) -> Iterator[Mismatch]:
    """Yield the reasons that the label of a wheel and the GPUs of its source give against it."""
    if reason := _against_cuda(label, target):
        yield Mismatch(aspect=Aspect.CUDA, reason=reason)
    if reason := _against_torch(label, source, target):
        yield Mismatch(aspect=Aspect.TORCH, reason=reason)
    abi = abi_of(target, facts)
    if None not in (abi, label.cxx11_abi) and label.cxx11_abi != abi:
        own, wanted = ("C++11" if is_new else "old C++" for is_new in (label.cxx11_abi, abi))
        reason = f"has the {own} ABI, torch {target.torch} has the {wanted} ABI"
        yield Mismatch(aspect=Aspect.ABI, reason=reason)
    cuda = label.cuda or target.cuda
    if cuda and (needed := newer_driver(cuda, target, facts)):
        reason = f"CUDA {cuda} needs driver {needed}, the target has {target.driver}"
        yield Mismatch(aspect=Aspect.DRIVER, reason=reason)
    names = ", ".join(architecture.sm for architecture in source.gpus)
    if names and not target.gpus:
        yield Mismatch(aspect=Aspect.GPU, reason=f"is for {names} only, and the target's GPU is not known")
    for gpu in target.gpus if names else ():
        if not any(runs_on(architecture, gpu.capability) for architecture in source.gpus):
            yield Mismatch(aspect=Aspect.GPU, reason=f"is for {names} only, the target has {gpu.capability.sm}")


def _against_cuda(label: BuiltFor, target: TargetEnvironment) -> str | None:
    """Compare CUDAs: libraries of a major release are compatible with code linked to an older minor one."""
    # https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    if label.other_accelerator:
        fits = target.cpu_only and label.other_accelerator == ACCELERATORS["cpu"]
        return None if fits else f"is built for {label}, not for CUDA"
    wanted = target.cuda.major if target.cuda else target.cuda_major
    if label.cuda_major is None or (wanted is None and not target.cpu_only):
        return None
    if target.cpu_only:
        return f"is built for {label}, the target's torch is built without CUDA"
    if label.cuda_major != wanted:
        return f"is built for {label}, the target has {target.cuda or wanted}"
    if label.cuda and target.cuda and label.cuda > target.cuda:
        return f"is built with CUDA {label.cuda}, newer than the target's {target.cuda}"
    return None


def _against_torch(label: BuiltFor, source: Source, target: TargetEnvironment) -> str | None:
    match label.torch:
        case TorchVersion(is_candidate=True) as torch if torch != target.torch:
            return f"is built for torch {torch}, a release candidate"
        case _ if target.torch is None:
            return None
        case None if label.torch_readings:
            fits = target.torch in label.torch_readings
            return None if fits else f"is built for {label.torch_words}, the target has {target.torch}"
        case None:
            wanted = source.torch
            return None if wanted is None or admits_torch(wanted, target) else f"is for torch {wanted}"
        case StableTorch() as torches:
            return None if target.torch in torches else f"is for {words_for(torches)}, the target has {target.torch}"
        case torch:
            fits = not is_for_other_torch(label, target) or target.other_torch
            return None if fits else f"is built for torch {torch}, the target has {target.torch}"


def is_for_other_torch(label: BuiltFor, target: TargetEnvironment) -> bool:
    """True if a label names one release of torch, and not the target's."""
    named = isinstance(label.torch, TorchVersion) and not label.torch.is_candidate
    return named and target.torch is not None and label.torch != target.torch


def admits_torch(wanted: SpecifierSet, target: TargetEnvironment) -> bool:
    """True if the target's torch is in a range; if only its minor release is known, any release of it counts."""
    if target.torch_release:
        return wanted.contains(target.torch_release, prereleases=True)
    return target.torch is not None and has_release_of(target.torch, wanted)


def mismatches_inside(inside: WheelInspection, label: BuiltFor, target: TargetEnvironment) -> Iterator[Mismatch]:
    """Yield every reason against a wheel that its inspection gives."""
    if inside.gone:
        yield Mismatch(aspect=Aspect.FILE, reason=str(inside))
    if not within(inside.requires_python, target.full_python):
        yield Mismatch(aspect=Aspect.PYTHON, reason=f"requires Python {inside.requires_python}")
    for text in inside.requires_dist:  # uv expands variables also in METADATA
        try:
            requirements_line(text)
        except UsageError as error:
            yield Mismatch(aspect=Aspect.METADATA, reason=f"its METADATA is not safe: {error}")
    wanted = torch_requirement(inside.requires_dist)
    if wanted is not None and target.torch and not admits_torch(wanted, target):
        yield Mismatch(aspect=Aspect.TORCH, reason=f"requires torch{wanted}, the target has {target.torch}")
    if reason := _against_symbols(inside.torch_window, label, target):
        yield Mismatch(aspect=Aspect.TORCH, reason=reason)
    if inside.glibc and target.libc and target.libc.lacks(Version(inside.glibc)):
        yield Mismatch(aspect=Aspect.GLIBC, reason=f"its code needs glibc {inside.glibc}, the target has {target.libc}")
    if inside.cuda_major and target.cuda and inside.cuda_major != target.cuda.major:
        reason = f"its code is linked to CUDA {inside.cuda_major}, the target has {target.cuda}"
        yield Mismatch(aspect=Aspect.CUDA, reason=reason)
    if None not in (inside.cxx11_abi, target.cxx11_abi) and inside.cxx11_abi != target.cxx11_abi:
        yield Mismatch(aspect=Aspect.ABI, reason="its code has another C++ ABI than the target's torch")
    yield from _against_gpu_code(inside, label, target)


def _against_gpu_code(inside: WheelInspection, label: BuiltFor, target: TargetEnvironment) -> Iterator[Mismatch]:
    """Compare GPU code; its compression may need a newer driver than its CUDA does."""
    if inside.driver and is_older(target, inside.driver):
        reason = f"its code needs driver {inside.driver}, the target has {target.driver}"
        yield Mismatch(aspect=Aspect.DRIVER, reason=reason)
    for gpu in target.gpus if inside.sass or inside.ptx else ():
        against = lacks_code_for(
            gpu.capability,
            map(Architecture.parse, inside.sass),
            map(Architecture.parse, inside.ptx),
            driver=target.driver_cuda,
            cuda=label.cuda,
        )
        if against:
            yield Mismatch(aspect=Aspect.GPU, reason=against)


def _against_symbols(window: TorchWindow | None, label: BuiltFor, target: TargetEnvironment) -> str | None:
    """Give a reason if the target's torch lacks a symbol; for a wheel for another torch, also if this is unknown."""
    if target.torch is None:
        return None
    lacking = window.lacking(target.torch) if window else None
    if lacking:
        return f"torch {target.torch} lacks {describe_symbol(lacking[0])}"
    if lacking is None and is_for_other_torch(label, target):
        return f"is built for torch {label.torch}, and whether torch {target.torch} has its symbols is not known"
    return None


def within(specifier: str | None, version: Version) -> bool:
    """True if a version is in a range; a missing or unreadable range holds every version."""
    if not specifier:
        return True
    try:
        return _range(specifier).contains(version, prereleases=True)
    except ValueError:  # an index may hold anything; pip ignores it, too
        return True


_range: Final = functools.cache(read_range)


def yanked_words(reason: str) -> str:
    """Return the words for a yanked file, whose reason may be empty."""
    return f"was yanked: {printable(reason) or 'no reason given'}"


@dataclass(frozen=True, kw_only=True)
class TorchPlace:
    """A torch, and its index for a CUDA."""

    torch: TorchVersion
    backend: CudaTag | None
    """uv's name for the CUDA to get it for; None if PyPI has the right one."""
    index: str | None
    """The simple index that has it; None where the usual one does."""

    @classmethod
    def of(cls, torch: TorchVersion, cuda: CudaVersion | None, platform: Platform, facts: Compatibility) -> Self:
        """Look up its index; if any CUDA will do, it is the usual one."""
        backend = facts.torch_backend(torch, cuda, platform) if cuda else None
        return cls(torch=torch, backend=backend, index=facts.torch_url(torch, cuda, platform) if cuda else None)

    def commands(
        self, interpreter: Path, uv: str | Path | None, *, beside: Sequence[str] = ()
    ) -> tuple[tuple[str, ...], ...]:
        """List the commands that replace another build by this one, in order.

        If ``uv`` is None, the environment's pip runs. ``beside`` names installed projects that are released with torch
        for one CUDA.
        """
        from wheelmill.installers.uv import torch_options  # for advice alone

        names = ("torch", *beside)
        wanted = (f"torch{self.torch.pin}", *beside)
        if uv:
            again = [word for name in names for word in ("--reinstall-package", name)]
            install = (str(uv), "pip", "install", "--python", str(interpreter))
            return ((*install, *wanted, *again, *torch_options(self.backend)),)
        pip = (str(interpreter), "-m", "pip")
        index = ("--index-url", self.index) if self.index else ()
        return (*pip, "uninstall", "--yes", *names), (*pip, "install", *wanted, *index)
