"""docs/package-keys.md has every key of an entry, its default, and an example that really ships or could."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from wheelmill.config.load import load_config
from wheelmill.config.model.package import PackageEntry
from wheelmill.names import project_name
from wheelmill.system import own_installation

TEXT = (Path(__file__).parents[2] / "docs" / "package-keys.md").read_text()
KEYS = {field.name for field in dataclasses.fields(PackageEntry)}
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))
SHIPPED: dict[str, dict[str, Any]] = yaml.safe_load((own_installation.CONFIG / "packages.yml").read_text())["packages"]
DEMO = "demo"
"""What has the example of a key that no shipped entry has."""


def example_of(key: str) -> tuple[str, dict[str, Any]]:
    """The package that an example is of, and what it says there."""
    if blocks := re.findall(r"```yaml\n(.*?)```", SECTIONS[key], re.DOTALL):
        ((package, entry),) = yaml.safe_load(blocks[0]).items()
        return package, entry
    ((package, text),) = re.findall(r"Example(?:\s\((\S+)\))?:\s`([^`]+)`", SECTIONS[key])
    return package or DEMO, yaml.safe_load(text)


def test_every_key_has_a_section_and_a_place_in_the_first_table_and_no_other_has() -> None:
    first_table = TEXT.partition("\n## ")[0]
    assert set(SECTIONS) == KEYS
    assert sorted(re.findall(r"\[`(\w+)`\]\(#\1\)", first_table)) == sorted(KEYS)


@pytest.mark.parametrize("key", sorted(KEYS))
def test_a_key_says_what_it_is_where_nobody_writes_it(key: str) -> None:
    assert "**Default:**" in SECTIONS[key] or "**Required**" in SECTIONS[key]


@pytest.mark.parametrize("key", sorted(KEYS))
def test_an_example_is_of_a_shipped_entry_where_one_has_the_key(key: str) -> None:
    package, entry = example_of(key)
    assert list(entry) == [key]
    if package == DEMO:
        assert [name for name, each in SHIPPED.items() if key in each] == []
    else:
        assert SHIPPED[package][key] == entry[key]


def test_examples_that_no_shipped_entry_has_are_no_faults(tmp_path: Path) -> None:
    examples = {
        key: value for key in KEYS for name, entry in [example_of(key)] for value in entry.values() if name == DEMO
    }
    entry = {"versions": ["1.0"], "extra_deps": ["torch"], **examples}
    (tmp_path / "packages.yml").write_text(yaml.safe_dump({"packages": {DEMO: entry}}))
    script = tmp_path / entry["smoke_script"]
    script.parent.mkdir()
    script.write_text("")
    package = load_config(tmp_path).packages[project_name(DEMO)]
    assert examples.keys() <= KEYS
    assert package.timeout == entry["timeout"] * 60
