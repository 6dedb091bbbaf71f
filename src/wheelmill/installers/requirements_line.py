"""Lines of requirements files.

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import re
import shlex
from typing import Final
from urllib.parse import urlsplit

from wheelmill.errors import UsageError
from wheelmill.names import read_requirement

_JOINT: Final = " \\\n    "
_COMMENT: Final = re.compile(r"(^|\s+)#.*$")
_VARIABLE: Final = re.compile(r"\$\{[A-Z0-9_]+\}")


def requirements_line(text: str, *options: str) -> str:
    """Write a requirement (PEP 508) with options, or an option alone; UsageError if pip would read another one."""
    line = _JOINT.join(filter(None, (text, *options)))
    try:
        is_true = _read(line) == (text, [word for each in options for word in each.split(" ", 1)])
        if text:
            name, semicolon, marker = text.partition(";")  # as pip splits it, also within a URL
            requirement = read_requirement(name.strip())
            requirement.marker = read_requirement(f"name {semicolon}{marker}").marker
            urlsplit(requirement.url or "")
            is_true = is_true and requirement == read_requirement(text)
    except ValueError:
        is_true = False
    if not is_true:
        raise UsageError("requirement-ambiguous", f"{line!r:.300} is not one requirement to pip and uv")
    return line


def _read(written: str) -> tuple[str, list[str]]:
    """Read a requirement and the words of its options, as pip does; variables are empty."""
    line = "".join(part.strip("\\") for part in written.splitlines())
    words = _VARIABLE.sub("", _COMMENT.sub("", line)).split(" ")
    start = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    return " ".join(words[:start]).strip(), shlex.split(" ".join(words[start:]))
