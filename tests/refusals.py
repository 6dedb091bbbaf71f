"""What a test asks of an error: its code, and the facts that its sentence names, in whatever words."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ParamSpec

import pytest

from wheelmill.errors import ConfigurationError, WheelmillError

Arguments = ParamSpec("Arguments")


@dataclass(frozen=True)
class Coded:
    """A check for `pytest.raises`: the error has this code, and names these facts in its message or its hint."""

    code: str
    facts: tuple[str, ...]

    def __call__(self, error: BaseException) -> bool:
        """Whether it is that error; what differs is an assertion, which pytest shows."""
        assert isinstance(error, WheelmillError)
        assert error.code == self.code, error.explained
        assert [fact for fact in self.facts if fact not in error.explained] == [], error.explained
        return True


def coded(code: str, *facts: object) -> Coded:
    """Check an error: ``pytest.raises(BuildError, check=coded("patch-failed", "first.patch"))``."""
    return Coded(code, tuple(map(str, facts)))


def faults_of(
    read: Callable[Arguments, object], *arguments: Arguments.args, **options: Arguments.kwargs
) -> tuple[str, ...]:
    """The faults of the files that a function refuses to read."""
    with pytest.raises(ConfigurationError) as refused:
        read(*arguments, **options)
    return refused.value.faults


def places(faults: Iterable[str]) -> list[str]:
    """The file, the place and the key of each fault, as in ``packages.yml:2:1: a``, without its sentence."""
    return [": ".join(fault.split(": ", 2)[:2]) for fault in faults]


def check_places(faults: Sequence[str], expected: Sequence[str]) -> None:
    """Check where faults are: each is told at its place, with its key where it is one of a key."""
    assert len(faults) == len(expected), faults
    assert [fault for fault, place in zip(faults, expected, strict=True) if not fault.startswith(f"{place}: ")] == []
