"""What a wheel needs of torch: one release, or any of a range."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from wheelmill.names.text import ProjectName
from wheelmill.names.word import Word, release_numbers

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

TORCH: Final = ProjectName("torch")
"""The project that most wheels are linked to."""


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class TorchVersion(Word):
    """A torch minor release, or one of its release candidates.

    Patch releases keep the C++ ABI that extensions link to; between candidates, and from the last to the release, it
    may change.
    """

    major: int
    minor: int
    candidate: int | None = None
    """The number of a release candidate, which sorts before the release; None for the release."""

    @classmethod
    def parse(cls, text: str) -> TorchVersion:
        """Read ``2.11``, ``2.11.0``, ``2.16rc1`` or ``2.16.0rc1``."""
        release, found, number = text.strip().partition("rc")
        major, minor, *patch = release_numbers(release, "a torch version such as '2.11'")
        if found and (any(patch) or not (number.isascii() and number.isdecimal())):
            raise ValueError(f"expected a release candidate of torch such as '2.16rc1', not {text!r}")
        return cls(major, minor, int(number) if found else None)

    @classmethod
    def of_release(cls, version: Version) -> TorchVersion:
        """What extensions link to beside a release: ``2.16rc1`` for ``2.16.0rc1+cu130``, ``2.16`` for ``2.16.1rc1``."""
        kind, number = version.pre or ("", 0)
        return cls(version.major, version.minor, number if kind == "rc" and not version.micro else None)

    @property
    def releases(self) -> tuple[str, ...]:
        """The versions that it may report: ``2.11.0`` to ``2.11.9``; of a candidate ``2.16.0rc1`` and ``2.16.0``."""
        if self.is_candidate:
            release = f"{self.major}.{self.minor}.0"
            return f"{release}rc{self.candidate}", release
        return tuple(f"{self}.{patch}" for patch in range(10))

    @property
    def pin(self) -> str:
        """The narrowest range with every version that it may report: ``==2.11.*``, ``>=2.16.0rc1,<=2.16.0``."""
        return f">={self.releases[0]},<={self.releases[-1]}" if self.is_candidate else f"=={self}.*"

    @property
    def is_candidate(self) -> bool:
        """Whether it is a release candidate."""
        return self.candidate is not None

    def __lt__(self, other: TorchVersion) -> bool:
        """Whether it came before another one."""
        return self._age < other._age

    @property
    def _age(self) -> tuple[int, int, bool, int]:
        return self.major, self.minor, not self.is_candidate, self.candidate or 0

    def __str__(self) -> str:
        """``2.11`` or ``2.16rc1``."""
        return f"{self.major}.{self.minor}{f'rc{self.candidate}' if self.is_candidate else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StableTorch:
    """A range of torches: what a wheel needs that links only to torch's stable ABI.

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
        """Whether a torch, or all of another range, is in the range."""
        if isinstance(torch, TorchVersion):
            return self.oldest <= torch and (self.below is None or torch < self.below)
        ends_before = self.below is None or (torch.below is not None and torch.below <= self.below)
        return self.oldest <= torch.oldest and ends_before

    @property
    def plain(self) -> dict[str, str]:
        """What JSON and YAML write: ``{"stable": "2.10", "below": "2.16"}``."""
        return {"stable": str(self.oldest)} | ({"below": str(self.below)} if self.below else {})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read and write that form."""
        from pydantic_core import core_schema  # noqa: PLC0415 - the client chooses wheels without pydantic

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
"""What a wheel that links to torch needs: the minor release that it was built against, or any of a range."""
