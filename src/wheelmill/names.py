"""Domain types, validated once on input.

Projects, versions and ranges are text or types of `packaging`. CUDA and torch releases, Pythons, platforms and GPU
architectures are objects with one spelling each.
"""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NewType, Self

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidName, NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

ProjectName = NormalizedName
"""A project's normalized name, such as ``flash-attn`` (PEP 503)."""

ProjectVersion = NewType("ProjectVersion", str)
"""An upstream version in canonical form, such as ``2.8.3`` (PEP 440)."""

CudaTag = NewType("CudaTag", str)
"""A CUDA release as indexes write it, such as ``cu128``."""

ReleaseTag = NewType("ReleaseTag", str)
"""The git tag of a release, such as ``v2026-11-21`` or ``v2026-11-21.2``."""

Sha256 = NewType("Sha256", str)
"""64 lower-case hexadecimal digits."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")

RUN_NUMBER: Final = re.compile(r"^[0-9]+\Z")
"""The number that a host gave a run; it reaches URLs and outputs of workflows."""

_ALIKE: Final = 0.6
"""Likeness of a misspelling to its word, from 0 to 1; difflib's own default."""
_SAME_START: Final = 0.8
"""Likeness of an abbreviation to the beginning of its word; short texts are easily alike."""

MAX_TEXT: Final = 4096
"""Characters of a version, a range or a requirement; Python converts no number of more than 4,300 digits."""


def project_name(text: str) -> ProjectName:
    """Normalize a project's name, or raise ValueError."""
    try:
        return canonicalize_name(text, validate=True)
    except InvalidName:
        raise ValueError(f"expected a project name of letters, digits, '-', '_' and '.', not {text!r}") from None


def is_named_after(project: ProjectName, name: str) -> bool:
    """True for a project's name, also with further words: ``demo-run`` and ``demo.exe``, but not ``demolish``."""
    return not {"/", "\\"} & {*name} and f"{canonicalize_name(name)}-".startswith(f"{project}-")


def project_version(text: str) -> ProjectVersion:
    """Bring a version into its canonical form, or raise ValueError."""
    try:
        return ProjectVersion(str(Version(bounded(text))))
    except InvalidVersion:
        raise ValueError(f"expected a version such as '2.8.3' (PEP 440), not {text!r}") from None


def version_or_none(text: str) -> Version | None:
    """Parse a version (PEP 440); None if it is invalid."""
    try:
        return Version(text)
    except ValueError:  # also Python's own: it converts no number of thousands of digits
        return None


def is_sha256(text: str) -> bool:
    """True if a text is a `Sha256`."""
    return _SHA256.fullmatch(text) is not None


def read_range(text: str) -> SpecifierSet:
    """Read a range of versions, which may be empty, or raise ValueError."""
    try:
        return SpecifierSet(bounded(text))
    except InvalidSpecifier:
        raise ValueError(f"expected a range such as '{_range_near(text)}' (PEP 440), not {text!r:.80}") from None


def _range_near(text: str) -> str:
    """Write the example of an error: ``==VERSION`` for a lone version, else a general range."""
    version = version_or_none(text)
    return f"=={version}" if version else ">=2.7,<3"


def read_requirement(text: str) -> Requirement:
    """Read a requirement, or raise ValueError, also for a marker that is nested too deep."""
    try:
        if text.replace("\t", " ").isprintable():  # packaging takes U+2028 in a URL, where pip begins a new line
            return Requirement(bounded(text))
    except InvalidRequirement:
        pass
    except RecursionError:
        raise ValueError(f"expected a requirement that is not nested deeply, not '{text:.40}...'") from None
    raise ValueError(f"expected a requirement such as 'ninja>=1.11' (PEP 508), not {text!r:.80}")


def bounded(text: str) -> str:
    """Return a text, or raise ValueError if it is too long to parse."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"expected at most {MAX_TEXT} characters, not {len(text)}: '{text:.40}...'")
    return text


def words_like(text: str, known: Iterable[str]) -> list[str]:
    """List up to three known words like a misspelling or an abbreviation, the most alike first."""
    import difflib  # for misspellings only

    def likeness(word: str) -> float:
        return difflib.SequenceMatcher(None, word, text).ratio()

    scores = ((likeness(word[: len(text)]), likeness(word), word) for word in sorted(known) if text)
    alike = [score for score in scores if score[0] >= _SAME_START or score[1] >= _ALIKE]
    alike.sort(key=lambda score: (max(score[:2]), score[1]), reverse=True)
    return [word for *_, word in alike[:3]]


class Word(ABC):
    """Value with one spelling: an object in records, text in JSON and YAML."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Parse the text form, or raise a ValueError that names the expected form."""

    @classmethod
    @functools.lru_cache(maxsize=4096)
    def _parsed_once(cls, text: str) -> Self:
        """Parse the text form; cached, because a ledger of 100,000 wheels has a few dozen distinct words."""
        return cls.parse(text)

    @classmethod
    def _validated(cls, value: object) -> Self:
        if isinstance(value, str):
            return cls._parsed_once(value)
        if isinstance(value, cls):
            return value
        raise ValueError(f"expected text in quotes, not {value!r}")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Let pydantic read and write the text form."""
        from pydantic_core import core_schema  # the client chooses wheels without pydantic

        return core_schema.no_info_plain_validator_function(
            cls._validated,
            json_schema_input_schema=core_schema.str_schema(),
            serialization=core_schema.to_string_ser_schema(),
        )


def release_numbers(text: str, example: str, *, lengths: tuple[int, ...] = (2, 3)) -> tuple[int, ...]:
    """Parse dotted numbers, as many as one of `lengths`; an error expects `example`."""
    version = version_or_none(bounded(text))
    if version is None or str(version) != ".".join(map(str, version.release)) or len(version.release) not in lengths:
        raise ValueError(f"expected {example}, not {text!r}")
    return version.release


_PLATFORM: Final = re.compile(r"(?P<system>linux|win|macosx(?:_[0-9]+)*)_(?P<machine>[a-z][a-z0-9_]*)")


@dataclass(frozen=True, order=True, slots=True)
class CudaVersion(Word):
    """CUDA major and minor release, which all wheels of one label share; patch releases do not matter here."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> CudaVersion:
        """Read ``13.0``, ``13.0.2``, ``130`` or ``cu130``."""
        example = "a CUDA version such as '13.0' or 'cu130'"
        digits = text.strip().removeprefix("cu")
        if digits.isascii() and digits.isdigit() and len(digits) >= 3:  # noqa: PLR2004 - "12" is no version
            digits = f"{digits[:-1]}.{digits[-1]}"
        major, minor, *_ = release_numbers(digits, example)
        if not 10 <= major < 100 or minor > 9:  # noqa: PLR2004 - cu92 and cu1310 could not be read back; 1281 is a slip
            raise ValueError(f"expected {example}, not {text!r}")
        return cls(major, minor)

    @property
    def tag(self) -> CudaTag:
        """Form in labels and index paths: ``cu130``."""
        return CudaTag(f"cu{self.major}{self.minor}")

    def __str__(self) -> str:
        """``13.0``."""
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, order=True, slots=True)
class PythonVersion(Word):
    """A CPython minor release, free-threaded or not (PEP 703)."""

    major: int
    minor: int
    free_threaded: bool = False

    @classmethod
    def parse(cls, text: str) -> PythonVersion:
        """Read ``3.12``, ``3.13t``, ``312`` or ``cp312``."""
        example = "a Python version such as '3.12' or '3.13t'"
        digits = text.strip().removeprefix("cp")
        free_threaded = digits.endswith("t")
        digits = digits.removesuffix("t")
        if digits.isascii() and digits.isdigit() and len(digits) > 1:
            digits = f"{digits[:1]}.{digits[1:]}"
        major, minor, *_ = release_numbers(digits, example)
        return cls(major, minor, free_threaded)

    @property
    def interpreter(self) -> str:
        """Interpreter part of a wheel tag: ``cp312`` (PEP 425)."""
        return f"cp{self.major}{self.minor}"

    @property
    def abi(self) -> str:
        """ABI part of a wheel tag: ``cp312``, or ``cp313t`` if free-threaded."""
        return f"{self.interpreter}{'t' if self.free_threaded else ''}"

    def __str__(self) -> str:
        """``3.12`` or ``3.13t``."""
        return f"{self.major}.{self.minor}{'t' if self.free_threaded else ''}"


@dataclass(frozen=True, order=True, slots=True)
class Platform(Word):
    """System and machine for wheels, spelled as the platform tag of a plain wheel (PEP 425)."""

    system: str
    """``linux``, ``win`` or ``macosx``, the last with a release where one is known: ``macosx_14_0``."""
    machine: str
    """The processor as its system calls it: ``x86_64`` and ``aarch64`` on Linux, ``amd64`` on Windows."""

    @classmethod
    def parse(cls, text: str) -> Platform:
        """Read ``linux_x86_64``, ``win_amd64`` or ``macosx_14_0_arm64``."""
        parts = _PLATFORM.fullmatch(text.strip())
        if parts is None:
            raise ValueError(f"expected a platform such as 'linux_x86_64' or 'win_amd64', not {text!r}")
        return cls(**parts.groupdict())

    @classmethod
    def of_tag(cls, tag: str) -> Platform | None:
        """Find the platform of a wheel's platform tag with any C library; None if the tag is ``any``."""
        plain = re.sub(r"^(many|musl)linux[0-9]*(_[0-9]+_[0-9]+)?_", "linux_", tag)
        return cls(**parts.groupdict()) if (parts := _PLATFORM.fullmatch(plain)) else None

    @property
    def plain(self) -> Platform:
        """The same without a release of macOS."""
        return Platform(self.system.partition("_")[0], self.machine)

    @property
    def is_linux(self) -> bool:
        """True if its wheels are distinguished by their C library."""
        return self.system == "linux"

    def tag(self, policy: str) -> str:
        """Platform tag of a policy on this machine: ``manylinux_2_28_x86_64`` (PEP 600)."""
        return f"{policy}_{self.machine}"

    def __str__(self) -> str:
        """``linux_x86_64``."""
        return f"{self.system}_{self.machine}"


@dataclass(frozen=True, order=True, slots=True)
class Architecture(Word):
    """GPU architecture to compile for, as ``TORCH_CUDA_ARCH_LIST`` writes it: ``9.0``, ``9.0a``, ``12.0+PTX``.

    https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-feature-list
    """

    major: int
    minor: int
    feature: str = ""
    """``a`` (this architecture only), ``f`` (its family) or nothing (forward compatible)."""
    ptx: bool = False

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Read a compute capability with an optional feature letter and ``+PTX``."""
        number = text.strip()
        ptx = number.endswith("+PTX")
        number = number.removesuffix("+PTX")
        feature = number[-1:] if number[-1:] in ("a", "f") else ""
        example = "a compute capability such as '9.0', '9.0a' or '12.0+PTX'"
        major, minor = release_numbers(number.removesuffix(feature), example, lengths=(2,))
        return cls(major, minor, feature, ptx)

    @classmethod
    def of_code(cls, code: str) -> Architecture:
        """Read ``sm_90a`` or ``compute_90a``, as `sm` and `compute` write it: the last digit is the minor part."""
        name = code.partition("_")[2]
        number = name.rstrip("af")
        return cls.parse(f"{number[:-1]}.{number[-1:]}{name.removeprefix(number)}")

    @property
    def capability(self) -> str:
        """Name without ``+PTX``: ``9.0a``."""
        return f"{self.major}.{self.minor}{self.feature}"

    @property
    def sm(self) -> str:
        """Name of its machine code in cuobjdump and the evidence: ``sm_90a``."""
        return f"sm_{self.major}{self.minor}{self.feature}"

    @property
    def compute(self) -> str:
        """Name of its portable assembly in the evidence: ``compute_90a``."""
        return self.sm.replace("sm_", "compute_")

    def __str__(self) -> str:
        """``12.0+PTX``."""
        return f"{self.capability}{'+PTX' if self.ptx else ''}"


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU."""

    capability: Architecture
    name: str | None = None
    """``NVIDIA H100``; None when only its compute capability was given."""


TORCH: Final = ProjectName("torch")
"""The project that most wheels are linked to."""


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class TorchVersion(Word):
    """Minor release of torch, or one of its release candidates.

    Patch releases keep the C++ ABI that extensions link to. It may change between candidates, and from the last one to
    the release.
    """

    major: int
    minor: int
    candidate: int | None = None
    """The number of a release candidate, which sorts before the release; None for the release."""

    @classmethod
    def parse(cls, text: str) -> TorchVersion:
        """Read ``2.11``, ``2.11.0``, ``2.16rc1`` or ``2.16.0rc1``."""
        release, candidate, number = text.strip().partition("rc")
        major, minor, *patch = release_numbers(release, "a torch version such as '2.11'")
        if candidate and (any(patch) or not (number.isascii() and number.isdecimal())):
            raise ValueError(f"expected a release candidate of torch such as '2.16rc1', not {text!r}")
        return cls(major, minor, int(number) if candidate else None)

    @classmethod
    def of_release(cls, version: Version) -> TorchVersion:
        """Read the torch of extensions: ``2.16rc1`` for ``2.16.0rc1+cu130``, ``2.16`` for ``2.16.1rc1``."""
        kind, number = version.pre or ("", 0)
        return cls(version.major, version.minor, number if kind == "rc" and not version.micro else None)

    @property
    def releases(self) -> tuple[str, ...]:
        """Versions that it may report: ``2.11.0`` to ``2.11.9``; for a candidate ``2.16.0rc1`` and ``2.16.0``."""
        if self.is_candidate:
            release = f"{self.major}.{self.minor}.0"
            return f"{release}rc{self.candidate}", release
        return tuple(f"{self}.{patch}" for patch in range(10))

    @property
    def pin(self) -> str:
        """Narrowest range with every version that it may report: ``==2.11.*``, ``>=2.16.0rc1,<=2.16.0``."""
        return f">={self.releases[0]},<={self.releases[-1]}" if self.is_candidate else f"=={self}.*"

    @property
    def is_candidate(self) -> bool:
        """True if it is a release candidate."""
        return self.candidate is not None

    def __lt__(self, other: TorchVersion) -> bool:
        """Order by age; a candidate precedes its release."""
        return self._age < other._age

    @property
    def _age(self) -> tuple[int, int, bool, int]:
        return self.major, self.minor, not self.is_candidate, self.candidate or 0

    def __str__(self) -> str:
        """``2.11`` or ``2.16rc1``."""
        return f"{self.major}.{self.minor}{f'rc{self.candidate}' if self.is_candidate else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StableTorch:
    """Range of torches for a wheel that links only to torch's stable ABI.

    https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html
    """

    oldest: TorchVersion
    below: TorchVersion | None = None
    """The first torch that is too new; None for no upper bound."""

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        if self.below is not None and self.below <= self.oldest:
            raise ValueError(f"expected 'below' to be a torch newer than {self.oldest}, not {self.below}")

    def __contains__(self, torch: TorchNeed) -> bool:
        """True if a torch, or all of another range, is in the range."""
        if isinstance(torch, TorchVersion):
            return self.oldest <= torch and (self.below is None or torch < self.below)
        ends_before = self.below is None or (torch.below is not None and torch.below <= self.below)
        return self.oldest <= torch.oldest and ends_before

    @property
    def plain(self) -> dict[str, str]:
        """Form in JSON and YAML: ``{"stable": "2.10", "below": "2.16"}``."""
        return {"stable": str(self.oldest)} | ({"below": str(self.below)} if self.below else {})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read and write that form."""
        from pydantic_core import core_schema  # the client chooses wheels without pydantic

        torch = handler.generate_schema(TorchVersion)
        below = core_schema.typed_dict_field(torch, required=False)
        keys = {"stable": core_schema.typed_dict_field(torch), "below": below}
        return core_schema.no_info_after_validator_function(
            lambda written: cls(oldest=written["stable"], below=written.get("below")),
            core_schema.typed_dict_schema(keys, extra_behavior="forbid"),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.plain),
        )

    def __str__(self) -> str:
        """``>=2.10,<2.16``, a range as requirements write it (PEP 440)."""
        return f">={self.oldest}" + (f",<{self.below}" if self.below else "")


TorchNeed = TorchVersion | StableTorch
"""Torch that a linked wheel needs: the minor release that it was built against, or any of a range."""


def admits(needed: TorchNeed, torch: TorchVersion) -> bool:
    """True if a torch is the needed one, or in the needed range."""
    return torch in needed if isinstance(needed, StableTorch) else torch == needed
