"""The libraries of what is installed are read where they are."""

import sys
from pathlib import Path

import pytest

from tests.shared_objects import compiled
from wheelmill.client.environment.windows import windows_of
from wheelmill.client.install.distributions import Distribution
from wheelmill.names import TorchVersion, project_name
from wheelmill.system import process

DEMO, OTHER = project_name("demo"), project_name("other")
INSTALLED = [
    Distribution(project=DEMO, version="1.0", requires_dist=("torch",)),
    Distribution(project=OTHER, version="1.0"),
]


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """One that has two projects, whose code calls c10::cuda::SetDevice(signed char): torch 2.8 changed it."""
    process.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"])
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    code = "extern void _ZN3c104cuda9SetDeviceEa(void); void run(void) { _ZN3c104cuda9SetDeviceEa(); }"
    library = compiled(tmp_path / "code.so", code).read_bytes()
    for project in (DEMO, OTHER):
        (packages / f"{project}.so").write_bytes(library)
        folder = packages / f"{project}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n")
        (folder / "RECORD").write_text(f"{project}.so,,\n")
    return tmp_path / "venv" / "bin" / "python"


def test_the_windows_of_what_needs_torch_are_read(interpreter: Path) -> None:
    windows = windows_of(interpreter, INSTALLED)
    assert windows.keys() == {DEMO}
    assert windows[DEMO].lacking(TorchVersion(2, 7)) == ()
    assert windows[DEMO].lacking(TorchVersion(2, 8)) == ("_ZN3c104cuda9SetDeviceEa",)


def test_code_that_cannot_be_read_has_no_window(interpreter: Path) -> None:
    (library,) = interpreter.parents[1].glob("lib/*/site-packages/demo.so")
    library.write_bytes(b"no code")
    assert windows_of(interpreter, INSTALLED) == {}


def test_nobody_is_asked_where_nothing_needs_torch() -> None:
    assert windows_of(Path("/nonexistent/python"), INSTALLED[1:]) == {}
