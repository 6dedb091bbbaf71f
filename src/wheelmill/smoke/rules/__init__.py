"""Rules on a wheel's bytes, none of which is run. Each compares what the wheel promises with what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.rules.files import FILES
from wheelmill.smoke.rules.machine_code import MACHINE_CODE
from wheelmill.smoke.rules.promises import PROMISES
from wheelmill.wheel.findings import Code, Finding, with_reasons

_NEARLY: Final = 0.9
"""Of the largest size."""

RULES: Final = (*PROMISES, *FILES, *MACHINE_CODE)


def findings_of(contents: Contents, *, max_size: int | None = None) -> tuple[Finding, ...]:
    """Apply every rule.

    Args:
        contents: the opened wheel, with its evidence.
        max_size: bytes that a wheel must stay under where it will be released; None sets no limit.
    """
    own = (finding for rule in RULES for finding in rule(contents))
    found = (*own, *fits_a_release(contents, max_size))
    return tuple(with_reasons(found, contents.expectations.allow))


def fits_a_release(contents: Contents, max_size: int | None) -> Iterator[Finding]:
    """A release takes no larger asset; one that nearly is will be, with the next GPU or the next version."""
    size = contents.file.size
    if max_size is None or size < _NEARLY * max_size:
        return
    code = Code.SIZE if size >= max_size else Code.LARGE
    detail = f"{size} bytes; release assets stay under {max_size}: build fewer architectures. It has {contents.sizes}"
    yield Finding(code=code, detail=detail)
