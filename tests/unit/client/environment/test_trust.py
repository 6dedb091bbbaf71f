"""Attacks by a clone, or by another user of the machine, on commands that look for an interpreter."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.machine_folders import BASE
from tests.refusals import coded
from wheelmill.client.environment.detect import declared_request, environment_of, find_interpreter
from wheelmill.client.environment.interpreter import ask, check_interpreter, check_trusted, find_distrust
from wheelmill.client.install.distributions import InstallPlace, distributions_of
from wheelmill.errors import UsageError
from wheelmill.system import process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")

LIBRARY = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Is there once a program of the clone ran."""
    return tmp_path / "ran"


def write_program(path: Path, ran: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\ntouch "{ran}"\nexec "{BASE}" "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def environment(tmp_path: Path, ran: Path) -> Path:
    """The environment of a clone, whose interpreter is a script."""
    environment = tmp_path / "clone" / ".venv"
    write_program(environment / "bin" / "python", ran)
    (environment / "pyvenv.cfg").write_text(f"home = {BASE.parent}\n")
    site = environment / LIBRARY / "site-packages"
    (site / "torch").mkdir(parents=True)
    (site / "torch" / "__init__.py").touch()
    (site / "torch" / "version.py").write_text("__version__ = '2.11.0+cu130'\ncuda = '13.0'\n")
    (site / "demo-1.0.dist-info").mkdir()
    (site / "demo-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    return environment


def test_the_interpreter_of_a_clone_is_described_by_its_base_and_not_started(environment: Path, ran: Path) -> None:
    python = environment / "bin" / "python"
    found = environment_of(python)
    assert (found.interpreter, found.torch_release) == (python, "2.11.0+cu130")
    assert found.python_release == ".".join(map(str, sys.version_info[:3]))
    assert [each.project for each in distributions_of(python)] == ["demo"]
    place = InstallPlace.of_interpreter(python)
    assert (place.base, place.is_virtual) == (environment, True)
    assert not ran.exists()


def test_it_is_described_as_it_describes_itself(tmp_path: Path) -> None:
    """Same path, prefix and folders as of the started interpreter, also with the system's packages."""
    code = (
        "import json, sys, sysconfig; print(json.dumps([sys.path, sys.prefix, sys.executable, sysconfig.get_paths()]))"
    )
    for options in ([], ["--system-site-packages"]):
        folder = tmp_path / f"env{len(options)}"
        process.run([BASE, "-m", "venv", "--without-pip", *options, folder])
        extra = folder / LIBRARY / "site-packages" / "extra"
        extra.mkdir()
        (extra.parent / "extra.pth").write_text("# a comment\n\nextra\nmissing\nimport sys\n")
        python = folder / "bin" / "python"
        printed = process.run([python, "-I", "-c", code])
        path, *facts = ask(python, code)
        started, *of_started = json.loads(printed)
        assert facts == of_started
        assert path == started
        assert str(extra) in path


def test_code_in_a_pth_file_or_for_a_missing_module_is_not_run(environment: Path, ran: Path) -> None:
    """A Python that was built without a library, such as bz2, would import it from the environment."""
    site = environment / LIBRARY / "site-packages"
    touch = f"open({str(ran)!r}, 'w')\n"
    (site / "attack.pth").write_text(f"import sys; {touch}")
    for name in ("sitecustomize", "usercustomize", "_not_in_the_library"):
        (site / f"{name}.py").write_text(touch)
    code = "try:\n    import _not_in_the_library\nexcept ImportError:\n    print('null')"
    assert ask(environment / "bin" / "python", code) is None
    assert not ran.exists()


def with_home(environment: Path, home: Path, ran: Path) -> Path:
    """The interpreter of an environment whose base is a script in this folder."""
    write_program(home / "python3", ran)
    (environment / "pyvenv.cfg").write_text(f"home = {home}\n")
    return environment / "bin" / "python"


@pytest.mark.parametrize("folder", ["evil", ".venv/base", "../clone/evil", "../evil"])
def test_a_home_in_the_clone_is_not_started(folder: str, environment: Path, ran: Path) -> None:
    """A clone's environment may lie in one of its folders."""
    if folder == "../evil":
        (environment.parents[1] / ".git").touch()
    home = environment.parent / folder
    python = with_home(environment, home, ran)
    with pytest.raises(UsageError, check=coded("python-of-project", environment, home)):
        environment_of(python)
    assert not ran.exists()


@pytest.mark.parametrize(("folder", "trusted"), [("../miniforge/bin", False), ("toolchain", True)])
def test_a_home_on_the_same_disk_or_in_a_trusted_folder_is_started(
    folder: str, environment: Path, ran: Path, monkeypatch: pytest.MonkeyPatch, *, trusted: bool
) -> None:
    """As of uv or conda on a scratch disk, or on drive D."""
    python = with_home(environment, environment.parent / folder, ran)
    if trusted:
        monkeypatch.setenv("WHEELMILL_TRUST", f"/elsewhere{os.pathsep}{environment.parent}")
    assert environment_of(python).torch_release == "2.11.0+cu130"
    assert ran.exists()


def test_a_linked_or_relative_home_is_refused(environment: Path, ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(environment.parent / "evil" / "python3", ran)
    monkeypatch.chdir(environment.parent)
    for home, code in (("/proc/self/cwd/evil", "python-of-project"), ("evil", "python-unusable")):
        (environment / "pyvenv.cfg").write_text(f"home = {home}\n")
        with pytest.raises(UsageError, check=coded(code)):
            environment_of(environment / "bin" / "python")
    assert not ran.exists()


@pytest.mark.parametrize("marker", [None, "conda-meta"])
def test_no_pyvenv_cfg_in_a_clone(marker: str | None, environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An active one was chosen by the user."""
    monkeypatch.delenv("UV_PYTHON", raising=False)
    (environment / "pyvenv.cfg").unlink()
    if marker:
        (environment / marker).mkdir()
    with pytest.raises(UsageError, check=coded("python-of-project", environment)):
        find_interpreter(environment.parent, environment)
    monkeypatch.setenv("CONDA_PREFIX", str(environment))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert find_interpreter(environment.parent, environment) == environment / "bin" / "python"


def test_a_pipe_as_pyvenv_cfg_is_refused(environment: Path) -> None:
    (environment / "pyvenv.cfg").unlink()
    os.mkfifo(environment / "pyvenv.cfg")
    with pytest.raises(UsageError, check=coded("not-a-file", "pyvenv.cfg")):
        environment_of(environment / "bin" / "python")


VERSIONS = (
    *("3", "3.12", "3.12.4", "312", "3.13t", "3.14.0rc1", "3.13+freethreaded", "cpython-3.12", "cp312", "pypy@3.10"),
    *("pypy3.10-7.3.12", "cpython-3.12.3-linux-x86_64-gnu", "cpython-3.13.0+freethreaded-linux-x86_64-gnu"),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_a_request(version: str, tmp_path: Path) -> None:
    (tmp_path / ".python-version").write_text(f"# mine\n\n{version}\n3.9\n")
    assert declared_request(tmp_path / "below") == version


@pytest.mark.parametrize("file", [".python-version", ".python-versions"])
@pytest.mark.parametrize("has_uv", [True, False])
@pytest.mark.parametrize(
    "form", ["./evil.sh", "{folder}/evil.sh", "evil.sh", "3/../evil.sh", "-c", "3.12;id", "3 evil"]
)
def test_a_path_in_python_version_is_named_and_never_started(
    form: str, file: str, tmp_path: Path, ran: Path, monkeypatch: pytest.MonkeyPatch, *, has_uv: bool
) -> None:
    monkeypatch.delenv("UV_PYTHON", raising=False)
    monkeypatch.chdir(tmp_path)
    write_program(tmp_path / "evil.sh", ran)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / file).write_text(form.format(folder=tmp_path))
    if not has_uv:
        monkeypatch.setattr("wheelmill.installers.uv.find_uv", lambda: None)
    with pytest.raises(UsageError, check=coded("request-invalid", tmp_path / file)):
        find_interpreter(tmp_path, None)
    assert not ran.exists()


@pytest.mark.parametrize("name", ["uv.toml", "pyproject.toml", ".python-version", ".python-versions"])
def test_uv_is_not_asked_if_a_pipe_would_block_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_PYTHON", raising=False)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, check=coded("not-a-file", tmp_path / name)):
        find_interpreter(tmp_path, None)


def test_uv_does_not_start_the_python_of_a_venv_to_find_another(environment: Path, ran: Path, monkeypatch: Any) -> None:
    """As for a project whose tool keeps its environment elsewhere."""
    monkeypatch.delenv("UV_PYTHON", raising=False)
    (environment.parent / "pyproject.toml").write_text('[project]\nname = "x"\nrequires-python = ">=3.8"\n')
    assert find_interpreter(environment.parent, None) != environment / "bin" / "python"
    assert not ran.exists()


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> dict[Path, int]:
    """Owners of files, which an ordinary user cannot give away."""
    owners: dict[Path, int] = {}
    real = Path.lstat

    def lstat(path: Path) -> Any:
        state = real(path)
        uid = owners.get(path, state.st_uid)
        return SimpleNamespace(st_uid=uid, st_gid=state.st_gid, st_mode=state.st_mode)

    monkeypatch.setattr(Path, "lstat", lstat)
    return owners


def test_a_file_of_another_user(tmp_path: Path, owner: dict[Path, int], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pyproject.toml"
    path.touch()
    check_trusted(path)
    owner[path] = 54321
    with pytest.raises(UsageError, check=coded("file-of-others", path, "54321")) as raised:
        check_trusted(path)
    assert f"WHEELMILL_TRUST={tmp_path}" in str(raised.value.hint)
    monkeypatch.setenv("WHEELMILL_TRUST", str(tmp_path))
    check_trusted(path)


def test_a_world_writable_interpreter_must_be_in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where GitHub's setup-python has its own, which it puts on PATH."""
    program = write_program(tmp_path / "shared" / "bin" / "python3.12", tmp_path / "ran")
    (tmp_path / "shared").chmod(0o777)
    link = tmp_path / "project" / ".venv" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(program)
    with pytest.raises(UsageError, check=coded("file-of-others", tmp_path / "shared", "drwxrwxrwx")):
        check_interpreter(link)
    monkeypatch.chdir(program.parent)
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(UsageError, check=coded("file-of-others")):
        check_interpreter(link)
    monkeypatch.setenv("PATH", str(program.parent))
    check_interpreter(link)
    link.parent.chmod(0o777)
    with pytest.raises(UsageError, check=coded("file-of-others", link.parent)):
        check_interpreter(link)


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
def test_root_trusts_its_own_files_and_those_of_sudos_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    path = tmp_path / "pyproject.toml"
    path.touch()
    os.chown(path, 1234, 1234)
    assert find_distrust(path)
    monkeypatch.setenv("SUDO_UID", "1234")
    assert find_distrust(path) is None


def test_folders_above_and_links_to_a_file_count_as_well(tmp_path: Path, owner: dict[Path, int]) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "pyvenv.cfg").touch()
    (tmp_path / ".venv").symlink_to(folder)
    assert find_distrust(tmp_path / ".venv" / "pyvenv.cfg") is None
    owner[folder] = 54321
    assert find_distrust(folder / "pyvenv.cfg")
    assert find_distrust(tmp_path / ".venv" / "pyvenv.cfg")
    owner.clear()
    owner[tmp_path / ".venv"] = 54321
    assert find_distrust(tmp_path / ".venv" / "pyvenv.cfg")


@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o700, True), (0o777, False), (0o1777, True)])
def test_a_world_writable_folder_must_be_sticky_to_be_trusted(mode: int, tmp_path: Path, *, trusted: bool) -> None:
    folder = tmp_path / "shared"
    (folder / "mine").mkdir(parents=True)
    folder.chmod(mode)
    assert (find_distrust(folder / "mine" / "pyproject.toml") is None) is trusted
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o666)
    assert find_distrust(tmp_path / "file")


def test_a_group_is_trusted_if_it_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the umask is 002, every user has a group of the same name."""
    real = Path.lstat

    def lstat(path: Path) -> Any:
        state = real(path)
        is_ours = path == tmp_path
        mode = 0o40775 if is_ours else state.st_mode
        return SimpleNamespace(st_uid=state.st_uid, st_gid=7777 if is_ours else 0, st_mode=mode)

    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setattr("pwd.getpwuid", lambda _: SimpleNamespace(pw_name="me"))
    for name, members, trusted in (("me", [], True), ("me", ["me"], True), ("me", ["you"], False), ("lab", [], False)):
        monkeypatch.setattr("grp.getgrgid", lambda gid, name=name, members=members: (name, "x", gid, members))
        assert (find_distrust(tmp_path / "pyproject.toml") is None) is trusted
