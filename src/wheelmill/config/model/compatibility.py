"""``compatibility.yml``: which combinations can exist."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from wheelmill.config.fields import (
    After,
    ByVersion,
    ConfigFile,
    EachKeyOnce,
    Either,
    Entry,
    Items,
    KeyPath,
    KnownPlatform,
    Platforms,
    Text,
    VersionText,
    WholeNumber,
    filled_with,
    from_text,
    text_that,
)
from wheelmill.names import (
    Architecture,
    CudaTag,
    CudaVersion,
    Platform,
    PythonVersion,
    StableTorch,
    TorchNeed,
    TorchVersion,
)


def _by_platform(
    pythons: frozenset[PythonVersion] | Mapping[Platform, frozenset[PythonVersion]], above: Mapping[str, Any]
) -> Mapping[Platform, frozenset[PythonVersion]]:
    platforms: Mapping[Platform, object] = above.get("cuda", {})
    if isinstance(pythons, frozenset):
        return dict.fromkeys(platforms, pythons)
    if platforms and pythons.keys() != platforms.keys():
        raise ValueError(f"expected Pythons for each platform of its CUDA releases: {', '.join(map(str, platforms))}")
    return pythons


Numbers = Annotated[
    str, text_that(re.compile(r"[0-9]+(\.[0-9]+)*").fullmatch, "numbers with dots between them such as '2.28'")
]
Pythons = Annotated[frozenset[PythonVersion], Items(at_least=1)]
Capability = Annotated[str, from_text(lambda text: Architecture.parse(text).capability)]


@dataclass(frozen=True, kw_only=True)
class CudaRelease(Entry):
    """One CUDA release."""

    toolkit: VersionText
    """The toolkit release that is built with: 13.0.2."""
    minimum_driver: Numbers
    """The oldest Linux driver that runs it: 580.65.06."""
    driver: Numbers | None = None
    """The oldest Linux driver that knows it, so that it compiles its portable assembly and knows its architectures:
    570.26. None where that was not looked up."""
    size_driver: Numbers | None = None
    """The oldest Linux driver that loads GPU code which its nvcc compressed with ``--compress-mode=size``: 550.54.14.
    None where nvcc cannot."""
    host_gcc: WholeNumber
    """The newest major release of GCC that its nvcc takes."""
    architectures: Annotated[frozenset[Capability], Items(at_least=1)]
    """Compute capabilities that its compiler knows: 9.0, 9.0a."""


@dataclass(frozen=True, kw_only=True)
class TorchRelease(Entry):
    """One torch minor release."""

    release: VersionText
    """The patch release that is built against: 2.11.0."""
    cuda: Mapping[KnownPlatform, Annotated[frozenset[CudaVersion], Items()]]
    """CUDA releases that it is published for, by platform."""
    python: Annotated[
        Mapping[Platform, frozenset[PythonVersion]],
        Either(dict, Mapping[KnownPlatform, Pythons], Pythons),
        After(_by_platform),
    ]
    """Pythons that it is published for: a list, or where platforms differ a list for each."""
    default_cuda: CudaVersion
    """The CUDA of its wheel on PyPI for linux_x86_64."""
    old_cxx_abi: Annotated[frozenset[CudaVersion], Items()] = frozenset()
    """CUDA releases whose wheels have the C++ ABI from before C++11: torch._C._GLIBCXX_USE_CXX11_ABI is false.
    See https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html."""
    glibc: Numbers
    """The oldest glibc that its wheels run on: 2.28."""
    cxx: WholeNumber | None = None
    """The C++ standard that its headers ask for, and those of later releases: 20. None where every source chooses."""


@dataclass(frozen=True, kw_only=True)
class CudaFacts(ByVersion[CudaVersion, CudaRelease]):
    """CUDA releases, with where and when they were looked up."""

    checked: dt.date
    source: Text
    releases: Annotated[Mapping[CudaVersion, CudaRelease], EachKeyOnce()]


TorchIndex = Annotated[str, from_text(lambda text: filled_with(text, ("cuda",)))]


@dataclass(frozen=True, kw_only=True)
class TorchFacts(ByVersion[TorchVersion, TorchRelease]):
    """torch releases, with where and when they were looked up."""

    checked: dt.date
    source: Text
    index: TorchIndex
    """The simple index of torch's own builds for one CUDA; ``{cuda}`` is ``130``. Projects name it where the usual
    package index has torch for another CUDA."""
    test_index: TorchIndex | None = None
    """Index of release candidates."""
    repository: Text | None = None
    """The git repository that has a tag for each of them: v2.16.0-rc1."""
    releases: Annotated[Mapping[TorchVersion, TorchRelease], EachKeyOnce()]
    candidates: Annotated[Mapping[TorchVersion, TorchRelease], EachKeyOnce()] = field(default_factory=dict)
    """Release candidates, such as 2.16rc1, which are built for only when they are asked for. ``release`` is what their
    wheels are called: 2.16.0 where upstream gives them the version of the release to come."""

    def known(self, torch: TorchVersion) -> TorchRelease | None:
        """Return the facts about a release or a release candidate; None if there are none."""
        return (self.candidates if torch.is_candidate else self.releases).get(torch)


@dataclass(frozen=True, kw_only=True)
class Compatibility(ConfigFile):
    """``compatibility.yml``."""

    cuda: CudaFacts
    torch: TorchFacts
    pythons: Annotated[
        tuple[PythonVersion, ...], Items(at_least=1), After(lambda pythons, _above: tuple(sorted(pythons)))
    ]
    """Pythons that packages without torch are built for."""
    platforms: Platforms

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Toolkits and patch releases of another release."""
        for cuda, facts in self.cuda.items():
            if not facts.toolkit.startswith(f"{cuda}."):
                place = ("cuda", "releases", str(cuda), "toolkit")
                yield place, f"expected a toolkit of CUDA {cuda} such as '{cuda}.1', not '{facts.toolkit}'"
        for section, releases in (("releases", self.torch.releases), ("candidates", self.torch.candidates)):
            for torch, entry in releases.items():
                example = f"{torch.major}.{torch.minor}.{0 if torch.is_candidate else 1}"
                if torch.is_candidate != (section == "candidates"):
                    kind = "release candidates such as '2.16rc1'" if section == "candidates" else "releases"
                    yield ("torch", section, str(torch)), f"expected {kind} here, not '{torch}'"
                elif not entry.release.startswith(example[:-1]):
                    place = ("torch", section, str(torch), "release")
                    yield place, f"expected a release such as '{example}', not '{entry.release}'"
        if self.torch.candidates and not self.torch.test_index:
            yield ("torch", "candidates"), "expected 'test_index' above, the index that has them"

    def first_driver_for(self, gpu: Architecture) -> str | None:
        """Return the oldest Linux driver that knows a GPU; None if one of an unlisted, older CUDA may know it."""
        first, *_ = ascending = sorted(self.cuda)
        knowing = next((cuda for cuda in ascending if gpu.capability in self.cuda[cuda].architectures), None)
        return self.cuda[knowing].driver if knowing and knowing != first else None

    @functools.cached_property
    def torch_pythons(self) -> tuple[PythonVersion, ...]:
        """Pythons that some torch is published for, ascending."""
        published = (*self.torch.values(), *self.torch.candidates.values())
        by_platform = (pythons for torch in published for pythons in torch.python.values())
        return tuple(sorted(frozenset[PythonVersion]().union(*by_platform)))

    def torches_in(
        self, stable: StableTorch, cuda: CudaVersion, platform: Platform, python: PythonVersion
    ) -> tuple[TorchVersion, ...]:
        """Return the torches of a range published for a CUDA, a platform and a Python, ascending."""
        return tuple(
            sorted(
                torch
                for torch, release in self.torch.items()
                if torch in stable and cuda in release.cuda.get(platform, ()) and python in release.python[platform]
            )
        )

    @functools.cached_property
    def torches_of(self) -> Mapping[CudaVersion, tuple[TorchVersion, ...]]:
        """Torch releases published for each CUDA, on any platform."""
        cudas = {torch: frozenset[CudaVersion]().union(*release.cuda.values()) for torch, release in self.torch.items()}
        return {cuda: tuple(torch for torch, each in cudas.items() if cuda in each) for cuda in self.cuda}

    @functools.cached_property
    def why_unknown(self) -> Callable[[TorchNeed | None, CudaVersion, Platform, PythonVersion], str | None]:
        """Function that names the unknown value of a combination; cached, since all packages have the same ones."""
        return functools.cache(self._why_unknown)

    @functools.cached_property
    def why_unpublished(self) -> Callable[[TorchVersion, CudaVersion, Platform, PythonVersion], str | None]:
        """Function that says why no torch is published for a combination; cached, too."""
        return functools.cache(self._why_unpublished)

    def _why_unknown(
        self, torch: TorchNeed | None, cuda: CudaVersion, platform: Platform, python: PythonVersion
    ) -> str | None:
        if platform not in self.platforms:
            return f"platform {platform} is not in compatibility.yml"
        if cuda not in self.cuda:
            return f"CUDA {cuda} is not in compatibility.yml"
        if isinstance(torch, TorchVersion) and not self.torch.known(torch):
            candidates = [str(each) for each in self.torch.candidates if str(each).startswith(f"{torch}rc")]
            known = f"; its release candidate {candidates[-1]} is" if candidates else ""
            return f"torch {torch} is not in compatibility.yml{known}"
        if python not in (self.torch_pythons if torch else self.pythons):
            return f"Python {python} is not in compatibility.yml"
        return None

    def _why_unpublished(
        self, torch: TorchVersion, cuda: CudaVersion, platform: Platform, python: PythonVersion
    ) -> str | None:
        if (release := self.torch.known(torch)) is None:
            return None
        if cuda not in (published := release.cuda.get(platform, frozenset())):
            others = ", ".join(map(str, sorted(published))) or "no CUDA"
            return f"torch {torch} is not published for CUDA {cuda} on {platform} ({others} there)"
        if python not in release.python[platform]:
            elsewhere = any(python in pythons for pythons in release.python.values())
            where = f" on {platform}" if elsewhere else ""
            return f"torch {torch} is not published for Python {python}{where}"
        return None

    def cxx_standard(self, torch: TorchVersion) -> int | None:
        """Return the C++ standard that the headers of a torch require; None if every source may choose."""
        return max((standard for version, standard in self._cxx_standards if version <= torch), default=None)

    @functools.cached_property
    def _cxx_standards(self) -> tuple[tuple[TorchVersion, int], ...]:
        facts = {**self.torch, **self.torch.candidates}
        return tuple((version, release.cxx) for version, release in facts.items() if release.cxx)

    def torch_place(self, torch: TorchVersion, cuda: CudaVersion, platform: Platform) -> str | None:
        """Return the index of torch for a build: uv's name for that of a CUDA, or the URL of that of candidates."""
        if torch.is_candidate and self.torch.test_index:
            return self.torch.test_index.replace("{cuda}", cuda.tag.removeprefix("cu"))
        return self.torch_backend(torch, cuda, platform)

    def torch_backend(self, torch: TorchVersion, cuda: CudaVersion, platform: Platform) -> CudaTag | None:
        """Return the CUDA tag of the torch index to install it from; None if PyPI has it.

        That has it for one CUDA on x86_64 Linux. Torch's own indexes have every platform, also of an unknown torch.
        https://docs.astral.sh/uv/guides/integration/pytorch/#installing-pytorch
        """
        known = self.torch.get(torch)
        usual = known and known.default_cuda == cuda and platform == Platform("linux", "x86_64")
        return None if usual else cuda.tag

    def torch_url(self, torch: TorchVersion, cuda: CudaVersion, platform: Platform) -> str | None:
        """Return the index of torch for projects and people: a mirror before torch's own; None if PyPI has it."""
        from wheelmill.installers.uv import torch_index, torch_mirror  # only once a torch is chosen

        backend = self.torch_backend(torch, cuda, platform)
        if backend is None:
            return None
        if torch.is_candidate and self.torch.test_index:
            return torch_index(self.torch.test_index, backend, "compatibility.yml: torch.test_index")
        return torch_mirror(backend) or torch_index(self.torch.index, backend, "compatibility.yml: torch.index")
