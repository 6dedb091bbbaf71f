"""``python -m tests.reference --write`` makes the pages and the schemas; without it, it says what is not current."""

import json
import sys
from pathlib import Path

from tests.commands import ROOT
from tests.reference.commands import commands_page
from tests.reference.compatibility import compatibility_page
from tests.reference.formats import json_page, manifest_page
from tests.reference.outputs import outputs
from tests.reference.pictures import pictures
from tests.reference.schemas import broken_promises, content_of, file_of, schema_of

REFERENCE = ROOT / "docs" / "reference"
PICTURES = ROOT / "docs" / "pictures"


def generated() -> dict[Path, str]:
    """The content of every file that is made."""
    pages = {
        "commands.md": commands_page(),
        "compatibility.md": compatibility_page(),
        "json.md": json_page(),
        "manifest.md": manifest_page(),
    }
    schemas = {f"schemas/{file_of(name)}": content_of(name) for name in outputs()}
    return {REFERENCE / name: text for name, text in (pages | schemas).items()} | {
        PICTURES / name: text for name, text in pictures().items()
    }


def broken() -> dict[str, list[str]]:
    """The published promises that the schemas of now do not keep, by name."""
    found = {}
    for name in outputs():
        path = REFERENCE / "schemas" / file_of(name)
        if path.exists() and (lost := broken_promises(json.loads(path.read_text()), schema_of(name))):
            found[name] = lost
    bases = {_base_of(name) for name in outputs()}
    published = [json.loads(path.read_text())["title"] for path in (REFERENCE / "schemas").glob("*.json")]
    return found | {name: ["nothing has it any longer"] for name in published if _base_of(name) not in bases}


def _base_of(name: str) -> str:
    return name.partition("/")[0]


def stale() -> dict[Path, str]:
    """The content of the files that are missing or not current."""
    return {path: text for path, text in generated().items() if not path.exists() or path.read_text() != text}


if __name__ == "__main__":
    if promises := broken():
        lines = [f"{name}: {', '.join(lost)}" for name, lost in promises.items()]
        sys.exit("\n".join((*lines, "Programs rely on these: give such an output another number.")))
    for path, text in stale().items():
        if sys.argv[1:] == ["--write"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        print(path.relative_to(ROOT))  # noqa: T201 - the result
