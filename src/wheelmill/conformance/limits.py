"""The limits of this check itself, which no PEP has."""

from __future__ import annotations

from typing import Final

from wheelmill.conformance.violation import Severity, installs, rule
from wheelmill.system.apart import Limits

LIMITS: Final = Limits()
"""Of reading one page in its forms. A list of 700,000 projects takes a sixth of the time and half of the memory."""

READABLE: Final = rule(
    "wheelmill.1",
    "A page is read within 30 s of CPU time and 2048 MiB of memory.",
    installs("goes through its tags and builds no document"),
    otherwise=Severity.ERROR,
    section="What it does",
)
