from pathlib import Path

import pytest

from wheelmill.client.project.pyproject import Pyproject
from wheelmill.client.project.table import complete_project_table, specifiers_of
from wheelmill.errors import UsageError
from wheelmill.names import PythonVersion


@pytest.mark.parametrize(
    ("constraint", "specifiers"),
    [
        ("^1.2.3", "<2,>=1.2.3"),
        ("^0.2.3", "<0.3,>=0.2.3"),
        ("^0.0.3", "<0.0.4,>=0.0.3"),
        ("^0", "<1,>=0"),
        ("^3.11", "<4,>=3.11"),
        ("~1.2.3", "<1.3,>=1.2.3"),
        ("~1", "<2,>=1"),
        ("~=1.2", "~=1.2"),
        ("1.2.*", "==1.2.*"),
        ("1.2", "==1.2"),
        (">=1,<2", "<2,>=1"),
        ("*", ""),
    ],
)
def test_constraints_are_specifiers(constraint: str, specifiers: str) -> None:
    assert specifiers_of(constraint) == specifiers


@pytest.mark.parametrize("constraint", ["^1 || ^2", "latest", "^"])
def test_what_cannot_be_said_is_refused(constraint: str) -> None:
    with pytest.raises(ValueError, match=r"constraint|alternatives"):
        specifiers_of(constraint)


def test_every_dependency_that_cannot_be_carried_over_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\na = {git = "https://x.example"}\n'
        'b = ["^1", "^2"]\nc = {version = "^1", extras = ["z"], markers = "sys_platform == \'linux\'"}\n'
    )
    with pytest.raises(UsageError) as raised:
        complete_project_table(Pyproject.read(path), [PythonVersion(3, 12)])
    assert [line.split(": ")[1] for line in str(raised.value).splitlines()] == [
        "tool.poetry.dependencies.a",
        "tool.poetry.dependencies.b",
    ]
