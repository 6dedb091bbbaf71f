"""The pages of docs/reference say what the code does."""

import re
from copy import deepcopy
from fnmatch import fnmatchcase
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from tests.reference.__main__ import REFERENCE, broken, stale
from tests.reference.compatibility import compatibility_page, span
from tests.reference.described import described
from tests.reference.exits import EXITS
from tests.reference.formats import WHERE, printed_by
from tests.reference.outputs import outputs
from tests.reference.pictures import WIDTH, pictures
from tests.reference.schemas import Schema, broken_promises, schema_of
from tests.reference.variables import variables_named, variables_read
from wheelmill import cli, errors
from wheelmill.config.load import load_compatibility
from wheelmill.wheel.gpu_code import CARDS

SOURCE = REFERENCE.parents[1] / "src" / "wheelmill"


def first_cells(page: str) -> list[str]:
    """The first cell of each row of every table."""
    rows = re.findall(r"^\| (.+?) \|", (REFERENCE / page).read_text(), re.MULTILINE)
    return [row for row in rows if row not in {"code", "variable"}]


def test_no_published_schema_loses_what_it_promised() -> None:
    assert broken() == {}, "programs rely on these: give the output another number"


def test_what_is_made_is_current() -> None:
    assert [*stale()] == [], "python -m tests.reference --write"


@pytest.mark.parametrize("name", pictures())
def test_a_picture_is_xml_whose_text_stays_within_it(name: str) -> None:
    root = ET.fromstring(pictures()[name])  # noqa: S314 - our own
    lines = [
        (int(line.attrib["x"]), "".join(line.itertext())) for line in root.iter("{http://www.w3.org/2000/svg}text")
    ]
    assert lines
    assert [line for x, line in lines if x + WIDEST * len(line) > WIDTH] == []


def test_every_cuda_torch_and_gpu_has_a_row() -> None:
    page, facts = compatibility_page(), load_compatibility(SOURCE.parents[1] / "config")
    assert [cuda for cuda in facts.cuda.releases if f"\n| {cuda} | " not in page] == []
    assert [torch for torch in facts.torch.releases if f"\n| {torch} | " not in page] == []
    assert [gpu for gpu in CARDS if f"| {gpu} (`{gpu.sm}`) |" not in page] == []


def test_values_with_a_gap_are_listed() -> None:
    assert [span(values, [1, 2, 3, 4]) for values in ([], [1], [1, 2, 3], [1, 3])] == ["none", "1", "1 to 3", "1, 3"]


@pytest.mark.parametrize("name", outputs())
def test_a_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(schema_of(name))
    assert schema_of(name)["properties"]["schema"]["const"] == name
    assert "schema" in schema_of(name)["required"]


def test_every_output_that_the_source_names_has_a_schema() -> None:
    named = {
        name for file in SOURCE.rglob("*.py") for name in re.findall(r'"(wheelmill\.[a-z-]+/\d)"', file.read_text())
    }
    of_our_own = {"wheelmill.torch-symbols/2", "wheelmill.uploaded-site/1"}
    assert named - outputs().keys() == of_our_own
    assert outputs().keys() - named == set()
    assert all(printed_by(name) for name in outputs() if name not in WHERE)


def test_every_exit_code_is_explained() -> None:
    codes = {each.exit_code for each in vars(errors).values() if isinstance(each, type) and hasattr(each, "exit_code")}
    assert list(map(int, first_cells("exit-codes.md"))) == sorted({0, *codes})


def test_commands_have_the_exit_codes_that_their_help_names() -> None:
    found = {each.path: each for each in described() if not hasattr(each.command, "commands")}
    assert found.keys() == EXITS.keys()
    for path, each in found.items():
        texts = [each.command.help or "", *(parameter.help or "" for parameter in each.parameters)]
        named = {int(code) for text in texts for code in re.findall(r"[Ee]xits? with (\d+)", text)}
        assert named - {0, 1, 2, *EXITS[path]} == set(), path


def test_every_variable_that_is_read_is_explained_and_no_other() -> None:
    explained = [name for cell in first_cells("environment-variables.md") for name in re.findall(r"`([^`]+)`", cell)]
    assert sorted(explained) == sorted(variables_read())


def test_every_variable_of_ours_that_a_workflow_or_a_script_names_is_explained() -> None:
    pages = (REFERENCE / "environment-variables.md", REFERENCE.parent / "your-own-factory.md")
    explained = [name for page in pages for name in re.findall(r"`(WHEELMILL_[A-Z_]+\*?)`", page.read_text())]
    assert {name for name in variables_named() if not any(fnmatchcase(name, each) for each in explained)} == set()


WIDEST = 7.8
"""Pixels of a letter that are enough for every font here."""

OLD = schema_of("wheelmill.resolve/1")


def changed(where: str, **changes: object) -> Schema:
    """The same schema with a change at one of its properties, or at one of a kind of object in it."""
    new = deepcopy(OLD)
    kind, _, key = where.rpartition(".")
    properties = (new["$defs"][kind] if kind else new)["properties"]
    if changes:
        properties[key] = changes
    else:
        del properties[key]
    return new


@pytest.mark.parametrize(
    ("new", "broken"),
    [
        (changed("warnings"), ["warnings is gone"]),
        (changed("Chosen.url"), ["resolved[].url is gone"]),
        (changed("Chosen.url", type="integer"), ["resolved[].url may be integer"]),
        (changed("Chosen.url", anyOf=[{"type": "string"}, {"type": "null"}]), ["resolved[].url may be null"]),
        (changed("Chosen.url", description="Anything."), ["resolved[].url may be anything"]),
        (changed("schema", type="string", const="wheelmill.resolve/2"), ["schema is no longer 'wheelmill.resolve/1'"]),
        (OLD | {"required": []}, [f"{key} may be missing" for key in OLD["properties"]]),
        (changed("Chosen.size", type="integer"), []),
        (changed("Chosen.mirror", type="string"), []),
        (OLD, []),
    ],
)
def test_a_change_that_breaks_a_promise_is_noticed(new: Schema, broken: list[str]) -> None:
    assert sorted(broken_promises(OLD, new)) == sorted(broken)


def test_the_page_of_commands_has_them_all() -> None:
    page = (REFERENCE / "commands.md").read_text()
    assert [name for name in cli.COMMANDS if f"\n## wheelmill {name}\n" not in page] == []
