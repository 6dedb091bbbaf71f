"""How a project's file changes, and what it declares of torch."""

import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.refusals import coded
from tests.unit.client.targets import ARM, CHOSEN, FLASH_ATTN, FLASH_ATTN_OF_INDEX, INDEX, LINUX, candidate, resolution
from wheelmill.client.project.change import Edit, add_wheels, find_declared_cuda, remove_packages, removed_with
from wheelmill.client.project.pyproject import UvPyproject
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, CudaVersion, TorchVersion, project_name

INDEX_OF = "https://mirror.example/whl/{}"


@pytest.mark.parametrize(
    ("requirement", "indexes", "cuda"),
    [
        ("torch==2.8.0+cu126", [], "12.6"),
        ("torch @ https://torch.example/torch-2.8.0%2Bcu126-cp312-cp312-linux_x86_64.whl", ["simple"], "12.6"),
        ("torch>=2.8", ["cu128", "cpu"], "12.8"),
        ("torch>=2.8", ["cu128/simple/", "simple"], "12.8"),
        ("torch>=2.8", ["cu128", "cu126"], None),
        ("torch==2.8.0", ["simple"], None),
    ],
)
def test_the_cuda_of_a_declared_torch(requirement: str, indexes: list[str], cuda: str | None) -> None:
    found = find_declared_cuda([Requirement(requirement)], map(INDEX_OF.format, indexes))
    assert (str(found) if found else None) == cuda


@pytest.mark.parametrize(
    ("had", "asked", "has", "left"),
    [
        ("", "torch", "torch==2.11.*", ["torch"]),
        ("", "torch>=2.9", "torch==2.11.*", ["torch>=2.9"]),
        ('"torch>=2.5",', "torch", "torch==2.11.*", ["torch>=2.5"]),
        ('"torch==2.8.*",', "torch==2.11.*", "torch==2.11.*", ["torch==2.11.*"]),
    ],
)
def test_a_requested_torch_is_a_dependency(had: str, asked: str, has: str, left: list[str], tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch=had))
    chosen = replace(resolution(FLASH_ATTN), asks_torch=True)
    add_wheels(UvPyproject.read(path), [Requirement(asked), Requirement("flash-attn")], [chosen]).write()
    assert UvPyproject.read(path).dependencies_on(TORCH) == [has]
    assert list(map(str, UvPyproject.read(path).asked)) == ["flash-attn"]
    remove_packages(UvPyproject.read(path), [project_name("flash-attn")]).write()
    assert UvPyproject.read(path).dependencies_on(TORCH) == left


PROJECT = """\
[project]
name = "mine"
version = "1"
dependencies = [
    {torch}
]

[tool.ruff]
line-length = 100
"""


@pytest.mark.parametrize("torch", ["", '"torch >=2.0, <3",  # any', '"torch==2.11.0",'])
def test_removing_undoes_adding(torch: str, tmp_path: Path) -> None:
    """The pin on torch and its index go with the last wheel that needs them; what was there comes back."""
    path = tmp_path / "pyproject.toml"
    before = PROJECT.format(torch=torch)
    path.write_text(before)
    names = ("flash_attn-2.8.3+cu130torch2.11", "mamba_ssm-2.3+cu130torch2.11")
    chosen = resolution(*(candidate(f"{name}-cp312-cp312-linux_x86_64.whl", source=INDEX) for name in names))
    chosen = replace(chosen, torch_backend=CudaVersion(13, 0).tag, torch_index="https://torch.example/cu130")
    asked = [Requirement("flash-attn"), Requirement("mamba-ssm")]
    add_wheels(UvPyproject.read(path), asked, [chosen]).write()
    assert "torch.example" in path.read_text()
    remove_packages(UvPyproject.read(path), [project_name("flash-attn")]).write()
    assert "torch==2.11" in path.read_text()
    assert "torch.example" in path.read_text()
    remove_packages(UvPyproject.read(path), [project_name("mamba-ssm")]).write()
    assert path.read_text() == before


LINKS = frozenset(
    (project_name(parent), project_name(required))
    for parent, required in ("ab", "ac", "bc", "cd", "xy", "ay")  # b, c and d are required by a alone
)


@pytest.mark.parametrize(
    ("removed", "asked", "gone"),
    [("a", "", "abcd"), ("a", "c", "ab"), ("x", "", "x"), ("xa", "", "xaybcd"), ("b", "", "b"), ("z", "", "z")],
)
def test_what_is_required_by_removed_wheels_alone_is_removed(removed: str, asked: str, gone: str) -> None:
    assert removed_with(list(map(project_name, removed)), LINKS, map(Requirement, asked)) == list(gone)


def test_a_wheel_that_one_environment_requires_has_a_marker(tmp_path: Path) -> None:
    one = resolution(candidate("a-1-cp312-cp312-linux_x86_64.whl"), candidate("b-1-py3-none-any.whl"))
    other = resolution(candidate("a-1-cp312-cp312-linux_aarch64.whl"), environment=ARM)
    pyproject = UvPyproject(tmp_path / "mine" / "pyproject.toml")
    add_wheels(pyproject, [Requirement("a")], [one, other])
    (only,) = (each for each in pyproject.requirements if each.name == "b")
    assert "x86_64" in str(only.marker)


def test_a_torch_that_was_changed_by_hand_stays(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch=""))
    add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN)]).write()
    path.write_text(path.read_text().replace("torch==2.11.*", "torch>=2.11"))
    remove_packages(UvPyproject.read(path), [project_name("flash-attn")]).write()
    assert '"torch>=2.11 ; sys_platform' in path.read_text()


def test_a_wheel_of_torch_that_is_named_by_its_url_stays(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    url = "torch @ https://torch.example/torch-2.11.0%2Bcu130-cp312-cp312-linux_x86_64.whl"
    path.write_text(PROJECT.format(torch=f'"{url}",'))
    add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [CHOSEN]).write()
    assert UvPyproject.read(path).dependencies_on(TORCH) == [url]
    assert "torch.example/cu130" not in path.read_text()
    other = replace(CHOSEN, environment=replace(LINUX, torch=TorchVersion(2, 12)))
    with pytest.raises(UsageError, check=coded("dependency-conflict", "torch 2.12")):
        add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [other])


def test_a_pin_of_ours_gives_way_to_another_torch(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch='"torch>=2.5",'))
    for environment, label in ((LINUX, "2.11"), (replace(LINUX, torch=TorchVersion(2, 12)), "2.12")):
        wheel = candidate(f"flash_attn-2.8.3+cu130torch{label}-cp312-cp312-linux_x86_64.whl")
        chosen = resolution(wheel, environment=environment)
        add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [chosen]).write()
        assert f'"torch=={label}.*"' in path.read_text()


def test_hatchling_is_told_that_urls_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch="") + '[build-system]\nbuild-backend = "hatchling.build"\n')
    edit = add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN)])
    assert b"allow-direct-references = true" in edit.contents[path]
    assert any("hatchling" in note for note in edit.notes)


def test_a_link_and_the_mode_of_a_file_stay(tmp_path: Path) -> None:
    goal, link = tmp_path / "goal.toml", tmp_path / "pyproject.toml"
    goal.touch(mode=0o600)
    link.symlink_to("goal.toml")
    Edit.of(link, b"new").write()
    assert (link.readlink(), goal.read_bytes()) == (Path("goal.toml"), b"new")
    assert stat.S_IMODE(goal.stat().st_mode) == 0o600


def test_a_file_that_is_read_only_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda named, mode: not (named == path and mode == os.W_OK))
    with pytest.raises(PermissionError, match=str(path)):
        Edit.of(path, b"new").write()
    assert path.read_bytes() == b"old"


DARWIN = "torch==2.8 ; sys_platform == 'darwin'"
MARKED = f"""\
[project]
dependencies = ["{DARWIN}", "torch>=2.9 ; sys_platform == 'linux'", "flash-attn ; os_name == 'posix'"]

[tool.uv.sources]
torch = [
    {{index = "near", marker = "sys_platform == 'darwin'"}},
    {{index = "wheelmill-old", marker = "os_name == 'posix'"}},
]

[[tool.uv.index]]
name = "near"
url = "https://near.example/cpu"

[[tool.uv.index]]
name = "wheelmill-old"
url = "https://torch.example/cu128"
explicit = true
"""


def test_markers_and_sources_for_other_machines_survive_updates(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(MARKED)
    chosen = replace(CHOSEN, choices=resolution(FLASH_ATTN_OF_INDEX).choices)
    for _ in range(2):
        add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [chosen]).write()
        found = tomllib.loads(path.read_text())
        assert found["project"]["dependencies"] == [
            DARWIN,
            "torch==2.11.* ; sys_platform == 'linux'",
            "flash-attn==2.8.3+cu130torch2.11 ; os_name == 'posix'",
        ]
        assert found["tool"]["uv"]["sources"]["torch"] == [
            {"index": "near", "marker": "sys_platform == 'darwin'"},
            {"index": "wheelmill-pytorch-cu130", "marker": "os_name == 'posix'"},
        ]
    path.write_text(MARKED.replace("torch>=2.9", "torch==2.9"))
    with pytest.raises(UsageError, check=coded("dependency-conflict", "sys_platform")):
        add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [chosen])


@pytest.mark.parametrize(("tag", "noted"), [("cp312-cp312", True), ("cp38-abi3", False), ("py3-none", False)])
def test_a_python_unfit_for_a_url_is_named_before_anything_is_written(tag: str, tmp_path: Path, *, noted: bool) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.12"\n')
    chosen = resolution(candidate(f"flash_attn-2.8.3-{tag}-linux_x86_64.whl"))
    edit = add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [chosen])
    assert any("--python 3.12,3.13" in note for note in edit.notes) is noted


def test_a_source_with_a_marker_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(MARKED.replace("os_name == 'posix'\"}", 'posix"}'))
    with pytest.raises(UsageError, check=coded("marker-invalid", "posix")):
        add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN)])
