"""docs/package-keys.md has every key of an entry, its default, and an example that really ships or could."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from wheelmill.config.load import load_config
from wheelmill.config.model.package import PackageEntry
from wheelmill.config.model.package_parts import BUILD_DEFAULTS
from wheelmill.names import project_name
from wheelmill.system import own_installation

TEXT = (Path(__file__).parents[2] / "docs" / "package-keys.md").read_text()
KEYS = sorted(field.name for field in dataclasses.fields(PackageEntry))
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))
ROWS = [
    (re.findall(r"`(\w+)`", keys), default, example)
    for keys, _, default, example in re.findall(r"^\| (.+) \| (.+) \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)
    if keys.startswith(("`", "["))
]
COMMANDS = [(keys, re.findall(r"`([^`]+)`", example) or [""]) for keys, _, example in ROWS]
CELLS = {key: text for keys, texts in COMMANDS for key, text in zip(keys, texts, strict=True)}
FILE: dict[str, dict[str, Any]] = yaml.safe_load((own_installation.CONFIG / "packages.yml").read_text())
TAKEN = {key: FILE["defaults"][key] for key in BUILD_DEFAULTS}
SHIPPED: dict[str, dict[str, Any]] = {name: TAKEN | entry for name, entry in FILE["packages"].items()}
IN_NO_ENTRY = sorted(set(KEYS) - {key for entry in SHIPPED.values() for key in entry})


def example_of(key: str) -> Any:
    """The value in the key's row, or below its heading."""
    if text := CELLS[key]:
        return yaml.safe_load(text)
    (block,) = re.findall(r"```yaml\n(.*?)```", SECTIONS[key], re.DOTALL)
    ((_, entry),) = yaml.safe_load(block).items()
    assert list(entry) == [key]
    return entry[key]


def test_every_key_has_a_row_and_nothing_else_has() -> None:
    assert sorted(key for keys, _, _ in ROWS for key in keys) == KEYS


def test_a_row_leads_to_what_is_said_below() -> None:
    assert re.findall(r"^\| \[`(\w+)`\]\(#\1\)", TEXT, re.MULTILINE) == list(SECTIONS)


@pytest.mark.parametrize("key", sorted(set(KEYS) - set(IN_NO_ENTRY)))
def test_an_example_is_of_a_shipped_entry(key: str) -> None:
    assert example_of(key) in [entry[key] for entry in SHIPPED.values() if key in entry]


def test_examples_that_no_shipped_entry_has_are_no_faults(tmp_path: Path) -> None:
    examples = {key: example_of(key) for key in IN_NO_ENTRY}
    entry = {"versions": ["1.0"], "extra_deps": ["torch"], **examples}
    (tmp_path / "packages.yml").write_text(yaml.safe_dump({"packages": {"demo": entry}}))
    script = tmp_path / entry["smoke_script"]
    script.parent.mkdir()
    script.write_text("")
    package = load_config(tmp_path).packages[project_name("demo")]
    assert package.timeout == entry["timeout"] * 60
