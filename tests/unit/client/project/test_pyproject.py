"""What is written of a TOML file says what the document says."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.refusals import coded
from tests.unit.client.targets import ARM, FLASH_ATTN_OF_INDEX, INDEX, LINUX, LINUX_313, SHA, candidate, resolution
from wheelmill.client.lock.pins import Pin, pins_of
from wheelmill.client.project.change import Edit, add_wheels, remove_packages
from wheelmill.client.project.pyproject import EXTRAS, GROUPS, PROJECT_LIST, PyprojectEditor, UvPyproject
from wheelmill.client.project.toml_tables import TomlTables
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, CudaVersion, ProjectName, TorchVersion, project_name

FLASH = project_name("flash-attn")
MARKER = "sys_platform == 'linux' and platform_machine == 'x86_64'"

PLAIN = candidate("flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl", source=INDEX)
OF_INDEX = pins_of([resolution(PLAIN)])[FLASH]

COMMENTED = """\
# about this file
[project]
name = "mine"   # ours
dependencies = [
    # the framework
    "torch==2.5.0",  # pinned
    "flash-attn~=2.7", # fast
    "rich",
]

[tool.ruff]
line-length = 100 # wide
"""


def read(tmp_path: Path, text: str) -> PyprojectEditor:
    (tmp_path / "pyproject.toml").write_text(text)
    return UvPyproject.read(tmp_path / "pyproject.toml")


def test_a_dependency_is_replaced_where_it_stands_and_comments_stay(tmp_path: Path) -> None:
    """gpkg 0.4.3 appends a second flash-attn and leaves torch==2.5.0 beside wheels for torch 2.8."""
    pyproject = read(tmp_path, COMMENTED)
    for project, pins in pins_of([resolution(FLASH_ATTN_OF_INDEX)]).items():
        pyproject.pin(project, pins)
    assert (
        pyproject.text
        == """\
# about this file
[project]
name = "mine"   # ours
dependencies = [
    # the framework
    "torch==2.11.* ; sys_platform == 'linux' and platform_machine == 'x86_64'",  # pinned
    "flash-attn==2.8.3+cu130torch2.11 ; sys_platform == 'linux' and platform_machine == 'x86_64'", # fast
    "rich",
]

[tool.ruff]
line-length = 100 # wide

[tool.uv.sources]
flash-attn = {index = "wheelmill-wheels"}

[[tool.uv.index]]
name = "wheelmill-wheels"
url = "https://wheels.example/simple/"
explicit = true
"""
    )


def test_other_spellings_are_the_same_project_and_its_pins_stand_together(tmp_path: Path) -> None:
    pyproject = read(tmp_path, '[project]\ndependencies = ["a", "Flash_Attn>=2", "z", "flash.attn<3", "b"]\n')
    pyproject.pin(FLASH, [Pin(requirement="flash-attn==1")])
    assert [str(each) for each in pyproject.requirements] == ["a", "flash-attn==1", "z", "b"]
    pyproject.pin(FLASH, [Pin(requirement="flash-attn==1"), Pin(requirement="flash-attn==2")])
    assert [str(each) for each in pyproject.requirements] == ["a", "flash-attn==1", "flash-attn==2", "z", "b"]


@pytest.mark.parametrize(
    ("had", "has"),
    [
        ("flash-attn[test]>=2", f"flash-attn[more,test]==2.8.3 ; {MARKER}"),
        ("flash-attn ; sys_platform == 'linux'", "flash-attn[more]==2.8.3 ; sys_platform == 'linux'"),
    ],
)
def test_extras_and_a_marker_stay(tmp_path: Path, had: str, has: str) -> None:
    pyproject = read(tmp_path, f'[project]\ndependencies = ["{had}"]\n')
    chosen = resolution(PLAIN)
    (choice,) = chosen.choices.values()
    with_extra = replace(chosen, choices={FLASH: replace(choice, extras=frozenset({"more"}))})
    for _ in range(2):
        pyproject.pin(FLASH, pins_of([with_extra])[FLASH])
    assert f'dependencies = ["{has}"]' in pyproject.text


def test_a_new_project_is_for_every_python_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    tags = [(LINUX, "cp312-cp312"), (LINUX_313, "cp313-cp313")]
    resolutions = [
        resolution(candidate(f"flash_attn-2.8.3-{tag}-linux_x86_64.whl"), environment=environment)
        for environment, tag in tags
    ]
    add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], resolutions).write()
    assert tomllib.loads(path.read_text())["project"]["requires-python"] == ">=3.12,<3.14"


def test_dropping_undoes_pinning(tmp_path: Path) -> None:
    before = '[project]\nname = "x"\ndependencies = [\n    "rich",  # tables\n]\n'
    pyproject = read(tmp_path, before)
    pyproject.pin(FLASH, OF_INDEX)
    pyproject.ask([])
    pyproject.pin(FLASH, [])
    assert pyproject.text == before


def test_an_index_that_is_there_is_used(tmp_path: Path) -> None:
    text = '[project]\n[[tool.uv.index]]\nname = "own"\nurl = "https://wheels.example/simple"\nexplicit = true\n'
    pyproject = read(tmp_path, text)
    pyproject.pin(FLASH, OF_INDEX)
    assert 'flash-attn = {index = "own"}' in pyproject.text
    pyproject.pin(FLASH, [])
    assert 'name = "own"' in pyproject.text


def test_an_index_without_a_name_is_named_by_no_source(tmp_path: Path) -> None:
    """uv needs no name for one that all is taken from."""
    pyproject = read(tmp_path, f'[project]\n[[tool.uv.index]]\nurl = "{INDEX.url}"\n')
    pyproject.pin(FLASH, OF_INDEX)
    own, added = tomllib.loads(pyproject.text)["tool"]["uv"]["index"]
    assert own == {"url": INDEX.url}
    assert tomllib.loads(pyproject.text)["tool"]["uv"]["sources"] == {"flash-attn": {"index": added["name"]}}


def test_indexes_on_one_line_stay_on_one_line(tmp_path: Path) -> None:
    before = '[project]\n[tool.uv]\nindex = [{name = "own", url = "https://own.example"}]\n'
    pyproject = read(tmp_path, before)
    pyproject.pin(FLASH, OF_INDEX)
    own, added = tomllib.loads(pyproject.text)["tool"]["uv"]["index"]
    assert own == {"name": "own", "url": "https://own.example"}
    assert added == {"name": "wheelmill-wheels", "url": INDEX.url, "explicit": True}
    pyproject.pin(FLASH, [])
    assert tomllib.loads(pyproject.text)["tool"]["uv"]["index"] == [own]


def test_lines_end_as_they_did(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(COMMENTED.replace("\n", "\r\n").encode().replace(b"torch==2.5.0", b"torch"))
    for changed in (True, False):
        edit = add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN_OF_INDEX)])
        edit.write()
        assert bool(edit.contents) is changed
        content = path.read_bytes()
        assert content.count(b"\n") == content.count(b"\r\n") > 10


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf# about\r\n", b'# about\r\nx = """a\r\nb\nc"""\n'])
def test_a_byte_order_mark_and_mixed_ends_of_lines_stay(before: bytes, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(before)
    pyproject = UvPyproject.read(path)
    pyproject.pin(FLASH, [Pin(requirement="flash-attn==1")])
    Edit.of(path, pyproject.text.encode()).write()
    assert path.read_bytes().startswith(before)
    assert UvPyproject.read(path).requirements == pyproject.requirements


@pytest.mark.parametrize(
    "items", ['"rich"\n  # "flash-attn"\n  ', '\n  "numpy",\n\t"rich"  # tables\n\t# more\n\t# to come\n\t']
)
def test_a_dependency_stands_below_comments_that_no_comma_comes_before(items: str, tmp_path: Path) -> None:
    pyproject = read(tmp_path, f"[project]\ndependencies = [{items}]\n")
    pyproject.pin(FLASH, [Pin(requirement="flash-attn==1")])
    assert tomllib.loads(pyproject.text)["project"]["dependencies"][-2:] == ["rich", "flash-attn==1"]
    assert items.replace('"rich"', '"rich",') + '"flash-attn==1"' in pyproject.text


@pytest.mark.parametrize(
    "text",
    [
        "[project]\ndependencies = []\n[tool]\nuv.package = false\n",
        "tool = { uv = { package = false } }\n",
        '[[tool.uv.index]]\nurl = "https://a"\n[tool.ruff]\n[[tool.uv.index]]\nurl = "https://b"\n',
    ],
    ids=["dotted keys", "braces", "several places"],
)
def test_what_could_not_be_written_in_its_place_is_refused(text: str, tmp_path: Path) -> None:
    pyproject = read(tmp_path, text)
    with pytest.raises(UsageError, check=coded("toml-form-unsupported")):
        add_wheels(pyproject, [Requirement("flash-attn")], [resolution(FLASH_ATTN_OF_INDEX)])


@pytest.mark.parametrize("key", ["torch-for", "torch-was"])
@pytest.mark.parametrize(
    ("value", "code"), [("7", "requirements-invalid"), ('["~"]', "requirement-invalid")], ids=["number", "garbage"]
)
def test_what_was_noted_of_torch_and_was_spoilt_is_told(key: str, value: str, code: str, tmp_path: Path) -> None:
    pyproject = read(tmp_path, f'[tool.wheelmill]\n"{key}" = {value}\n')
    if key == "torch-was":
        pyproject.make_table("tool", "wheelmill")["torch-for"] = [str(FLASH)]
    with pytest.raises(UsageError, check=coded(code, f"tool.wheelmill.{key}")):
        pyproject.release_torch([FLASH])


@pytest.mark.parametrize("steps", [[[FLASH, TORCH]], [[TORCH], [FLASH]]], ids=["at once", "torch first"])
def test_torch_that_is_removed_does_not_come_back(steps: list[list[ProjectName]], tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["torch>=2", "rich"]\n')
    add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN_OF_INDEX)]).write()
    for step in steps:
        remove_packages(UvPyproject.read(path), step).write()
    found = tomllib.loads(path.read_text())
    assert found["project"]["dependencies"] == ["rich"]
    assert "tool" not in found


def test_a_source_of_a_persons_own_that_gives_way_is_told(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["flash-attn"]\n[tool.uv.sources]\nflash-attn = { git = "https://g" }\n')
    told = []
    for _ in range(2):
        edit = add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN_OF_INDEX)])
        edit.write()
        told.append(any("flash-attn no longer comes from" in note for note in edit.notes))
    assert told == [True, False]


def test_each_platform_gets_its_wheel_by_a_marker(tmp_path: Path) -> None:
    """gpkg 0.4.3 writes one URL, so that its project locks for one platform only."""
    pyproject = read(tmp_path, "")
    targets = [(LINUX, "x86_64"), (ARM, "aarch64")]
    resolutions = [
        resolution(candidate(f"flash_attn-2.8.3-cp312-cp312-linux_{machine}.whl"), environment=environment)
        for environment, machine in targets
    ]
    pyproject.pin(FLASH, pins_of(resolutions)[FLASH])
    assert [str(each) for each in pyproject.requirements] == [
        f"flash-attn @ https://page.example/flash_attn-2.8.3-cp312-cp312-linux_{machine}.whl#sha256={SHA} ; "
        f'sys_platform == "linux" and platform_machine == "{machine}"'
        for _, machine in targets
    ]


LISTS = """\
[project]
dependencies = ["rich"]

[project.optional-dependencies]
GPU = ["xformers", "rich>8"]

[dependency-groups]
Train = ["flash-attn", {include-group = "base"}, "rich<9"]
base = ["mamba-ssm"]
"""


def test_a_dependency_is_changed_in_the_list_where_it_stands(tmp_path: Path) -> None:
    pyproject = read(tmp_path, LISTS)
    assert pyproject.lists == {
        "rich": PROJECT_LIST,
        "flash-attn": (*GROUPS, "train"),
        "mamba-ssm": (*GROUPS, "base"),
        "xformers": (*EXTRAS, "gpu"),
    }
    for name in ("rich", "flash-attn", "mamba-ssm", "apex", "xformers"):
        pyproject.pin(project_name(name), [Pin(requirement=f"{name}==1")])
    found = tomllib.loads(pyproject.text)
    assert found["project"]["dependencies"] == ["rich==1", "apex==1"]
    assert found["project"]["optional-dependencies"] == {"GPU": ["xformers==1", "rich>8"]}
    assert found["dependency-groups"] == {
        "Train": ["flash-attn==1", {"include-group": "base"}, "rich<9"],
        "base": ["mamba-ssm==1"],
    }


def test_the_chosen_list_gets_what_stands_nowhere(tmp_path: Path) -> None:
    pyproject = read(tmp_path, LISTS)
    pyproject.choose_list((*EXTRAS, "gpu"))
    assert pyproject.lists[project_name("rich")] == (*EXTRAS, "gpu")
    pyproject.choose_list((*GROUPS, "train"))
    assert {name for name, keys in pyproject.lists.items() if keys == (*GROUPS, "train")} == {
        "flash-attn",
        "mamba-ssm",
        "rich",
    }
    pyproject.pin(project_name("apex"), [Pin(requirement="apex==1")])
    assert tomllib.loads(pyproject.text)["dependency-groups"]["Train"][-1] == "apex==1"
    pyproject.choose_list((*EXTRAS, "new"))
    pyproject.pin(project_name("numpy"), [Pin(requirement="numpy==1")])
    assert tomllib.loads(pyproject.text)["project"]["optional-dependencies"]["new"] == ["numpy==1"]


def test_what_was_asked_for_is_kept_and_forgotten(tmp_path: Path) -> None:
    pyproject = read(tmp_path, "")
    wanted = UvPyproject.read(tmp_path / "other.toml")
    wanted.make_table("tool", "wheelmill")["packages"] = ["flash-attn>=2.7", "mamba-ssm"]
    pyproject.ask(wanted.asked)
    assert pyproject.text == '[tool.wheelmill]\npackages = ["flash-attn>=2.7", "mamba-ssm"]\n'
    pyproject.forget(FLASH)
    pyproject.forget(project_name("mamba-ssm"))
    assert pyproject.text == ""


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ("[project\n", "not-toml", "pyproject.toml"),
        ("project = 3\n", "table-invalid", "project: "),
        ('[project]\ndependencies = "rich"\n', "requirements-invalid", "project.dependencies: "),
        ('[project]\ndependencies = ["rich", "a b c"]\n', "requirement-invalid", "project.dependencies[1]: "),
        ('[project]\ndynamic = ["dependencies"]\n', "dependencies-dynamic", "project.dynamic: "),
        ("[project.optional-dependencies]\na = 3\n", "requirements-invalid", "project.optional-dependencies.a: "),
        ("[dependency-groups]\na = 3\n", "requirements-invalid", "dependency-groups.a: "),
        ("[dependency-groups]\na = ['a b']\n", "requirement-invalid", "dependency-groups.a[0]: "),
    ],
)
def test_what_cannot_be_changed_is_named(tmp_path: Path, text: str, code: str, key: str) -> None:
    with pytest.raises(UsageError, check=coded(code, key)):
        read(tmp_path, text).pin(FLASH, [Pin(requirement="flash-attn==1")])


OTHER_CUDA = replace(LINUX, torch=TorchVersion(2, 8), cuda=CudaVersion(12, 6))
TORCH_INDEX = "https://mirror.example/whl/cu126"


def add_for_another_cuda(path: Path) -> Edit:
    filename = "flash_attn-2.8.3+cu126torch2.8-cp312-cp312-linux_x86_64.whl"
    chosen = resolution(candidate(filename), environment=OTHER_CUDA)
    chosen = replace(chosen, torch_backend=CudaVersion(12, 6).tag, torch_index=TORCH_INDEX)
    edit = add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [chosen])
    edit.write()
    return edit


@pytest.mark.parametrize("dependency", ["torch>=2", "torch==2.8.*", "torch==2.8.0"])
def test_torch_for_another_cuda_comes_from_its_index(tmp_path: Path, dependency: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(f'[project]\nname = "mine"\nversion = "1"\ndependencies = ["{dependency}"]\n')
    add_for_another_cuda(path)
    uv = tomllib.loads(path.read_text())["tool"]["uv"]
    assert uv["sources"]["torch"] == {"index": "wheelmill-pytorch-cu126", "marker": MARKER}
    assert uv["index"] == [{"name": "wheelmill-pytorch-cu126", "url": TORCH_INDEX, "explicit": True}]


@pytest.mark.parametrize(("near", "noted"), [("cu126", False), ("torch", True)])
def test_torch_stays_with_the_mirror_that_a_project_names(near: str, tmp_path: Path, *, noted: bool) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[project]\nname = "mine"\nversion = "1"\ndependencies = ["torch"]\n[tool.uv.sources]\n'
        f'torch = {{index = "near"}}\n[[tool.uv.index]]\nname = "near"\nurl = "https://near.example/{near}"\n'
    )
    change = add_for_another_cuda(path)
    assert 'torch = {index = "near"}' in path.read_text()
    assert TORCH_INDEX not in path.read_text()
    assert any("CUDA 12.6" in note for note in change.notes) is noted


def test_torch_is_not_added_beside_wheels_that_do_not_need_it() -> None:
    pins = pins_of([resolution(candidate("demo-1.0+cu130-cp312-cp312-linux_x86_64.whl"))])
    assert list(pins) == ["demo"]


def test_a_file_with_nan_can_be_changed(tmp_path: Path) -> None:
    """NaN equals nothing, so it is no sign that tomlkit wrote something else than the document."""
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.other]\nlimits = [nan, -nan, inf]\nsince = 2026-05-01\n")
    document = TomlTables.read(path)
    document.make_table("tool", "wheelmill")["packages"] = ["demo"]
    assert document.text == path.read_text() + '\n[tool.wheelmill]\npackages = ["demo"]\n'
