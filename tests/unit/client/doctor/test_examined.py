"""Which folders Python looks into, and what it finds first."""

import sys
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.client.doctor.examined import (
    OWN,
    PYTHONPATH,
    STARTED_IN,
    USER_SITE,
    ImportPath,
    SearchFolder,
)
from wheelmill.errors import UsageError


def an_interpreter(folder: Path, answer: str) -> Path:
    program = folder / "python"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    return program


def test_the_shell_comes_first_and_the_users_packages_before_the_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"/a::{tmp_path}/b")
    monkeypatch.delenv("PYTHONNOUSERSITE", raising=False)
    answer = '{"path": ["/lib", "/site", ""], "user": "/user", "packages": ["/site"], "prefix": "/env"}'
    found = ImportPath.of(an_interpreter(tmp_path, answer), tmp_path)
    assert [(str(each.path), each.origin) for each in found.folders] == [
        (str(tmp_path), STARTED_IN),
        ("/a", PYTHONPATH),
        (f"{tmp_path}/b", PYTHONPATH),
        ("/lib", OWN),
        ("/user", USER_SITE),
        ("/site", OWN),
    ]
    assert found.own == (Path("/lib"), Path("/site"))
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert USER_SITE not in {each.origin for each in ImportPath.of(an_interpreter(tmp_path, answer), tmp_path).folders}


def test_this_interpreter_is_asked(tmp_path: Path) -> None:
    found = ImportPath.of(Path(sys.executable), tmp_path)
    assert found.prefix == Path(sys.prefix)
    assert found.find("pytest") is not None


def test_an_interpreter_that_does_not_run_is_told(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(UsageError, check=coded("import-path-unknown")):
        ImportPath.of(program, tmp_path)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["one/torch/__init__.py", "two/torch/__init__.py"], "one/torch"),
        (["one/torch/other.py", "two/torch/__init__.py"], "two/torch"),
        (["one/torch.py", "two/torch/__init__.py"], "one/torch.py"),
        (["one/torch.cpython-312-x86_64-linux-gnu.so", "two/torch.py"], "one/torch.cpython-312-x86_64-linux-gnu.so"),
        (["one/torchvision/__init__.py"], None),
    ],
)
def test_the_first_folder_that_has_a_module_decides(files: list[str], found: str | None, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    folders = tuple(SearchFolder(path=tmp_path / name, origin=OWN) for name in ("one", "two"))
    hit = ImportPath(folders=folders, prefix=tmp_path).find("torch")
    assert (hit[1] if hit else None) == (tmp_path / found if found else None)
