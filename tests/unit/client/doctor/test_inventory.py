"""Files against RECORD, whatever somebody wrote there. Which folders Python looks into, and what it finds first."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.installed import install
from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.shared_objects import shared_object
from tests.unit.client.doctor.conftest import TARGET
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.doctor.inventory import (
    OWN,
    PYTHONPATH,
    STARTED_IN,
    USER_SITE,
    ImportPath,
    Installed,
    Reader,
    SearchFolder,
    broken_folders,
    read_environment,
)
from wheelmill.client.install.distributions import read_distributions
from wheelmill.errors import UsageError
from wheelmill.system import process
from wheelmill.system.progress import QUIET, Progress

LARGE = bytes(1 << 20) + b"1"


def read(site: Path, *, all_hashes: bool = False, progress: Progress = QUIET) -> tuple[Installed, Reader]:
    reader = Reader(prefix=site.parents[2], all_hashes=all_hashes, reads_code=True)
    (found,) = reader.read_all(read_distributions([site]), progress)
    return found, reader


def test_large_files_are_hashed_only_where_that_is_asked_for(site: Path) -> None:
    install(site, "demo", "1.0", {"demo.bin": LARGE})
    (site / "demo.bin").write_bytes(LARGE[:-1] + b"2")
    found, reader = read(site)
    assert found.changed == ()
    assert reader.counts.hashed == reader.counts.files - 1
    assert read(site, all_hashes=True)[0].changed == ("demo.bin",)


def test_a_large_file_of_another_size_is_seen_without_its_hash(site: Path) -> None:
    install(site, "demo", "1.0", {"demo.bin": LARGE})
    (site / "demo.bin").write_bytes(LARGE + b"2")
    assert read(site)[0].changed == ("demo.bin",)


def test_a_record_that_names_files_elsewhere_makes_nobody_read_them(site: Path) -> None:
    folder = install(site, "demo", "1.0", {"demo.py": b""})
    rows = b"/dev/zero,sha256=x,\n../../../../../etc/passwd,sha256=x,1\n../../../../outside,sha256=x,1\n"
    with (folder / "RECORD").open("ab") as record:
        record.write(rows)
    found, _ = read(site, all_hashes=True)
    assert (found.missing, found.changed) == ((), ())


def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(site: Path) -> None:
    folder = install(site, "demo", "1.0", {"demo.py": b"x", "demo.so": shared_object()})
    for path in (site / "demo.py", site / "demo.so", folder / "direct_url.json"):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    assert read(site, all_hashes=True)[0].changed == ("demo.py", "demo.so")


@pytest.mark.parametrize("name", ["METADATA", "RECORD", "WHEEL", "INSTALLER"])
def test_a_pipe_in_a_dist_info_keeps_nobody_waiting(name: str, site: Path) -> None:
    folder = install(site, "demo", "1.0", {"demo.py": b"x"})
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert list(broken_folders([site])) == ([folder] if name == "METADATA" else [])
    assert len(read_distributions([site])) == (0 if name == "METADATA" else 1)
    Reader(prefix=site.parents[2], all_hashes=True, reads_code=True).read_all(read_distributions([site]), QUIET)


def test_a_name_that_would_be_an_option_of_an_installer_is_no_project(site: Path) -> None:
    folder = install(site, "demo", "1.0", {})
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: --index-url=https://index.example\nVersion: 1\n")
    assert read_distributions([site]) == []


def test_programs_count_and_bytecode_does_not(site: Path) -> None:
    install(site, "demo", "1.0", {"../../../bin/demo": b"#!x", "demo.cpython-312.pyc": b"x"})
    (site / "demo.cpython-312.pyc").unlink()
    assert read(site)[0].missing == ()
    (site.parents[2] / "bin" / "demo").unlink()
    assert read(site)[0].missing == ("../../../bin/demo",)


def test_symbols_are_kept_where_torch_may_have_to_define_them(site: Path) -> None:
    code = shared_object(needed=["libc10.so"], undefined={"f": None}, defined=["g"])
    install(site, "demo", "1.0", {"demo/_C.so": code, "demo/_D.so": shared_object(undefined={"g": None})})
    found, _ = read(site)
    assert found.links_to_torch
    assert {symbol.name for each in found.code for symbol in each.undefined} == {"f", "g"}


def test_symbols_of_others_are_let_go(site: Path) -> None:
    install(site, "demo", "1.0", {"demo/_C.so": shared_object(undefined={"f": "GLIBC_2.34"})})
    found, reader = read(site)
    assert found.inside
    assert (found.inside.glibc, found.code[0].undefined, reader.counts.shared_objects) == ("2.34", (), 1)


def test_it_is_said_what_is_read(site: Path) -> None:
    progress = RecordedProgress()
    install(site, "demo", "1.0", {})
    read(site, progress=progress)
    assert progress.lines == ["reading demo (1 of 1)", ""]


def test_a_persons_own_folder_that_a_pth_file_adds_is_not_offered_for_removal(tmp_path: Path) -> None:
    (tmp_path / "src" / "~old").mkdir(parents=True)
    assert list(broken_folders([tmp_path / "src"])) == []


def an_interpreter(folder: Path, answer: str) -> Path:
    program = folder / "python"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    return program


def test_the_shell_precedes_user_packages_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_with_system_packages_an_environment_is_before_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python's own ``site`` has it: the environment, the user, the system."""
    for name in ("PYTHONPATH", "PYTHONNOUSERSITE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "user"))
    folder = tmp_path / "env"
    process.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", folder])
    python = folder / "bin" / "python"
    user = Path(process.run([python, "-c", "import site; print(site.getusersitepackages())"]).strip())
    install(user, "demo", "1.0", {"demo.py": b""})
    found = ImportPath.of(python, tmp_path)
    origins = [each.origin for each in found.folders if each.path.name == "site-packages"]
    assert origins[:2] == [OWN, USER_SITE]
    seen = process.run([python, "-c", "import sys; print(*sys.path[1:], sep='\\n')"]).splitlines()
    assert [str(each.path) for each in found.folders[1:]] == seen
    environment = replace(TARGET, interpreter=python)
    examined = read_environment(environment, read_facts(), started_in=tmp_path, all_hashes=False, progress=QUIET)
    assert [each.project for each in examined.of_user] == ["demo"]
    assert "libc.so.6" in examined.libraries


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
