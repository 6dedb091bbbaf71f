"""PEP 592: yanked files.

https://peps.python.org/pep-0592/
"""

from __future__ import annotations

from typing import Final

from wheelmill.conformance.finding import Rule, fails, installs

JSON_VALUE: Final = Rule(
    number="592.1",
    says="In JSON, yanked is true, false or a text that is not empty.",
    section="Project Detail, in PEP 691",
    pip=installs("takes the file for not yanked"),
    uv=fails("takes the file for yanked"),
)

RULES: Final = (JSON_VALUE,)
