"""Wheels that pip or uv install, and that do more than their members show: the gate refuses each of them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.wheels import write_wheel
from wheelmill.installers.uv import own_uv
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

DIST_INFO = "demo-1.0.dist-info"
OFFLINE = ("--no-deps", "--no-index", "--target")
Install = Callable[[Path], bool]


def with_pip(wheel: Path) -> bool:
    return ran(sys.executable, "-m", "pip", "install", *OFFLINE, in_pip(wheel), "--find-links", wheel.parent, "demo")


def with_uv(wheel: Path) -> bool:
    options = ("--no-cache", "--no-config", "--python", sys.executable, *OFFLINE, in_uv(wheel))
    return ran(own_uv(), "pip", "install", *options, "--find-links", wheel.parent, "demo")


def in_pip(wheel: Path) -> Path:
    return wheel.with_name("of-pip")


def in_uv(wheel: Path) -> Path:
    return wheel.with_name("of-uv")


def ran(*command: str | Path) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def python_in(folder: Path, code: str) -> str:
    return output_of(sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, sys.argv[1]); {code}", folder)


def wheel_with(folder: Path, **files: bytes) -> Path:
    return write_wheel(folder / "demo-1.0-py3-none-any.whl", files={"demo/__init__.py": b"", **files})


def codes_of(wheel: Path) -> set[Code]:
    opened = open_wheel(WheelFile.at(wheel), None)
    return {finding.code for finding in (findings_of(opened) if isinstance(opened, Contents) else opened)}


@pytest.mark.parametrize("name", ["demo/a\u202eyp.py", "demo/a\u200bb.py", "demo/a\tb.py"])
def test_a_name_that_uv_refuses_and_pip_takes(name: str, tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, **{name: b""})
    assert with_pip(wheel)
    assert not with_uv(wheel)
    assert codes_of(wheel) == {Code.PATH}


def test_names_in_other_languages_are_installed_and_pass(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, **{"demo/größe 1.py": b"", "demo/データ.txt": b""})
    assert with_pip(wheel)
    assert with_uv(wheel)
    assert codes_of(wheel) == set()


def test_a_data_folder_of_another_name_is_one_to_pip_alone(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, **{"other-1.0.data/purelib/demo_x.py": b""})
    assert with_pip(wheel)
    assert with_uv(wheel)
    assert [(folder / "demo_x.py").exists() for folder in (in_pip(wheel), in_uv(wheel))] == [True, False]
    assert codes_of(wheel) == {Code.FOREIGN_FILES}


def test_an_indented_group_of_entry_points_makes_a_program(tmp_path: Path) -> None:
    points = b"[demo]\nx = demo:main\n  [console_scripts]\n  git = demo:main\n  [pytest11]\n  evil = demo.evil\n"
    wheel = wheel_with(tmp_path, **{f"{DIST_INFO}/entry_points.txt": points})
    assert with_pip(wheel)
    assert (in_pip(wheel) / "bin/git").exists()
    assert codes_of(wheel) == {Code.COMMAND, Code.ENTRY_POINT}


@pytest.mark.parametrize(("install", "folder_of"), [(with_pip, in_pip), (with_uv, in_uv)])
def test_a_dist_info_in_capitals_counts(install: Install, folder_of: Callable[[Path], Path], tmp_path: Path) -> None:
    second = {"METADATA": b"Name: demo-x\nVersion: 1\n", "entry_points.txt": b"[pytest11]\nevil = demo.evil\n"}
    wheel = wheel_with(tmp_path, **{f"demo_x-1.Dist-Info/{name}": content for name, content in second.items()})
    assert install(wheel)
    values = "import importlib.metadata as m; print(*(each.value for each in m.entry_points(group='pytest11')))"
    assert python_in(folder_of(wheel), values) == "demo.evil"
    assert codes_of(wheel) == {Code.FOREIGN_FILES}


@pytest.mark.parametrize(("install", "folder_of"), [(with_pip, in_pip), (with_uv, in_uv)])
def test_pip_freezes_the_origin_in_a_wheel(install: Install, folder_of: Callable[[Path], Path], tmp_path: Path) -> None:
    origin = json.dumps({"url": "https://evil.example/demo-1.0-py3-none-any.whl", "archive_info": {}})
    wheel = wheel_with(tmp_path, **{f"{DIST_INFO}/direct_url.json": origin.encode()})
    assert install(wheel)
    frozen = output_of(sys.executable, "-m", "pip", "freeze", "--path", folder_of(wheel))
    assert frozen == "demo @ https://evil.example/demo-1.0-py3-none-any.whl"
    assert codes_of(wheel) == {Code.FOREIGN_FILES}


@pytest.mark.parametrize(("install", "folder_of"), [(with_pip, in_pip), (with_uv, in_uv)])
def test_of_two_files_the_last_counts(install: Install, folder_of: Callable[[Path], Path], tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, **{"demo-1.0.data/purelib/demo/__init__.py": b"print('second')"})
    assert install(wheel)
    assert python_in(folder_of(wheel), "import demo") == "second"
    assert codes_of(wheel) == {Code.RECORD}
