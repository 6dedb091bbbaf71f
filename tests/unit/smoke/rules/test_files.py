"""Files that an installer would put where they harm."""

from pathlib import Path

import pytest

from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.unit.smoke.rules.conftest import Opened, codes_of, details_of
from tests.wheels import write_wheel
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

STEM = LABELLED.split("-cp")[0]
DATA = f"{STEM}.data"
SITE = f"{DATA}/data/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    "name",
    [
        *("demo.pth", ".pth", f"{DATA}/purelib/demo.pth", f"{SITE}/demo.pth"),
        *("sitecustomize.py", "usercustomize/__init__.py", f"{DATA}/platlib/sitecustomize.so"),
    ],
)
def test_a_file_that_runs_whenever_python_starts_is_found(name: str, opened: Opened) -> None:
    contents = opened(files={name: b"import os"})
    assert codes_of(contents) == [Code.STARTUP]
    assert details_of(contents) == f"{name} is run whenever Python starts"


def test_such_a_file_inside_a_package_is_run_by_nobody(opened: Opened) -> None:
    assert codes_of(opened(files={"demo/demo.pth": b"", "demo/sitecustomize.py": b""})) == []


@pytest.mark.parametrize(
    "name",
    [
        *("torch/__init__.py", "pip/_internal/cli.py", "numpy.py", "pkg_resources/__init__.py", "Torch/x.py"),
        *(f"{DATA}/purelib/torch/version.py", f"{SITE}/pip/__init__.py", "nvidia_cublas/x.py", "einops/x.py"),
        *(f"{DATA}/purelib/pip-99.dist-info/METADATA", "torch.egg-info/PKG-INFO", f"{SITE}/{STEM}.dist-info/RECORD"),
    ],
)
def test_files_of_another_project_are_found(name: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA + "Requires-Dist: einops\n", files={name: b""})
    assert codes_of(contents) == [Code.FOREIGN_FILES]
    assert name in details_of(contents)


@pytest.mark.parametrize(
    "name",
    [
        "pip.conf",
        "PIP.ini",
        "pyvenv.cfg",
        "conda-meta/pinned",
        "lib/python3.11/json/__init__.py",
        "lib64/pypy3.11/os.py",
        "lib/python3.13t/json/__init__.py",
        *("lib/python312.zip", "lib/python313t.zip", "lib/python312.zip/os.py", "Lib/Python312.ZIP"),
        *("lib/libpython3.12.so.1.0", "lib/libpython3.so", "lib/libpython3.13t.so", "lib64/libpython3.12.a"),
        *(f"etc/conda/{folder}/demo.sh" for folder in ("activate.d", "deactivate.d", "env_vars.d")),
    ],
)
def test_what_the_environment_itself_obeys_is_no_file_of_a_wheel(name: str, opened: Opened) -> None:
    contents = opened(files={f"{DATA}/data/{name}": b""})
    assert codes_of(contents) == [Code.FOREIGN_FILES]
    assert details_of(contents) == f"{DATA}/data/{name} belongs to the environment, not to a wheel"


def test_data_may_lie_anywhere_else_in_an_environment(opened: Opened) -> None:
    names = [
        *("data/share/pip.conf", "data/lib/cmake/demo.cmake", "data/lib/demo.a", "data/python3", "headers/pip.conf"),
        *("data/lib/python3-demo/x.so", "data/lib/python3.12-demo/x.so", "data/lib/python-demo.zip"),
        *("data/lib/libpython3-demo.so", "data/etc/conda/demo.yml", "data/share/etc/conda/activate.d/demo.sh"),
    ]
    assert codes_of(opened(files={f"{DATA}/{name}": b"" for name in names})) == []


@pytest.mark.parametrize(
    ("project", "files"),
    [
        ("tests", ("tests/__init__.py",)),  # as it is called
        ("pip", ("pip/__init__.py", "pip-1.0.data/scripts/pip")),  # of which it is the first
        ("setuptools", ("setuptools/__init__.py", "pkg_resources/__init__.py", "_distutils_hack/__init__.py")),
    ],
)
def test_what_belongs_to_a_project_may_be_in_its_wheel(project: str, files: tuple[str, ...], tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / f"{project}-1.0-py3-none-any.whl", files=dict.fromkeys(files, b""))
    contents = open_wheel(WheelFile.at(wheel), None)
    assert isinstance(contents, Contents)
    assert codes_of(contents) == []


def test_the_own_package_may_be_required_with_an_extra(opened: Opened) -> None:
    assert codes_of(opened(metadata=METADATA + "Requires-Dist: demo[all]; extra == 'every'\n")) == []


@pytest.mark.parametrize("command", ["python", "python3.11", "pip", "PIP3.exe", "uv", "activate.fish"])
def test_a_program_in_the_place_of_python_or_pip_is_found(command: str, opened: Opened) -> None:
    points = {f"{STEM}.dist-info/entry_points.txt": f"[console_scripts]\n{command} = demo:main\n".encode()}
    for files in (points, {f"{DATA}/scripts/{command}": b""}, {f"{DATA}/data/bin/{command}": b""}):
        contents = opened(files=files)
        assert codes_of(contents) == [Code.COMMAND]
        assert command in details_of(contents)


@pytest.mark.parametrize("command", ["../lib/python3.11/site-packages/sitecustomize.py", "..\\\\python.exe"])
def test_an_entry_point_that_is_a_path_is_found(command: str, opened: Opened) -> None:
    points = {f"{STEM}.dist-info/entry_points.txt": f"[console_scripts]\n{command} = demo:main\n".encode()}
    assert codes_of(opened(files=points)) == [Code.COMMAND]


@pytest.mark.parametrize("command", ["demo", "pipx", "python-demo", "uvicorn"])
def test_other_programs_pass(command: str, opened: Opened) -> None:
    points = {f"{STEM}.dist-info/entry_points.txt": f"[gui_scripts]\n{command} = demo:main\n".encode()}
    assert codes_of(opened(files={**points, f"{DATA}/scripts/{command}": b""})) == []


def test_entry_points_that_cannot_be_read_refuse_the_wheel(tmp_path: Path) -> None:
    files = {f"{STEM}.dist-info/entry_points.txt": b"pip = demo:main"}
    findings = open_wheel(WheelFile.at(write_wheel(tmp_path / LABELLED, metadata=METADATA, files=files)), None)
    assert not isinstance(findings, Contents)
    assert [finding.code for finding in findings] == [Code.METADATA]


@pytest.mark.parametrize("name", ["tests/__init__.py", "test/x.py", "src/demo/x.py", "setup.py", "docs/conf.py"])
def test_files_of_the_source_beside_all_packages_are_a_warning(name: str, opened: Opened) -> None:
    (finding,) = findings_of(opened(files={name: b""}))
    assert finding.code == Code.TOP_LEVEL
    assert not finding.refuses


@pytest.mark.parametrize("name", ["demo/__pycache__/__init__.cpython-311.pyc", "demo/hidden.pyc"])
def test_bytecode_is_found(name: str, opened: Opened) -> None:
    assert codes_of(opened(files={name: b"\xa7\r\r\n"})) == [Code.BYTECODE]
