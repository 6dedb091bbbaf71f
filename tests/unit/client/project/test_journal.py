"""Whatever happens in the middle of a change, the project and its environment are as they were."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kills import killed_at_every_step
from tests.refusals import coded
from tests.trees import content_of, environment_tree
from wheelmill.client.install.distributions import InstallPlace
from wheelmill.client.project import journal
from wheelmill.client.project.journal import exclusive, roll_back_interrupted, roll_back_on_failure
from wheelmill.errors import UsageError
from wheelmill.system import process


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # it is for machines that lose power, and takes long
    return tmp_path / "state" / "wheelmill"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture
def stride(pytestconfig: pytest.Config) -> int:
    """Every 19th step is enough without ``--nightly``: what stands between two is mostly more of the same."""
    return 1 if pytestconfig.getoption("--nightly") else 19


def make_project(root: Path) -> Path:
    """Make a project with an environment, and with a lock that is a link."""
    environment_tree(root / ".venv")
    (root / "pyproject.toml").write_text("[project]\n")
    (root / "pyproject.toml").chmod(0o600)
    (root / "elsewhere.lock").write_text("version = 1\n")
    (root / "pdm.lock").symlink_to("elsewhere.lock")
    return root


def change(project: Path) -> None:
    """Change a project as an installer does."""
    (project / "pyproject.toml").write_text("[project]\ndependencies = ['demo']\n")
    (project / "pyproject.toml").chmod(0o644)
    (project / "uv.lock").write_text("version = 1\n")
    (project / "pdm.lock").unlink()
    (project / "pdm.lock").write_text("version = 2\n")
    (project / "elsewhere.lock").write_text("version = 2\n")
    package = project / ".venv" / "torch"
    (package / "version.py").unlink()
    (package / "version.py").write_text("__version__ = '2.9'\n")
    (package / "lib" / "libtorch.so").unlink()
    (package / "lib" / "libtorch_cuda.so").write_bytes(b"new")
    (project / ".venv" / "empty").rmdir()


@contextmanager
def change_in(project: Path, say: Callable[[str], None] = print) -> Iterator[None]:
    """Have a project alone, and undo what the context does when it fails."""
    files = [project / name for name in ("pyproject.toml", "uv.lock", "pdm.lock")]
    environment = InstallPlace.of_environment(project / ".venv")
    with exclusive(project, say), roll_back_on_failure(project, files, environment, say):
        yield


def fail_after(work: Callable[[], object], project: Path, error: type[BaseException] = RuntimeError) -> list[str]:
    """Change a project by a command that fails at its end; what it said."""
    said: list[str] = []

    def run() -> None:
        with change_in(project, said.append):
            work()
            raise error

    with pytest.raises(error):
        run()
    return said


def kill_in_the_middle(project: Path) -> None:
    """Change a project by a process that is killed when it has done so."""
    child = os.fork()
    if child == 0:
        with change_in(project):
            change(project)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def files_in(folder: Path) -> list[str]:
    """The suffixes of all files below a folder."""
    return [path.suffix for path in folder.rglob("*") if path.is_file()]


def test_a_change_that_succeeds_stays_and_leaves_nothing(project: Path, state: Path) -> None:
    with change_in(project):
        change(project)
        changed = content_of(project)
    after = content_of(project)
    assert after == {path: content for path, content in changed.items() if "wheelmill" not in path}
    assert (project / "uv.lock").exists()
    assert files_in(state) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_change_that_fails_is_undone(error: type[BaseException], project: Path, state: Path) -> None:
    before = content_of(project)
    fail_after(lambda: change(project), project, error)
    assert content_of(project) == before
    assert files_in(state) == []


def test_an_unchanged_file_is_not_touched(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "pyproject.toml").write_text("")

    def refuse(path: Path, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    def fail() -> None:
        monkeypatch.setattr(Path, "chmod", refuse)
        raise OSError("full")

    said: list[str] = []
    with pytest.raises(OSError, match="full"), roll_back_on_failure(tmp_path, [file], None, said.append):
        fail()
    assert (said, [*state.glob("**/journals/*.json")]) == ([], [])


@pytest.mark.parametrize("is_new", [True, False])
def test_an_environment_that_was_made_is_removed_or_replaced(project: Path, *, is_new: bool) -> None:
    if is_new:
        shutil.rmtree(project / ".venv")
    before = content_of(project)

    def make() -> None:
        shutil.rmtree(project / ".venv", ignore_errors=is_new)
        environment_tree(project / ".venv")
        (project / ".venv" / "new").touch()

    fail_after(make, project)
    assert content_of(project) == before


def test_a_file_where_the_environment_would_be_stays(project: Path, state: Path) -> None:
    """Some tools keep the name of an environment in one."""
    shutil.rmtree(project / ".venv")
    (project / ".venv").write_text("mine\n")
    before = content_of(project)
    assert fail_after((project / "uv.lock").touch, project) == []
    assert content_of(project) == before
    assert files_in(state) == []


def test_an_environment_in_a_folder_that_cannot_be_written(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, _mode: path != project)
    before, environment = content_of(project), project / ".venv"

    def fail() -> None:
        with (
            exclusive(environment, print),
            roll_back_on_failure(environment, (), InstallPlace.of_environment(environment), print),
        ):
            assert list(environment.glob(".wheelmill-journal-*"))
            shutil.rmtree(environment / "torch")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert content_of(project) == before


def test_a_read_only_environment_is_refused(project: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, check=coded("place-not-writable", "project")), change_in(project):
        raise AssertionError
    assert files_in(state) == []


def test_without_a_journal_nothing_is_changed(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError) as caught, change_in(project):
        raise AssertionError
    assert "XDG_STATE_HOME" in caught.value.explained


def test_killed_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int) -> None:
    def prepare(folder: Path) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        make_project(folder / "project")

    def action(folder: Path) -> None:
        with change_in(folder / "project"):
            change(folder / "project")

    seen = []
    for folder in killed_at_every_step(tmp_path, prepare, action, stride):
        roll_back_interrupted(folder / "project", print)
        with exclusive(folder / "project", print):
            content = content_of(folder / "project")
        seen += [content] if content not in seen else []
        assert files_in(folder / "state" / "wheelmill" / "journals") in ([], [".part"])
        shutil.rmtree(folder)
    make_project(tmp_path / "before")
    make_project(tmp_path / "after")
    change(tmp_path / "after")
    assert seen == [content_of(tmp_path / "before"), content_of(tmp_path / "after")]


def test_killed_at_every_step_of_putting_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int) -> None:
    def prepare(folder: Path) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        make_project(folder / "project")
        kill_in_the_middle(folder / "project")

    def put_back(folder: Path) -> None:
        roll_back_interrupted(folder / "project", print)

    make_project(tmp_path / "before")
    for folder in killed_at_every_step(tmp_path, prepare, put_back, stride):
        with exclusive(folder / "project", print):
            assert content_of(folder / "project") == content_of(tmp_path / "before")
        shutil.rmtree(folder)


def test_what_was_left_of_an_environment_is_undone_by_the_next_command_on_it(project: Path) -> None:
    before = content_of(project)
    kill_in_the_middle(project)
    assert content_of(project) != before
    said: list[str] = []
    with exclusive(project / ".venv", said.append):
        assert content_of(project) == before
    assert "half changed" in said[-1]


def test_who_only_reads_is_told_whether_anything_was_left(project: Path, tmp_path: Path) -> None:
    assert not roll_back_interrupted(project, print)
    kill_in_the_middle(project)
    assert not roll_back_interrupted(tmp_path, print)
    assert roll_back_interrupted(project, print)
    assert not roll_back_interrupted(project, print)


def test_another_place_is_left_alone(project: Path, tmp_path: Path) -> None:
    kill_in_the_middle(project)
    left = content_of(project)
    with exclusive(tmp_path, print):
        assert content_of(project) == left


def test_who_only_reads_does_not_wait_for_a_command_that_is_alive(project: Path) -> None:
    with change_in(project):
        change(project)
        assert not roll_back_interrupted(project, print)
        assert (project / "uv.lock").exists()


def test_a_project_that_was_cloned_anew_since_is_left_alone(project: Path, state: Path) -> None:
    """As one of the same path on another machine, where home folders are shared."""
    kill_in_the_middle(project)
    shutil.rmtree(project)
    make_project(project)
    (project / "pyproject.toml").write_text("[project]\nname = 'another'\n")
    before = content_of(project)
    with exclusive(project, print):
        assert content_of(project) == before
    assert files_in(state / "journals") == []


def test_what_somebody_wrote_since_is_kept(project: Path, state: Path) -> None:
    kill_in_the_middle(project)
    (project / "pyproject.toml").write_text("[project]\n# an hour of work\n")
    said: list[str] = []
    with exclusive(project, said.append):
        assert (project / "pyproject.toml").read_text() == "[project]\n"
    kept = [path for path in (state / "undone").iterdir() if path.read_text() == "[project]\n# an hour of work\n"]
    assert [str(path) in "".join(said) for path in kept] == [True]


def test_a_snapshot_that_was_removed_in_part_puts_nothing_back(project: Path, state: Path) -> None:
    """Where it was is another folder now: a project lies elsewhere, and its environment was made anew."""
    environment = project.parent / "elsewhere"
    shutil.move(project / ".venv", environment)
    child = os.fork()
    if child == 0:
        place = InstallPlace.of_environment(environment)
        with exclusive(project, print), roll_back_on_failure(project, [project / "pyproject.toml"], place, print):
            (project / "pyproject.toml").write_text("changed")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (scratch,) = environment.parent.glob(".wheelmill-journal-*")
    shutil.rmtree(scratch)
    with exclusive(project, print):
        assert (project / "pyproject.toml").read_text() == "changed"
    assert files_in(state / "journals") == []


def test_an_installation_that_is_no_environment_has_its_snapshot_in_it(project: Path) -> None:
    """What is beside it belongs to somebody else."""
    base = project.parent / "prefix"
    environment_tree(base / "lib")
    before = content_of(base)
    place = InstallPlace(base=base, trees=(base / "lib",), interpreter=base / "bin" / "python")

    def fail() -> None:
        with exclusive(project, print), roll_back_on_failure(project, (), place, print):
            assert len(list(base.glob(".wheelmill-journal-*"))) == 1
            shutil.rmtree(base / "lib")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert content_of(base) == before


def test_without_files_and_without_an_environment_nothing_is_written_beside_a_project(project: Path) -> None:
    with exclusive(project, print), roll_back_on_failure(project, (), None, print):
        assert not list(project.glob(".wheelmill-journal-*"))


def test_without_an_environment_only_files_are_put_back(project: Path) -> None:
    before = content_of(project)
    child = os.fork()
    if child == 0:
        with exclusive(project, print), roll_back_on_failure(project, [project / "new.toml"], None, print):
            (project / "new.toml").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with exclusive(project, print):
        assert content_of(project) == before


WAITS = """
import pathlib, sys
from wheelmill.client.project.journal import exclusive
with exclusive(pathlib.Path(sys.argv[1]), lambda text: print(text, flush=True)):
    print("has it", flush=True)
"""


def test_the_second_command_waits_and_says_for_whom(project: Path) -> None:
    with change_in(project):
        other = subprocess.Popen([sys.executable, "-c", WAITS, project], stdout=subprocess.PIPE, text=True)
        assert other.stdout
        said = other.stdout.readline()
        assert f"process {os.getpid()} (" in said
        assert "waiting" in said
        assert other.poll() is None
    with other:
        assert other.stdout.read() == "has it\n"


def test_an_installer_that_outlives_its_command_is_waited_for(project: Path, tmp_path: Path) -> None:
    """The command is killed, and the program that it started goes on changing the environment."""
    before = content_of(project)
    os.mkfifo(tmp_path / "go")
    child = os.fork()
    if child == 0:
        with change_in(project):
            code = f"read _ < {tmp_path / 'go'}; touch {project / '.venv' / 'late'}"
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
            process.run(["sh", "-c", code])
        os._exit(1)
    os.waitpid(child, 0)
    with subprocess.Popen([sys.executable, "-c", WAITS, project], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert "waiting" in other.stdout.readline()
        (tmp_path / "go").write_text("\n")
        assert other.stdout.read().endswith("has it\n")
    assert content_of(project) == before


def test_a_journal_in_somebody_elses_folder_is_not_read(project: Path, state: Path) -> None:
    kill_in_the_middle(project)
    (written,) = (state / "journals").glob("*.json")
    for name in (".wheelmill-journal", "journal.json", ".wheelmill/journals/a.json"):
        (project / name).parent.mkdir(exist_ok=True, parents=True)
        (project / name).write_bytes(written.read_bytes())
    written.unlink()
    left = content_of(project)
    with exclusive(project, print):
        assert content_of(project) == left


def test_a_journal_of_another_user_is_not_believed(project: Path, monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    kill_in_the_middle(project)
    left = content_of(project)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with exclusive(project, print):
        assert content_of(project) == left
    assert list((state / "journals").glob("*.json"))


def test_a_journal_of_a_newer_version_is_not_undone_and_nothing_goes_on(project: Path, state: Path) -> None:
    kill_in_the_middle(project)
    (written,) = (state / "journals").glob("*.json")
    written.write_text(json.dumps({**json.loads(written.read_bytes()), "format": 99, "unknown": 1}))
    left = content_of(project)
    with pytest.raises(UsageError, check=coded("journal-newer")), exclusive(project, print):
        raise AssertionError
    assert content_of(project) == left


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"format": "x", "places": []}', '{"format": 1, "places": 3}', '{"format": 1, "pla']
)
def test_a_journal_that_somebody_wrote_is_named(content: str, project: Path, state: Path) -> None:
    (state / "journals").mkdir(parents=True)
    (state / "journals" / "x.json").write_text(content)
    with pytest.raises(UsageError, check=coded("journal-damaged", "x.json")), exclusive(project, print):
        raise AssertionError


def test_a_snapshot_that_is_not_whole_removes_nothing(project: Path, state: Path) -> None:
    """The machine lost power, and the disk had the journal but not all of the snapshot."""
    kill_in_the_middle(project)
    (scratch,) = project.glob(".wheelmill-journal-*")
    (scratch / "0" / "script").unlink()
    said: list[str] = []
    with exclusive(project, said.append):
        assert (project / ".venv" / "script").exists()
        assert (project / "pyproject.toml").read_text() == "[project]\n"
    assert "not whole" in "".join(said)
    assert files_in(state / "journals") == []


def test_what_cannot_be_undone_now_is_by_the_next_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device", "uv.lock")

    before = content_of(project)
    with monkeypatch.context() as patched:
        patched.setattr(journal, "restore_snapshot", refuse)
        said = fail_after(lambda: change(project), project)
    assert "uv.lock: No space left on device; the next command" in said[0]
    with exclusive(project, print):
        assert content_of(project) == before


def test_removing_what_was_made_gives_a_full_disk_room_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, content: bytes, *, mode: int = 0o600) -> None:
        in_the_way = (project / ".venv").exists() or (project / "uv.lock").exists()
        if path.is_relative_to(project) and in_the_way:
            raise OSError(28, "No space left on device", str(path))
        path.write_bytes(content)
        path.chmod(mode)

    def add() -> None:
        environment_tree(project / ".venv")
        for name in ("pyproject.toml", "uv.lock"):
            (project / name).write_text("new")
        monkeypatch.setattr(journal, "write_durably", write)

    shutil.rmtree(project / ".venv")
    before = content_of(project)
    assert fail_after(add, project) == []
    assert content_of(project) == before


def test_an_environment_stuck_half_way_keeps_no_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted", ".venv")

    monkeypatch.setattr(journal, "restore_snapshot", refuse)
    had = (project / "pyproject.toml").read_bytes()
    assert ".venv: Operation not permitted" in fail_after(lambda: change(project), project)[0]
    assert (project / "pyproject.toml").read_bytes() == had
