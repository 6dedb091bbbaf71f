"""Local versions: our label, which names the CUDA and torch of a wheel, and the labels of other publishers.

A label is ``2.8.3+cu128torch2.8``; without torch ``+cu130``. Local versions are PEP 440's own extension point
(https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers), so every
installer keeps the label, and an exact pin can name it. A wheel without a label needs the torch in its METADATA.

Our labels have one form. Others write ``cu12torch2.8cxx11abiTRUE``, ``torch2100cu128``, ``cu.12.8.torch.2.10``,
``pt28cu128``, ``cu128torch2.9.0andhigher``, with dates and commits between, and ``rocm6.4`` for another accelerator.
Such a label is split into words, each with the number behind it. ``torch210`` is 2.1.0 or 2.10: the torches that exist
for its CUDA decide, and where they do not, it stays open.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from operator import and_
from typing import Final, NotRequired, Self, cast

from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from typing_extensions import TypedDict

from wheelmill.names import TORCH, CudaVersion, ProjectVersion, StableTorch, TorchNeed, TorchVersion, read_requirement
from wheelmill.system.files import MAX_FILENAME

ACCELERATORS: Final = {"cpu": "the CPU alone", "rocm": "ROCm", "musa": "MUSA", "vulkan": "Vulkan", "xpu": "Intel's XPU"}
"""Accelerators other than CUDA, by their words in labels."""
CUDA: Final = ("cuda", "cu")
TORCH_WORDS: Final = ("torch", "pt")
CXX11_ABI: Final = "cxx11abi"

Torches = Mapping[CudaVersion, Collection[TorchVersion]]
"""The torches that are published for each CUDA."""

_WORDS: Final = (*CUDA, *TORCH_WORDS, CXX11_ABI, *ACCELERATORS)
_HEX_DIGITS: Final = "0123456789abcdef"
_SHORTEST_COMMIT: Final = 6
"""Characters of a commit or a date that stands between dots."""


def read_words(local: str) -> Iterator[tuple[str, str]]:
    """Read each word of a local version (lower case, parts joined by dots, PEP 440) with all text behind it.

    A word stands at the start, behind another one, behind a non-letter, or glued to a commit:
    ``fd2778apt2.5.0cu121``. Behind other letters none is read: ``adept2.5`` and ``nocuda12`` have none. A dot between a
    word and its text is dropped.
    """
    text = ".".join(part for part in local[:MAX_FILENAME].split(".") if not _is_commit_or_date(part))
    position = end = 0
    while position < len(text):
        may_begin = position == end or not text[position - 1].isalpha() or _ends_with_commit(text[:position])
        word = next((word for word in _WORDS if text.startswith(word, position)), None) if may_begin else None
        position += len(word) if word else 1
        if word:
            end = position
            yield word, text[end:].removeprefix(".")


def number_in_front(text: str) -> str:
    """Number at the start of a text, with those behind it after dots: ``2.9.0``; empty if there is none."""
    number = "".join(takewhile("0123456789.".__contains__, text))
    return number.partition("..")[0].rstrip(".") if number[:1].isdigit() else ""


def _is_commit_or_date(part: str) -> bool:
    """True if a part between dots is one, as in ``20260330.cu128torch2110.98024f``, not a number of the part before."""
    return len(part) >= _SHORTEST_COMMIT and not part.strip(_HEX_DIGITS)


def _ends_with_commit(text: str) -> bool:
    return len(text) - len(text.rstrip(_HEX_DIGITS)) >= _SHORTEST_COMMIT


CANDIDATES: Final = "rc"
"""The part of an index with the trees of wheels for release candidates of torch."""


@dataclass(frozen=True, kw_only=True)
class Label:
    """CUDA of a wheel, and its torch if it links to torch."""

    cuda: CudaVersion
    torch: TorchVersion | None

    @classmethod
    def parse(cls, local: str) -> Self | None:
        """Read the label from a local version; None if it is not one of ours.

        An upstream local version precedes the label, with a dot between: ``git1a2b.cu130torch2.11``.
        """
        head, marker, tail = local.rpartition("cu")
        cuda, names_torch, torch = tail.partition("torch")
        if not marker or (head and not head.endswith(".")):
            return None
        try:
            label = cls(cuda=CudaVersion.parse(cuda), torch=TorchVersion.parse(torch) if names_torch else None)
        except ValueError:
            return None
        return label if head + str(label) == local else None

    @cached_property
    def trees(self) -> tuple[str, ...]:
        """Parts of an index that have its wheels, from wide to narrow: ``cu130``, ``cu130/torch2.11``.

        Wheels for a release candidate of torch are separate from all others, only in ``rc/cu130/torch2.16rc1``.
        """
        wide = (str(self.cuda.tag),)
        if self.torch is None:
            return wide
        narrow = f"{self.cuda.tag}/torch{self.torch}"
        return (f"{CANDIDATES}/{narrow}",) if self.torch.is_candidate else (*wide, narrow)

    def without_cuda(self, version: Version) -> Version:
        """Drop the CUDA from a version with this label: ``2.8.3+torch2.11``."""
        upstream = str(version).removesuffix(str(self)).rstrip("+.")
        joint = "." if Version(upstream).local else "+"
        return Version(f"{upstream}{joint}torch{self.torch}" if self.torch else upstream)

    def on(self, version: ProjectVersion) -> Version:
        """Put the label on an upstream version."""
        joint = "." if Version(version).local else "+"
        return Version(f"{version}{joint}{self}")

    def __str__(self) -> str:
        """``cu128torch2.8``, ``cu130torch2.16rc1`` or ``cu130``."""
        return f"{self.cuda.tag}torch{self.torch}" if self.torch else self.cuda.tag


@dataclass(frozen=True, kw_only=True)
class BuiltFor:
    """CUDA, torch and C++ ABI in the local version of any wheel."""

    cuda_major: int | None = None
    cuda: CudaVersion | None = None
    """Also None if only the major release is named: ``cu12``."""
    other_accelerator: str | None = None
    """Accelerator other than CUDA: ``ROCm``, ``the CPU alone``; None if it names CUDA or nothing."""
    torch: TorchNeed | None = None
    torch_readings: tuple[TorchVersion, ...] = ()
    """Both torches that joined digits may mean, while `torch` is None: 2.1 and 2.10 for ``torch210``."""
    cxx11_abi: bool | None = None

    @classmethod
    @functools.cache
    def parse(cls, local: str) -> Self:
        """Read a local version; unnamed facts stay None.

        Of two CUDAs the later counts, because it is the label. The earlier one is upstream's, or the major release
        alone as in ``cu12torch2.8.0+cu129``.
        """
        read = cls()
        for word, behind in read_words(local):
            if other := ACCELERATORS.get(word):
                read = replace(read, cuda_major=None, cuda=None, other_accelerator=other)
            elif word == CXX11_ABI:
                is_new = behind.startswith(("true", "1"))
                read = replace(read, cxx11_abi=is_new) if is_new or behind.startswith(("false", "0")) else read
            elif word in TORCH_WORDS:
                torch, readings = _torch_of(word, behind)
                read = replace(read, torch=torch, torch_readings=readings) if torch or readings else read
            elif named := _cuda_of(behind):
                major, minor = named
                cuda = None if minor is None else CudaVersion(major, minor)
                read = replace(read, cuda_major=major, cuda=cuda, other_accelerator=None)
        return read

    @classmethod
    def of(cls, cuda: CudaVersion | None, torch: TorchVersion | None) -> Self:
        """CUDA and torch as a page or a person names them; None if open."""
        return cls(cuda_major=cuda.major if cuda else None, cuda=cuda, torch=torch)

    @classmethod
    def of_installed(cls, version: str) -> Self:
        """Read the part of a version after the ``+``, even if the version violates PEP 440."""
        return cls.parse(version.lower().partition("+")[2])

    def with_torch(self, torch: TorchNeed | None) -> Self:
        """Decide for one of two readings; nothing changes for others."""
        return replace(self, torch=torch, torch_readings=()) if torch in self.torch_readings else self

    def decided(self, torches: Torches) -> Self:
        """Decide what joined digits mean by the torches that exist; both readings stay if both exist.

        If neither exists for this CUDA, its major release counts; if neither does there, a torch that is not known yet.
        """
        if not self.torch_readings:
            return self
        of_major = [cuda for cuda in torches if self.cuda_major in (None, cuda.major)]
        exact = [cuda for cuda in of_major if self.cuda in (None, cuda)]
        for cudas in exact, of_major:
            known = {torch for cuda in cudas for torch in torches[cuda]}
            if existing := [torch for torch in self.torch_readings if replace(torch, candidate=None) in known]:
                break
        else:
            every = {torch for each in torches.values() for torch in each}
            existing = [torch for torch in self.torch_readings if torch not in every]
        return self.with_torch(existing[0]) if len(existing) == 1 else self

    @property
    def torch_words(self) -> str:
        """``torch 2.11``, ``torch 2.1 or 2.10``; empty if it names none."""
        if self.torch:
            return words_for(self.torch)
        return f"torch {' or '.join(map(str, self.torch_readings))}" if self.torch_readings else ""

    def filled_in(self, page: BuiltFor) -> BuiltFor:
        """Complete these facts by those of their page, which hold for all its wheels."""
        if page.cuda_major is None and page.torch is None:
            return self
        silent = self.cuda_major is None and self.other_accelerator is None
        same = silent or (self.cuda is None and self.cuda_major == page.cuda_major)
        cuda_major, cuda = (page.cuda_major, page.cuda) if same else (self.cuda_major, self.cuda)
        named = self.with_torch(page.torch)
        torch = named.torch or (None if named.torch_readings else page.torch)
        return replace(named, cuda_major=cuda_major, cuda=cuda, torch=torch)

    @cached_property
    def label(self) -> Label | None:
        """Our own label for these facts; None if they name no single release of CUDA."""
        torch = self.torch if isinstance(self.torch, TorchVersion) else None
        return Label(cuda=self.cuda, torch=torch) if self.cuda else None

    def __str__(self) -> str:
        """``CUDA 13.0``, ``CUDA 12``, ``ROCm`` or ``no CUDA label``."""
        if self.cuda_major is None:
            return self.other_accelerator or "no CUDA label"
        return f"CUDA {self.cuda or self.cuda_major}"


def _cuda_of(behind: str) -> tuple[int, int | None] | None:
    """Major and minor release in ``12.8`` or ``128``; ``12`` has no minor one."""
    major, _, minor = number_in_front(behind).partition(".")
    if len(major) > 2:  # noqa: PLR2004 - cu128; cu12 names the major release only
        major, minor = major[:2], major[2:]
    minor = minor.partition(".")[0]
    return (int(major), int(minor) if minor else None) if major else None


_FIRST_FAR_MINOR: Final = 30
"""Minor release of torch that no wheel is for in years: ``torch290`` is 2.9.0 and not 2.90."""


def _torch_of(word: str, behind: str) -> tuple[TorchNeed | None, tuple[TorchVersion, ...]]:
    """Torch in ``2.9.0``, ``290``, ``2.16.0rc2`` and ``2.9.0andhigher``, or else both readings of ``210``."""
    number = number_in_front(behind)
    rest = behind[len(number) :]
    major, _, minor = number.partition(".")
    minors = [minor]
    if not minor and len(major) > 1:  # torch2100 has a patch release behind it, pt210 has none
        major, digits = major[0], major[1:]
        has_patch = word == "torch" and len(digits) > 1
        minors = [digits[:-1] if has_patch else digits]
        if has_patch and 10 <= int(digits) < _FIRST_FAR_MINOR:  # noqa: PLR2004 - torch201 is 2.0.1
            minors.append(digits)
    if not minors[0]:
        return None, ()
    minor, _, patch = minors[0].partition(".")
    candidate = "".join(takewhile("0123456789".__contains__, rest[2:])) if rest.startswith("rc") else ""
    candidate = "0" if rest.startswith(".dev") else candidate  # a nightly build is older than every candidate
    is_candidate = candidate and not patch.strip("0.")  # those of a patch release keep its ABI
    torch = TorchVersion(int(major), int(minor), int(candidate) if is_candidate else None)
    if len(minors) > 1:
        return None, (torch, TorchVersion(int(major), int(minors[1]), torch.candidate))
    return StableTorch(oldest=torch) if rest.startswith("andhigher") else torch, ()


@functools.lru_cache(maxsize=4096)  # wheels of one version require the same
def torch_requirement(requires_dist: tuple[str, ...]) -> SpecifierSet | None:
    """Range of torch that a wheel requires on every machine; None if it has none. Invalid requirements are ignored."""
    bounds: list[SpecifierSet] = []
    for text in requires_dist:
        with suppress(ValueError):
            required = read_requirement(text)
            if canonicalize_name(required.name) == TORCH and not required.marker:
                bounds.append(required.specifier)
    return functools.reduce(and_, bounds) if bounds else None


@functools.lru_cache(maxsize=4096)
def needed_torch(requires_dist: tuple[str, ...]) -> TorchNeed | None:
    """Torch that an unlabelled wheel needs: one release, or any from one on; None if it requires neither."""
    bound = torch_requirement(requires_dist) or SpecifierSet()
    pins = [_minor(clause) for clause in bound if clause.operator == "=="]
    oldest = [_minor(clause) for clause in bound if clause.operator in (">=", ">", "~=")]
    below = [_first_without(clause) for clause in bound if clause.operator in ("<", "<=")]
    try:
        if pins:
            return pins[0]
        return StableTorch(oldest=max(oldest), below=min(below, default=None)) if oldest else None
    except ValueError:  # nothing is in that range
        return None


@functools.lru_cache(maxsize=4096)
def runs_beside(requires_dist: tuple[str, ...], torch: TorchVersion) -> bool:
    """True if a wheel's requirements allow some release of a torch."""
    bound = torch_requirement(requires_dist)
    return bound is None or has_release_of(torch, bound)


def has_release_of(torch: TorchVersion, bound: SpecifierSet) -> bool:
    """True if some release of a torch is in a range; ``==2.8.0+cu128`` has 2.8.0."""
    public = bound
    if "+" in str(bound):
        public = SpecifierSet(",".join(f"{each.operator}{each.version.partition('+')[0]}" for each in bound))
    return any(public.contains(release, prereleases=True) for release in torch.releases)


_MINOR_LENGTH: Final = 2
"""Numbers in a minor release."""


def pinned_torch(bound: SpecifierSet) -> TorchVersion | None:
    """Find the torch that a range pins: ``==2.11.0``, ``==2.11.*`` or ``~=2.11.0``; None for any other range."""
    for specifier in bound:
        if specifier.operator not in ("==", "~="):  # behind === may be any text
            continue
        version = Version(specifier.version.removesuffix(".*"))
        release = version.release
        whole = specifier.version.endswith(".*") or len(release) > _MINOR_LENGTH
        if whole and len(release) >= _MINOR_LENGTH:
            return TorchVersion.of_release(version)
    return None


def words_for(needed: TorchNeed) -> str:
    """Text for people: ``torch 2.11``, ``any torch from 2.10``, ``any torch from 2.10, below 2.16``."""
    if isinstance(needed, StableTorch):
        return f"any torch from {needed.oldest}" + (f", below {needed.below}" if needed.below else "")
    return f"torch {needed}"


def age_of(needed: TorchNeed | None) -> tuple[object, ...]:
    """Sort key: no torch before one, older ones before newer ones, and ranges behind those."""
    match needed:
        case None:
            return (0,)
        case StableTorch(oldest=oldest, below=below):
            return (2, oldest, below is None, below)
        case torch:
            return (1, torch)


class TorchRange(TypedDict):
    """Any torch from one on."""

    stable: str
    """The oldest: ``2.10``."""
    below: NotRequired[str]
    """The first that no longer serves."""


class TorchKeys(TypedDict):
    """Torch that a wheel needs: one release, a range of them, or neither, when both are null."""

    torch: str | None
    """``2.11``"""
    torch_abi: TorchRange | None


def torch_in_json(torch: TorchNeed | None) -> TorchKeys:
    """JSON form of the torch that a wheel needs: one release, a range beside it, or neither."""
    return {
        "torch": str(torch) if isinstance(torch, TorchVersion) else None,
        "torch_abi": cast("TorchRange", torch.plain) if isinstance(torch, StableTorch) else None,
    }


def _minor(clause: Specifier) -> TorchVersion:
    version = Version(clause.version.removesuffix(".*"))
    return TorchVersion(version.major, version.minor)


def _first_without(clause: Specifier) -> TorchVersion:
    """Oldest torch with no release below a bound."""
    minor = _minor(clause)
    has_some = clause.operator == "<=" or Version(clause.version).micro > 0
    return TorchVersion(minor.major, minor.minor + 1) if has_some else minor
