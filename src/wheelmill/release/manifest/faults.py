"""Every fault of a manifest that cannot be decoded, each with its key; the decoder reports only the first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, Final

from msgspec import ValidationError, convert
from msgspec.structs import FieldInfo, fields

from wheelmill.release.manifest.listed import SCHEMA, ListedRelease, ListedWheel

Path = tuple[str | int, ...]
"""Where a value is in JSON: keys of objects, positions in lists."""
Fault = tuple[Path, str]
"""Where it is, and what is wrong there."""

_MOST: Final = 100
"""Faults that are told of one manifest."""
_LONGEST: Final = 100
"""Characters of a text that are shown."""
_FAMILY: Final = SCHEMA.rpartition("/")[0]


def faults_of_types(content: bytes) -> list[Fault]:
    """Find every value that a manifest cannot have; none where the bytes are no manifest at all."""
    try:
        plain = json.loads(content, parse_constant=float)
    except (ValueError, RecursionError):
        return []
    if not isinstance(plain, dict) or not _is_ours(schema := plain.get("schema")):
        return []
    if schema != SCHEMA:
        newer = f"it was made by a newer wheelmill: update this one, which reads {SCHEMA} and not {shown(schema)}"
        return [(("schema",), newer)]
    return [*_faults(plain)]


def _is_ours(schema: object) -> bool:
    family, _, number = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    return family == _FAMILY and number.isdecimal()


def _faults(plain: dict[str, Any]) -> Iterator[Fault]:
    for path, value in values_in(plain):
        if isinstance(value, float) and not isfinite(value):
            yield path, f"expected a number, not {value}, which JSON does not know (RFC 8259, section 6)"
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            yield path, f"expected text, not {shown(value)}, which has half a surrogate pair (RFC 8259, section 8.2)"
    yield from _faults_of_keys(plain, [each for each in fields(ListedRelease) if each.name != "wheels"], ())
    wheels = plain.get("wheels")
    if not isinstance(wheels, list):
        yield ("wheels",), "expected a list"
        return
    for number, wheel in enumerate(wheels):
        if isinstance(wheel, dict):
            yield from _faults_of_keys(wheel, fields(ListedWheel), ("wheels", number))
        else:
            yield ("wheels", number), "expected an object"


def _faults_of_keys(plain: dict[str, Any], wanted: Sequence[FieldInfo], path: Path) -> Iterator[Fault]:
    for each in wanted:
        where = (*path, each.encode_name)
        if each.encode_name not in plain:
            if each.required:
                yield where, "is missing"
            continue
        try:
            convert(plain[each.encode_name], each.type)
        except ValidationError as error:
            problem, _, inner = str(error).partition(" - at `$")
            parts = inner.rstrip("`").replace("[", ".").replace("]", "").split(".")
            yield (*where, *(int(part) if part.isdecimal() else part for part in parts if part)), problem


def values_in(plain: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401 - JSON
    """Every value of JSON that is no object and no list, and where it stands."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from values_in(value, (*path, key))
    elif isinstance(plain, list | tuple):
        for number, value in enumerate(plain):
            yield from values_in(value, (*path, number))
    else:
        yield path, plain


def shown(text: object) -> str:
    """A text for a message: quoted, short, and without anything that a terminal would act on."""
    written = ascii(text)
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]}..."


def told(source: str, faults: Iterable[Fault]) -> str:
    """Faults of one file, a line each with the key; of one value, the first."""
    by_path: dict[Path, str] = {}
    for path, problem in faults:
        by_path.setdefault(path, problem)
    lines = [": ".join(filter(None, (source, _key_of(path), problem))) for path, problem in by_path.items()]
    return "\n".join([*lines[:_MOST], *([f"{source}: and {len(lines) - _MOST} more"] if len(lines) > _MOST else [])])


def _key_of(path: Path) -> str:
    """``wheels[3].certificate.evidence``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
