"""The table in docs/architecture.md of what a change touches, counted again by the examples that it names."""

import ast
import re
from pathlib import Path

import pytest

from tests.source_code import ROOT, nodes

MAP = Path(__file__).parents[2] / "docs" / "architecture.md"
EXAMPLES = {"shards_per_wheel": ("",), "nvcc_flags": ("",), "metadata_sha256": ("index/", "release/manifest/")}
"""Names that mean one thing in all of the source, with the rooms in which a row follows them."""


def says(node: ast.AST, name: str) -> bool:
    """Return whether a node is a field, an attribute, an argument or a key of this name."""
    match node:
        case ast.Attribute(attr=said) | ast.keyword(arg=said) | ast.Constant(value=said):
            return said == name
        case ast.AnnAssign(target=ast.Name(id=said)):
            return said == name
        case _:
            return False


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_change_like_the_example_touches_the_files_of_its_row(name: str) -> None:
    row = re.search(rf"^\| .+? \| (\d+) \| as `{name}`: (.+?)\.? (?:On|Where|\|)", MAP.read_text(), re.MULTILINE)
    assert row, f"no row follows {name}"
    files = {path.relative_to(ROOT).as_posix() for path, node in nodes() if says(node, name)}
    touched = {file for file in files if file.startswith(EXAMPLES[name])}
    assert set(re.findall(r"`([\w/]+\.py)`", row[2])) == touched
    assert int(row[1]) == len(touched)


def test_the_key_that_pages_show_as_well_touches_as_many_more_as_the_table_says() -> None:
    shown, plain = ({path for path, node in nodes() if says(node, name)} for name in ("cxx_standard", "nvcc_flags"))
    assert f"as `cxx_standard`: {len(shown - plain)} more" in MAP.read_text()
