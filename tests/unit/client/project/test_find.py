"""Which kind of project a folder is: what lies there decides, and nothing is asked of any tool."""

import os
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.client.project.find import find_project
from wheelmill.errors import UsageError

PLAIN = '[project]\nname = "x"\nversion = "1"\n'
BY_UV = "home = /usr/bin\nuv = 0.13.8\n"
BY_HAND = "home = /usr/bin\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT"):
        monkeypatch.delenv(name, raising=False)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("files", "kind", "path"),
    [
        ({}, "uv project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN}, "uv project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN, ".venv/pyvenv.cfg": BY_UV}, "uv project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN, ".venv/pyvenv.cfg": BY_HAND}, "project without a tool of its own", "pyproject.toml"),
        ({"pyproject.toml": PLAIN, ".venv/pyvenv.cfg": BY_HAND, "uv.lock": ""}, "uv project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN + "[tool.uv]\n"}, "uv project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN + "[tool.poetry]\n"}, "poetry project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN, "poetry.lock": ""}, "poetry project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN + "[tool.pdm]\n"}, "pdm project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN + "[tool.pdm]\n", "uv.lock": ""}, "uv project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN + "[tool.hatch.envs.default]\n"}, "hatch project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN, "hatch.toml": "[envs.default]\n"}, "hatch project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN + "[tool.hatch.build]\n"}, "uv project", "pyproject.toml"),
        ({"pyproject.toml": PLAIN, "hatch.toml": "[build]\n"}, "uv project", "pyproject.toml"),
        ({"requirements.txt": "rich\n"}, "requirements file", "requirements.txt"),
        ({"requirements.txt": "", "pyproject.toml": "[tool.ruff]\n"}, "requirements file", "requirements.txt"),
        ({"requirements.txt": "", "pyproject.toml": PLAIN}, "uv project", "pyproject.toml"),
        ({".venv/pyvenv.cfg": BY_HAND}, "virtual environment", ".venv/wheelmill-requirements.txt"),
        ({"env/conda-meta/history": ""}, "conda environment", "env/wheelmill-requirements.txt"),
    ],
)
def test_the_kind_of_a_project(files: dict[str, str], kind: str, path: str, folder: Path) -> None:
    write(folder, files)
    found = find_project(None)
    assert (found.kind, found.path) == (kind, folder / path)


@pytest.mark.parametrize(
    "files",
    [
        {"Pipfile": ""},
        {"pixi.toml": ""},
        {"environment.yml": ""},
        {"setup.py": "", "pyproject.toml": "[build-system]\n"},
        {"pyproject.toml": PLAIN + "[tool.pixi.workspace]\n"},
    ],
)
def test_what_cannot_be_changed_is_refused(files: dict[str, str], folder: Path) -> None:
    write(folder, files)
    with pytest.raises(UsageError, check=coded("project-unsupported")):
        find_project(None)


def test_a_member_belongs_to_its_workspace(folder: Path) -> None:
    write(
        folder,
        {
            "pyproject.toml": PLAIN + '[tool.uv.workspace]\nmembers = ["all/*", "tool"]\nexclude = ["all/old"]\n',
            "all/a/pyproject.toml": PLAIN,
            "all/old/pyproject.toml": PLAIN,
            "tool/pyproject.toml": PLAIN,
        },
    )
    assert find_project(folder / "tool").root == folder
    member = find_project(folder / "all" / "a")
    assert (member.kind, member.root) == ("uv workspace member", folder)
    assert member.files == (folder / "all" / "a" / "pyproject.toml", folder / "uv.lock")
    assert member.environment == folder / ".venv"
    assert find_project(folder / "all" / "old").root == folder / "all" / "old"
    assert find_project(None).kind == "uv project"


def test_conda_itself_is_not_changed_if_active(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "base", {"conda-meta/history": "", "condabin/conda": ""})
    write(tmp_path / "mine", {"conda-meta/history": ""})
    monkeypatch.setenv("CONDA_PREFIX", os.fspath(tmp_path / "base"))
    assert find_project(None).path == folder / "pyproject.toml"
    monkeypatch.setenv("CONDA_PREFIX", os.fspath(tmp_path / "mine"))
    assert find_project(None).kind == "conda environment"
    assert find_project(tmp_path / "base").kind == "conda environment"


@pytest.mark.parametrize("members", ["3", "[3]", '["/abs*"]', '[""]'])
def test_a_workspace_whose_members_are_no_patterns_is_told(members: str, folder: Path) -> None:
    write(folder.parent, {"pyproject.toml": f"[tool.uv.workspace]\nmembers = {members}\n"})
    write(folder, {"pyproject.toml": PLAIN})
    with pytest.raises(UsageError, check=coded("workspace-invalid", "tool.uv.workspace.members")):
        find_project(None)


def test_an_environment_whose_configuration_is_no_text_is_not_of_uv(folder: Path) -> None:
    write(folder, {"pyproject.toml": PLAIN, ".venv/pyvenv.cfg": ""})
    (folder / ".venv" / "pyvenv.cfg").write_bytes(b"\xff")
    assert find_project(None).kind == "project without a tool of its own"


BY_UV_COMPILE = (
    "# This file was autogenerated by uv via the following command:\n#    uv pip compile {} -o requirements.txt\n"
)
BY_PIP_COMPILE = "#\n# This file is autogenerated by pip-compile with Python 3.12\n#\n#    pip-compile {}\n#\n"


@pytest.mark.parametrize("header", [BY_UV_COMPILE, BY_PIP_COMPILE])
@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("requirements.in", "requirements.in"),
        ("sub/requirements.in", "requirements.in"),
        ("pyproject.toml", "requirements.txt"),
        ("gone.in", "requirements.txt"),
        ("requirements.in other.in", "requirements.txt"),
    ],
)
def test_of_a_compiled_file_its_source_is_edited(header: str, words: str, path: str, folder: Path) -> None:
    files = {"requirements.txt": header.format(words) + "rich==1\n", "requirements.in": "rich", "other.in": ""}
    write(folder, files)
    for given in (None, folder / "requirements.txt"):
        assert find_project(given).path == folder / path
    assert {name: (folder / name).read_text() for name in files} == files


def test_a_file_by_hand_is_edited_itself(folder: Path) -> None:
    write(folder, {"requirements.txt": "# requirements.in is not its source\nrich\n", "requirements.in": "rich"})
    assert find_project(None).path == folder / "requirements.txt"
