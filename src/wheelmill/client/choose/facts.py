"""``compatibility.yml`` for the client, which has no time to read YAML."""

from __future__ import annotations

import json

from wheelmill.config.model.compatibility import Compatibility
from wheelmill.system import resources
from wheelmill.system.plain_records import record_of


def read_facts() -> Compatibility:
    """Read the facts that ship, as 'wheelmill config schema --write' made JSON of them."""
    facts: Compatibility = record_of(Compatibility, json.loads((resources.CONFIG / "compatibility.json").read_bytes()))
    return facts
