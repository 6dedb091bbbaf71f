"""Poetry's own words for dependencies. Poetry's constraints."""

import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.refusals import coded
from tests.unit.client.targets import ARM, CHOSEN, FLASH_ATTN, LINUX, candidate, resolution
from wheelmill.client.project.change import add_wheels, remove_packages
from wheelmill.client.project.declared import read_declared, torch_indexes
from wheelmill.client.project.pyproject import EXTRAS, GROUPS, PyprojectEditor, UvPyproject
from wheelmill.client.project.tools import HatchProject, PdmPyproject, PoetryPyproject, specifiers_of
from wheelmill.client.records import Resolution
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, CudaVersion, ProjectName, project_name

FLASH = project_name("flash-attn")
PLAIN = '[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.11"\n'
PROJECT = "[tool.poetry.dependencies]\ntorch = {torch}\n\n[tool.other]\n"


def torch_after_adding(torch: str, folder: Path) -> tuple[object, str]:
    """How a project from before Poetry 2 depends on torch when a wheel was added, and all of its file."""
    path = folder / "pyproject.toml"
    path.write_text(PROJECT.format(torch=torch))
    add_wheels(PoetryPyproject.read(path), [Requirement("flash-attn")], [CHOSEN]).write()
    table = PoetryPyproject.read(path).table("tool", "poetry", "dependencies") or {}
    return table["torch"], path.read_text()


def test_torch_of_a_source_of_a_persons_own_stays_there(tmp_path: Path) -> None:
    torch, text = torch_after_adding('{ version = "^2.0", source = "near", optional = true }', tmp_path)
    assert torch == {"version": "==2.11.*", "source": "near", "optional": True}
    assert "torch.example" not in text


def test_torch_with_extras_and_no_source_gets_one(tmp_path: Path) -> None:
    torch, text = torch_after_adding('{ version = "^2.0", extras = ["opt"] }', tmp_path)
    assert torch == {"version": "==2.11.*", "extras": ["opt"], "source": "wheelmill-pytorch-cu130"}
    assert "torch.example" in text


@pytest.mark.parametrize(
    "torch",
    [
        *("'^2.0'  # mine", '">=2.0,<3"', '{ version = "^2.0", extras = ["opt"] }'),
        *('{version="^2.0", source = "near"}', '[{version="^2.0", markers="os_name == \'posix\'"}]'),
        *("'2.11.0'  # narrow", "['2.11.0', {version=\"2.11.1\", markers=\"os_name == 'nt'\"}]  # narrow"),
    ],
)
def test_how_a_person_wrote_torch_comes_back(torch: str, tmp_path: Path) -> None:
    torch_after_adding(torch, tmp_path)
    remove_packages(PoetryPyproject.read(tmp_path / "pyproject.toml"), [FLASH]).write()
    assert (tmp_path / "pyproject.toml").read_text() == PROJECT.format(torch=torch)


@pytest.mark.parametrize("torch", ["'~2.11'  # mine", '{version = "^2.11", source = "near"}'])
@pytest.mark.parametrize("chosen", [CHOSEN, resolution(FLASH_ATTN)])
def test_torch_in_a_table_of_a_group_comes_back(torch: str, chosen: Resolution, tmp_path: Path) -> None:
    path, group = tmp_path / "pyproject.toml", (*GROUPS, "train")
    had = f"{PLAIN}dependencies = []\n\n[tool.poetry.group.train.dependencies]\ntorch = {torch}\n"
    path.write_text(had)
    pyproject = PoetryPyproject.read(path)
    pyproject.choose_list(group)
    add_wheels(pyproject, [Requirement("flash-attn")], [chosen]).write()
    added = PoetryPyproject.read(path)
    assert added.lists == {TORCH: group, FLASH: group}
    assert added.table(*GROUPS) is None
    remove_packages(added, [FLASH]).write()
    assert path.read_text() == had


@pytest.mark.parametrize(
    "text",
    [
        PROJECT.format(torch="[{version = '2.11.0', markers = 'a'}, {version = '2.11.1', markers = 'b'}]"),
        PROJECT.format(torch="[\n  '2.11.0',  # first\n  {version = '2.11.1', markers = 'b'},\n]"),
        "".join(f"[[tool.poetry.dependencies.torch]]\nversion = '2.11.{patch}'\n" for patch in (0, 1)),
        "[tool.poetry.dependencies.torch]\nversion = '2.11.0'\n",
    ],
    ids=["array", "array of a string", "array of tables", "table"],
)
def test_an_entry_of_torch_for_the_target_gets_the_source_and_loses_it_again(text: str, tmp_path: Path) -> None:
    """One dependency on torch for each platform, narrow enough to stay as it is."""
    path = tmp_path / "pyproject.toml"
    path.write_text(text.replace("'a'", "\"os_name == 'posix'\"").replace("'b'", "\"os_name == 'nt'\""))
    before = PoetryPyproject.read(path).dependencies_on(TORCH)
    add_wheels(PoetryPyproject.read(path), [Requirement("flash-attn")], [CHOSEN]).write()
    assert PoetryPyproject.read(path).dependencies_on(TORCH) == before
    assert path.read_text().count('source = "wheelmill-pytorch-cu130"') == sum('"nt"' not in each for each in before)
    assert path.read_text().count("https://torch.example/cu130") == 1
    remove_packages(PoetryPyproject.read(path), [FLASH]).write()
    assert PoetryPyproject.read(path).dependencies_on(TORCH) == before
    assert "wheelmill" not in path.read_text()


def test_torch_of_each_platform_comes_from_its_own_source(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch='"^2.0"'))
    chosen = [
        replace(
            resolution(
                candidate(f"flash_attn-2.8.3+{cuda.tag}torch2.11-cp312-cp312-{target.platform}.whl"), environment=target
            ),
            torch_backend=cuda.tag,
            torch_index=f"https://torch.example/{cuda.tag}",
        )
        for cuda, target in ((CudaVersion(13, 0), LINUX), (CudaVersion(12, 8), ARM))
    ]
    add_wheels(PoetryPyproject.read(path), [Requirement("flash-attn")], chosen).write()
    table = PoetryPyproject.read(path).table("tool", "poetry", "dependencies") or {}
    assert [(each["version"], each["source"]) for each in table["torch"]] == [
        ("==2.11.*", "wheelmill-pytorch-cu130"),
        ("==2.11.*", "wheelmill-pytorch-cu128"),
    ]
    remove_packages(PoetryPyproject.read(path), [FLASH]).write()
    assert path.read_text().splitlines() == ["[tool.poetry.dependencies]", 'torch = "^2.0"', "", "[tool.other]"]


def test_torch_of_a_group_has_its_source_in_poetrys_table_of_that_group(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.poetry.dependencies]\nrich = "*"\n')
    pyproject = PoetryPyproject.read(path)
    pyproject.choose_list((*GROUPS, "train"))
    add_wheels(pyproject, [Requirement("flash-attn")], [CHOSEN]).write()
    found = tomllib.loads(path.read_text())
    torch = found["tool"]["poetry"]["group"]["train"]["dependencies"]["torch"]
    assert torch["source"] == "wheelmill-pytorch-cu130"
    assert [each.partition(" ")[0] for each in found["dependency-groups"]["train"]] == ["flash-attn", "torch==2.11.*"]
    remove_packages(PoetryPyproject.read(path), [FLASH]).write()
    assert tomllib.loads(path.read_text()) == {
        "tool": {"poetry": {"dependencies": {"rich": "*"}}},
        "dependency-groups": {"train": []},
    }
    with pytest.raises(UsageError, check=coded("toml-form-unsupported")):
        PoetryPyproject.read(path).choose_list((*EXTRAS, "gpu"))


@pytest.mark.parametrize("torch", ['"^2.0"', '"2.11.0"'])
@pytest.mark.parametrize("steps", [[[FLASH, TORCH]], [[TORCH], [FLASH]]], ids=["at once", "torch first"])
def test_torch_that_is_removed_does_not_come_back(torch: str, steps: list[list[ProjectName]], tmp_path: Path) -> None:
    torch_after_adding(torch, tmp_path)
    for step in steps:
        remove_packages(PoetryPyproject.read(tmp_path / "pyproject.toml"), step).write()
    assert (tmp_path / "pyproject.toml").read_text() == "[tool.poetry.dependencies]\n\n[tool.other]\n"


def test_torch_in_a_table_of_its_own_comes_back_in_meaning(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[[tool.poetry.dependencies.torch]]\nversion = "^2.0"\n')
    add_wheels(PoetryPyproject.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN)]).write()
    remove_packages(PoetryPyproject.read(path), [FLASH]).write()
    assert PoetryPyproject.read(path).dependencies_on(project_name("torch")) == ["torch<3,>=2.0"]


def test_torch_that_a_person_changed_stays_and_leaves_the_index_of_ours(tmp_path: Path) -> None:
    _, text = torch_after_adding('"^2.0"', tmp_path)
    (tmp_path / "pyproject.toml").write_text(text.replace('"==2.11.*"', '"~2.11.1"'))
    remove_packages(PoetryPyproject.read(tmp_path / "pyproject.toml"), [FLASH]).write()
    after = (tmp_path / "pyproject.toml").read_text()
    assert 'version = "~2.11.1"' in after
    assert "tool.wheelmill" not in after


def test_a_note_of_torch_that_was_spoilt_is_told(tmp_path: Path) -> None:
    _, text = torch_after_adding('"^2.0"', tmp_path)
    (tmp_path / "pyproject.toml").write_text(text.replace('"\\"^2.0\\""', '"^2.0"'))
    with pytest.raises(UsageError, check=coded("saved-table-invalid", "torch-as-written")):
        remove_packages(PoetryPyproject.read(tmp_path / "pyproject.toml"), [FLASH])


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


def pdm_project(sources: str, folder: Path) -> PdmPyproject:
    path = folder / "pyproject.toml"
    path.write_text(f'[project]\nname = "x"\nversion = "1"\n\n[tool.pdm]\nsource = {sources}\n')
    return PdmPyproject.read(path)


def test_sources_of_pdm_are_for_all_packages_or_for_those_that_they_name(tmp_path: Path) -> None:
    named = '{name = "cu126", url = "https://a.example/cu126", include_packages = ["torch"]}'
    other = '{name = "other", url = "https://b.example/", include_packages = ["flash-attn"]}'
    project = pdm_project(f'[{named}, {other}, {{name = "all", url = "https://c.example/"}}]', tmp_path)
    assert torch_indexes(read_declared([tmp_path])) == ["https://a.example/cu126"]
    by_hand = [project.has_source_by_hand(each, ()) for each in (TORCH, FLASH, project_name("numpy"))]
    assert by_hand == [True, True, False]


@pytest.mark.parametrize("sources", ["5", "{}", '["https://a.example/"]', "[5, {}]"])
def test_sources_of_pdm_that_are_no_tables_are_named(sources: str, tmp_path: Path) -> None:
    project = pdm_project(sources, tmp_path)
    with pytest.raises(UsageError, check=coded("table-invalid", "tool.pdm.source")):
        read_declared([tmp_path])
    with pytest.raises(UsageError, check=coded("table-invalid", "tool.pdm.source")):
        project.draw_from(FLASH, [])


@pytest.mark.parametrize("editor", [UvPyproject, PoetryPyproject, PdmPyproject, PyprojectEditor])
@pytest.mark.parametrize(
    "below",
    [
        "[build-system]\nrequires = []\n",
        "[tool.uv]\npackage = false\n\n[tool.uv.sources]\nmine = { path = 'mine' }\n\n[tool.other]\nkey = 1\n",
        "\n[tool.poetry]\n\n\n[[tool.poetry.source]]\nname = 'a'\nurl = 'https://a.example/simple'\n\n\n[tool.other]\n",
        "[tool.hatch.envs.default]\ntype = '''\n[virtual]\n\n'''\n",
    ],
)
def test_tables_leave_no_extra_blank_lines(editor: type[PyprojectEditor], below: str, tmp_path: Path) -> None:
    path, had = tmp_path / "pyproject.toml", f"[project]\nname = 'x'\nversion = '1'\ndependencies = []\n\n{below}"
    path.write_text(had)
    add_wheels(editor.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN)]).write()
    lines = path.read_text().splitlines()
    dense = [line for above, line in pairwise(lines) if line.startswith("[") and above and line != "[virtual]"]
    assert (dense, lines[-1] == "") == ([], False)
    remove_packages(editor.read(path), [FLASH]).write()
    assert path.read_text() == had


@pytest.mark.parametrize("editor", [UvPyproject, PoetryPyproject, PdmPyproject, PyprojectEditor])
@pytest.mark.parametrize("listed", ["dependencies = ['six'] # one\n", "dependencies = [\n  'six',\n]\n"])
@pytest.mark.parametrize("below", ["", "[build-system]\nrequires = []\n[tool.other]\nkey = 1\n"])
def test_removal_leaves_no_blank_line(editor: type[PyprojectEditor], listed: str, below: str, tmp_path: Path) -> None:
    path, had = tmp_path / "pyproject.toml", f"[project]\nname = 'x'\nversion = '1'\n{listed}{below}"
    path.write_text(had)
    chosen = resolution(candidate("flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"))
    add_wheels(editor.read(path), [Requirement("flash-attn")], [chosen]).write()
    assert "flash-attn" in path.read_text()
    remove_packages(editor.read(path), [FLASH]).write()
    assert path.read_text() == had


@pytest.mark.parametrize(
    ("own", "is_refused"), [("", True), ("[envs.default]\n", False), ("[envs.default]\nskip-install = true\n", True)]
)
def test_hatch_toml_wins(own: str, *, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hatch").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[tool.hatch.envs.default]\nskip-install = true\n")
    (tmp_path / "hatch.toml").write_text(own)
    project = HatchProject(path=tmp_path / "pyproject.toml", python=None)
    if is_refused:
        with pytest.raises(UsageError, check=coded("hatch-skips-install")):
            project.check_install()
    else:
        project.check_install()
