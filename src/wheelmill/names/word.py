"""Values with one spelling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Self, TypeVar, cast

from packaging.version import InvalidVersion, Version

from wheelmill.names.text import bounded

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class Word(ABC):
    """A value with one spelling: an object in records, that text in JSON and YAML."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Read the text form. Raises ValueError that says what was expected."""

    @classmethod
    def _validated(cls, value: object) -> Self:
        if isinstance(value, str):
            return cast(Self, _read_once(cls, value))
        if isinstance(value, cls):
            return value
        raise ValueError(f"expected text in quotes, not {value!r}")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Let pydantic read and write the text form."""
        from pydantic_core import core_schema  # noqa: PLC0415 - the client chooses wheels without pydantic

        return core_schema.no_info_plain_validator_function(
            cls._validated,
            json_schema_input_schema=core_schema.str_schema(),
            serialization=core_schema.to_string_ser_schema(),
        )


_Kind = TypeVar("_Kind", bound=Word)


@lru_cache(maxsize=4096)
def _read_once(kind: type[_Kind], text: str) -> _Kind:
    """Read the text form; cached, since a ledger of 100,000 wheels has a few dozen different words."""
    return kind.parse(text)


def release_numbers(text: str, example: str, *, lengths: tuple[int, ...] = (2, 3)) -> tuple[int, ...]:
    """Read numbers with dots between them.

    Args:
        text: what somebody wrote.
        example: what the refusal says was expected.
        lengths: how many numbers there may be.

    Raises:
        ValueError: there are too few or too many, or one is not written as in a version.
    """
    try:
        version = Version(bounded(text))
    except InvalidVersion:
        version = None
    if version is None or str(version) != ".".join(map(str, version.release)) or len(version.release) not in lengths:
        raise ValueError(f"expected {example}, not {text!r}")
    return version.release
