"""What Poetry writes in the place of version specifiers: https://python-poetry.org/docs/dependency-specification/."""

from __future__ import annotations

from collections.abc import Callable

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def specifiers_of(constraint: str) -> str:
    """Translate Poetry's constraint: ``^2.7``, ``~2.7``, ``2.7.*``, ``*``, ``>=2.7,<3`` or ``2.7``.

    Returns:
        Specifiers (PEP 440); empty for any version.

    Raises:
        ValueError: the constraint has no such form.
    """
    if "|" in constraint:
        raise ValueError(f"{constraint!r} has alternatives, which version specifiers cannot express")
    try:
        return str(SpecifierSet(",".join(_specifier_of(part.strip()) for part in constraint.split(","))))
    except (InvalidSpecifier, InvalidVersion):
        raise ValueError(f"expected a version constraint, not {constraint!r}") from None


def _specifier_of(part: str) -> str:
    if part == "*":
        return ""
    match part[:1]:
        case "^":
            return _up_to_the_next(part[1:], lambda release: next((n for n, part in enumerate(release) if part), None))
        case "~" if not part.startswith("~="):
            return _up_to_the_next(part[1:], lambda release: min(1, len(release) - 1))
        case digit if digit.isdigit():
            return f"=={part}"
        case _:
            return part


def _up_to_the_next(text: str, place_in: Callable[[tuple[int, ...]], int | None]) -> str:
    """From a version on, below the one in which the number at a place is one higher."""
    version = Version(text.strip())
    release = version.release
    place = place_in(release)
    place = len(release) - 1 if place is None else place
    upper = ".".join(map(str, (*release[:place], release[place] + 1)))
    return f">={version},<{upper}"
