"""What a lock or a project names, against what is installed."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.installed import FLASH, install_sound
from tests.troubled_server import troubled_server
from tests.unit.client.doctor.conftest import TARGET, Examine
from wheelmill.client.doctor.examination import (
    Promise,
    defects_of_lock,
    defects_of_project,
    defects_of_project_urls,
    examine,
    promises_are_kept,
    promises_of_lock,
    promises_of_project,
    promises_of_tool_lock,
)
from wheelmill.client.doctor.remedies import Remedies
from wheelmill.client.doctor.rules import Defect, DefectCode
from wheelmill.client.lock.files import read_lock
from wheelmill.client.project.find import find_project
from wheelmill.client.project.pyproject import PyprojectEditor
from wheelmill.client.project.tool_project import read_tool_lock
from wheelmill.errors import NoWheelError
from wheelmill.names import ProjectName, project_name
from wheelmill.web.budget import Budget

NO_TORCH = replace(TARGET, torch=None, torch_release=None, cuda=None, cxx11_abi=None)
NAME = "flash_attn-{}-cp312-cp312-manylinux_2_28_x86_64.whl"
LOCK = """
lock-version = "1.0"
created-by = "test"
[[packages]]
name = "flash-attn"
version = "{0}"
wheels = [{{ url = "https://x.example/{1}", hashes = {{ sha256 = "{2}" }} }}]
"""


def lock_of(folder: Path, version: str) -> Path:
    path = folder / "pylock.toml"
    path.write_text(LOCK.format(version, NAME.format(version), "0" * 64))
    return path


def broken(promises: list[Promise], site: Path, examined: Examine) -> list[Defect]:
    install_sound(site)
    return list(promises_are_kept(promises, examined()))


@pytest.mark.parametrize(
    ("version", "codes"), [(FLASH, []), ("2.8.2+cu130torch2.11", [DefectCode.LOCK]), ("2.8.3", [DefectCode.LOCK])]
)
def test_another_version_is_found(
    version: str, codes: list[DefectCode], site: Path, examined: Examine, tmp_path: Path
) -> None:
    path = lock_of(tmp_path, version)
    found = broken(promises_of_lock(read_lock(path), path, TARGET), site, examined)
    assert [each.code for each in found] == codes
    for each in found:
        remedy = Remedies(examined=examined(), uv=None).remedy_of(each)
        assert remedy.lines == (f"wheelmill install --lock {path} --python-path /env/bin/python",)


def test_an_unlabelled_wheel_in_place_of_a_labelled_one_is_found(site: Path, examined: Examine, tmp_path: Path) -> None:
    install_sound(site)
    (dist_info,) = site.glob("flash_attn-*.dist-info")
    metadata = dist_info / "METADATA"
    metadata.write_text(metadata.read_text().replace(FLASH, "2.8.3"))
    path = lock_of(tmp_path, FLASH)
    (found,) = promises_are_kept(promises_of_lock(read_lock(path), path, TARGET), examined())
    assert (found.code, found.subject) == (DefectCode.UNLABELLED, "flash-attn 2.8.3")
    assert found.detail == f"is PyPI's, which names no CUDA or torch, but pylock.toml has {FLASH}"


def test_what_a_lock_has_and_nobody_installed_is_found(examined: Examine, tmp_path: Path) -> None:
    path = lock_of(tmp_path, FLASH)
    (found,) = promises_are_kept(promises_of_lock(read_lock(path), path, TARGET), examined())
    assert found.detail == f"is not installed, but pylock.toml has {FLASH}"


def test_a_lock_for_another_machine_is_told(tmp_path: Path) -> None:
    path = lock_of(tmp_path, FLASH)
    with pytest.raises(NoWheelError):
        promises_of_lock(read_lock(path), path, replace(TARGET, python=replace(TARGET.python, minor=11)))


def test_a_project_names_wheels_by_their_urls(site: Path, examined: Examine, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    url = f"https://x.example/{NAME.format('2.9.0%2Bcu130torch2.11')}#sha256={'0' * 64}"
    texts = [
        f"flash-attn @ {url}",
        "numpy>=2",
        f"other @ {url} ; python_version < '3.9'",
        "x @ https://x.example/x.zip",
    ]
    found = broken(list(promises_of_project(map(Requirement, texts), path, TARGET)), site, examined)
    assert [(each.code, each.subject) for each in found] == [(DefectCode.LOCK, f"flash-attn {FLASH}")]


@pytest.mark.parametrize(
    ("pin", "code"),
    [
        (f"flash-attn=={FLASH}", None),
        ("flash-attn==2.8.3", None),
        ("flash-attn==2.8.*", None),
        ("flash-attn==2.9.0", DefectCode.LOCK),
        ("flash-attn==2.8.3+cu130torch2.10", DefectCode.LOCK),
        ("torch==2.11.0+cu130", DefectCode.UNLABELLED),
        ("not-there==1", DefectCode.LOCK),
    ],
)
def test_a_pinned_version_is_compared(
    pin: str, code: DefectCode | None, site: Path, examined: Examine, tmp_path: Path
) -> None:
    path = tmp_path / "requirements.txt"
    found = broken(list(promises_of_project([Requirement(pin)], path, TARGET)), site, examined)
    assert [each.code for each in found] == ([code] if code else [])
    for each in found:
        assert Remedies(examined=examined(), uv="uv").remedy_of(each).lines[0].endswith(f"-r {path}")


UV_LOCK = """
version = 1
[[package]]
name = "flash-attn"
version = "2.8.3"
source = {{ url = "https://x.example/{}" }}
[[package]]
name = "torch"
version = "2.11.0"
source = {{ registry = "https://index.example/simple" }}
[[package]]
name = "mine"
version = "0.1"
source = {{ editable = "." }}
[[package]]
name = "nvidia-cuda-runtime"
version = "1"
source = {{ registry = "https://index.example/simple" }}
[[package]]
name = "nvidia-cuda-runtime"
version = "2"
source = {{ registry = "https://index.example/simple" }}
[[package]]
name = "not-for-this-system"
version = "1"
source = {{ registry = "https://index.example/simple" }}
"""


def test_versions_in_uvs_lock_are_those_of_all_environments(site: Path, examined: Examine, tmp_path: Path) -> None:
    path = tmp_path / "uv.lock"
    path.write_text(UV_LOCK.format(NAME.format("2.8.3+cu130torch2.10")))
    (found,) = broken(list(promises_of_tool_lock(path, read_tool_lock(path).packages)), site, examined)
    assert (found.code, found.project) == (DefectCode.LOCK, "flash-attn")
    (line,) = Remedies(examined=examined(), uv="uv").remedy_of(found).lines
    assert line == f"uv sync --project {tmp_path} --frozen --inexact --reinstall-package flash-attn"


@pytest.mark.parametrize(
    ("requirements", "version", "subjects"),
    [
        ("", "", ["pylock.toml"]),
        ("einops", "", ["pylock.toml"]),
        ("flash-attn", "", ["flash-attn"]),
        ("flash-attn==2.9", FLASH, ["pylock.toml", f"flash-attn {FLASH}"]),
        ("flash-attn", FLASH, []),
        ("", FLASH, []),
    ],
)
def test_a_lock_that_is_older_than_its_project_brings_nothing_back(
    requirements: str, version: str, subjects: list[str], site: Path, examined: Examine
) -> None:
    if version:
        install_sound(site)
    path = site.parents[3] / "requirements.txt"
    path.write_text(requirements)
    lock_of(path.parent, FLASH)
    project = find_project(path)
    faults = examine(examined(TARGET if version else NO_TORCH), project, None, None, uv="uv").faults
    assert [defect.subject for defect, _ in faults] == subjects
    assert not any("--lock" in line for _, remedy in faults for line in remedy.lines) or subjects == ["flash-attn"]


def test_what_a_lock_of_uv_has_without_a_version_is_named(examined: Examine, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("")
    (tmp_path / "pylock.toml").write_text(
        'lock-version = "1.0"\ncreated-by = "uv"\n[[packages]]\nname = "mine"\ndirectory = { path = "." }\n'
    )
    project = find_project(tmp_path / "requirements.txt")
    found = examine(examined(NO_TORCH), project, None, None, uv="uv")
    assert "mine (directory)" in found.looked_at["project"]
    assert found.faults == []


def test_a_url_whose_hash_is_locked_needs_no_hash_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["demo @ https://x.example/demo-1-py3-none-any.whl"]\n')
    for hashed, codes in (({project_name("demo")}, []), (set[ProjectName](), [DefectCode.HASH])):
        assert [each.code for each in defects_of_project(PyprojectEditor.read(path), hashed)] == codes


def test_wheels_of_a_dead_server_take_the_time_of_one(tmp_path: Path) -> None:
    path = lock_of(tmp_path, "1")
    with troubled_server("hangs") as (dead, _):
        path.write_text(path.read_text().replace("https://x.example/", dead))
        named = [Requirement(f"flash-attn @ {dead}{number}.whl") for number in range(9)]
        budget, began = Budget(1.5), time.monotonic()
        found = [*defects_of_lock(read_lock(path), budget), *defects_of_project_urls(named, path, budget)]
        assert time.monotonic() - began < 5
    assert [each.code for each in found] == [DefectCode.URL] * 10
