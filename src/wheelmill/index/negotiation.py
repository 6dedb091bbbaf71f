"""Which form of a page a client gets, of those that its Accept header says it wants.

The rules for hosts, in ``index/hosts``, do the same. PEP 691: the newest version of a form is asked for as ``latest``;
``text/html`` is another name for the first version of HTML.
https://packaging.python.org/en/latest/specifications/simple-repository-api/#version-format-selection
"""

from __future__ import annotations

import re
from typing import Final

from wheelmill.web.pages import HTML_TYPES, JSON_TYPE

TEXT_TYPE, HTML_TYPE = HTML_TYPES
_NAMES: Final = {
    JSON_TYPE: (JSON_TYPE, "application/vnd.pypi.simple.latest+json"),
    TEXT_TYPE: (TEXT_TYPE, "text/*", "*/*"),
    HTML_TYPE: (HTML_TYPE, "application/vnd.pypi.simple.latest+html", "application/*", "*/*"),
}
"""By what a client may ask for each, the most exact first. JSON is for those only who name it; at equal weights the
first wins."""
_WEIGHT: Final = re.compile(r"[01](\.\d{0,3})?", re.ASCII)
"""RFC 9110, section 12.4.2."""


def wanted_type(accept: str | None) -> str | None:
    """Choose among the types of the simple API.

    Args:
        accept: the header (RFC 9110, section 12.5.1); None where the client sends none, which takes anything.

    Returns:
        `JSON_TYPE`, `TEXT_TYPE`, `HTML_TYPE`, or None where the client takes none of them.
    """
    weights = dict(map(_read_range, (accept or "*/*").split(",")))
    wanted = {kind: _weight_of(names, weights) for kind, names in _NAMES.items()}
    best = max(wanted, key=wanted.__getitem__)
    return best if wanted[best] else None


def _weight_of(names: tuple[str, ...], weights: dict[str, float]) -> float:
    return next((weights[name] for name in names if name in weights), 0.0)


def _read_range(asked: str) -> tuple[str, float]:
    """Read one range of media types; a weight that cannot be read counts as none."""
    kind, *parameters = (part.strip().lower() for part in asked.split(";"))
    given = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
    return kind, float(given) if _WEIGHT.fullmatch(given) else 1.0
