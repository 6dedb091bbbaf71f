"""Containers end with the run that started them, however it ends."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.fake_docker import FakeDocker, Reply, put_first_on_path
from tests.refusals import coded
from wheelmill.errors import BuildError, ProcessError, UsageError
from wheelmill.system.containers import Container, answered, claim_run, ran_out_of_memory, start_container

RUN = "a-run"
ENDS = [None, ValueError, KeyboardInterrupt, SystemExit]

HOLD = """
import time
from wheelmill.system.containers import claim_run
with claim_run() as run:
    print(run, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this person's runs have their locks."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "wheelmill" / "runs"


@pytest.fixture
def docker_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """A docker that is a program, as the real one is."""
    answered.clear()
    return put_first_on_path(tmp_path / "program", monkeypatch, for_us=True)


@contextmanager
def run_of_another_process() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A run that goes on elsewhere, and its process."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def killed_run() -> str:
    """A run whose process was killed."""
    with run_of_another_process() as (run_id, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
    return run_id


def abandoned_run(locks: Path) -> str:
    """What is left of a run whose process was killed: a lock that is free."""
    with claim_run() as run:
        left = f"{run.partition('-')[0]}-left"
    (locks / left).touch()
    return left


def removed(docker: FakeDocker) -> list[str]:
    """The containers that were removed: with their volumes, and also those that ran."""
    commands = docker.asked("rm")
    assert all(argv[:3] == ["rm", "--force", "--volumes"] for argv in commands)
    return [container for argv in commands for container in argv[3:]]


def test_what_a_killed_run_left_is_removed_by_the_next_one(docker: FakeDocker, locks: Path) -> None:
    run_id = killed_run()
    assert [path.name for path in locks.iterdir()] == [run_id]
    docker.has_containers({run_id: ("first", "second")})
    with claim_run() as run:
        assert removed(docker) == ["first", "second"]
        assert [path.name for path in locks.iterdir()] == [run]


def test_what_a_run_of_a_living_process_has_stays(docker: FakeDocker, locks: Path) -> None:
    dead = abandoned_run(locks)
    with run_of_another_process() as (alive, _process):
        docker.has_containers({dead: ("old",), alive: ("young",)})
        with claim_run() as run:
            assert removed(docker) == ["old"]
            assert {path.name for path in locks.iterdir()} == {alive, run}


def test_two_runs_of_one_process_leave_each_other_alone(docker: FakeDocker) -> None:
    with claim_run() as first:
        docker.has_containers({first: ("first",)})
        with claim_run() as second:
            assert second != first
            assert removed(docker) == []


def test_a_lock_that_was_deleted_is_free(docker: FakeDocker, locks: Path) -> None:
    run_id = abandoned_run(locks)
    (locks / run_id).unlink()
    docker.has_containers({run_id: ("lost",)})
    with claim_run():
        assert removed(docker) == ["lost"]


def test_another_users_containers_stay(docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = abandoned_run(tmp_path / "cache" / "wheelmill" / "runs")
    docker.has_containers({theirs: ("theirs",), "of-another-machine": ("far",)})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of another person"))
    with claim_run():
        assert removed(docker) == []


def test_only_one_cleans_up_after_a_run(docker: FakeDocker, locks: Path, tmp_path: Path) -> None:
    """Docker reports an error where two remove the same container at once."""
    run_id = abandoned_run(locks)
    docker.has_containers({run_id: ("left",)})
    docker.reply(("rm",), Reply(does=f"flock --nonblock {locks / run_id} true; echo $? > {tmp_path / 'other'}"))
    with claim_run():
        assert (tmp_path / "other").read_text() == "1\n"


@pytest.mark.parametrize("end", ENDS)
def test_a_run_takes_its_containers_with_it(end: type[BaseException] | None, docker: FakeDocker, locks: Path) -> None:
    with pytest.raises(end) if end else nullcontext(), claim_run() as run:
        docker.has_containers({run: ("own",)})
        if end:
            raise end
    assert removed(docker) == ["own"]
    assert list(locks.iterdir()) == []


@pytest.mark.parametrize("end", ENDS)
def test_a_container_lives_as_long_as_its_context(end: type[BaseException] | None, docker: FakeDocker) -> None:
    docker.answer("create", says="WARNING: no swap limit\nc0ffee\n")
    docker.answer("start")
    docker.answer("rm")
    with (
        pytest.raises(end) if end else nullcontext(),
        start_container("image:1", RUN, ["--network", "none"]) as container,
    ):
        assert container == Container(id="c0ffee")
        assert docker.asked("start") == [["start", "c0ffee"]]
        assert removed(docker) == []
        if end:
            raise end
    assert removed(docker) == ["c0ffee"]
    (create,) = docker.asked("create")
    assert create[-5:] == ["--network", "none", "image:1", "sleep", "infinity"]
    for option, value in (("--label", "wheelmill=a-run"), ("--pull", "never")):
        assert create[create.index(option) + 1] == value


def test_a_container_that_does_not_start_is_removed(docker: FakeDocker) -> None:
    docker.answer("create", says="c0ffee\n")
    docker.reply(("start",), Reply("no such network", exit_code=1))
    docker.answer("rm")
    with pytest.raises(ProcessError), start_container("image:1", RUN, []):
        pytest.fail("it did not start")
    assert removed(docker) == ["c0ffee"]


def test_a_program_runs_in_a_container_with_its_variables(docker_program: FakeDocker) -> None:
    docker_program.answer("exec", says="done\n")
    container = Container(id="c0ffee")
    assert container.run(["python", "-c", "1; 2"], env={"HOME": "/room", "EMPTY": ""}) == "done\n"
    container.start(["server", "80"])
    assert docker_program.asked() == [
        ["exec", "--env", "HOME=/room", "--env", "EMPTY=", "c0ffee", "python", "-c", "1; 2"],
        ["exec", "--detach", "c0ffee", "server", "80"],
    ]


def test_a_program_that_fails_in_a_container_is_an_error_with_what_it_said(docker_program: FakeDocker) -> None:
    docker_program.reply(("exec",), Reply("no module named demo", exit_code=7))
    with pytest.raises(ProcessError) as failure:
        Container(id="c0ffee").run(["python"])
    assert (failure.value.returncode, failure.value.tail) == (7, "no module named demo")


@pytest.mark.parametrize(("events", "expected"), [("", False), ("2026-11-21T12:00:00Z container oom c0ffee\n", True)])
def test_the_daemon_knows_whether_memory_was_used_up(docker: FakeDocker, events: str, *, expected: bool) -> None:
    docker.answer("events", says=events)
    assert ran_out_of_memory(RUN, since=1000) is expected
    (asked,) = docker.asked("events")
    assert "--until" in asked  # else it would wait for more
    assert asked[asked.index("--since") + 1] == "1000"
    assert {"label=wheelmill=a-run", "event=oom"} < set(asked)


def test_a_machine_without_docker_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, check=coded("docker-absent", "--sandbox local")), claim_run():
        pytest.fail("there is no docker")


def test_a_daemon_that_is_lost_is_a_build_error_and_not_the_fault_of_what_ran_in_it(docker: FakeDocker) -> None:
    docker.answer("create", says="c0ffee\n")
    docker.answer("start")
    with claim_run() as run, start_container("image:1", run, []) as container:
        docker.reply((), Reply("Cannot connect to the daemon", exit_code=1))
        with pytest.raises(BuildError, check=coded("docker-silent", "Cannot connect")):
            container.run(["python"])
    with pytest.raises(BuildError, check=coded("docker-silent")), claim_run():
        pytest.fail("there is no daemon")


def test_a_daemon_that_does_not_answer_is_named_with_what_to_do(docker: FakeDocker, locks: Path) -> None:
    docker.reply(("version",), Reply("Cannot connect to the daemon at unix:///var/run/docker.sock.", exit_code=1))
    with pytest.raises(UsageError, check=coded("docker-silent", "docker.sock", "systemctl start docker")), claim_run():
        pytest.fail("there is no daemon")
    assert not locks.exists()


@pytest.mark.parametrize(
    "answer",
    [
        # Client 28, seen as another user; https://github.com/moby/moby has the others: client 20.10 and client 29
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get ...",
        "Got permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
        "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock",
    ],
)
def test_a_user_without_the_right_to_the_socket_is_told_whose_it_is(answer: str, docker: FakeDocker) -> None:
    answered.clear()
    docker.reply(("version",), Reply(answer, exit_code=1))
    with pytest.raises(UsageError, check=coded("docker-denied", "--groups docker")) as failure, claim_run():
        pytest.fail("nothing may be asked")
    assert "systemctl" not in failure.value.explained


@pytest.mark.parametrize(
    "answer", ["Error response from daemon: mkdir: no space left on device", "No space left on device"]
)
def test_a_full_disk_of_docker_is_no_fault_of_what_runs_there(answer: str, docker: FakeDocker) -> None:
    docker.reply(("create",), Reply(answer, exit_code=1))
    with pytest.raises(BuildError, check=coded("disk-full", answer)) as failure, start_container("image:1", RUN, []):
        pytest.fail("there is no container")
    assert "prune" not in failure.value.explained  # which removes images of others


def test_what_a_program_in_a_container_prints_is_its_own(docker: FakeDocker) -> None:
    docker.reply(("exec",), Reply("no space left on device", exit_code=1))
    with pytest.raises(ProcessError):
        Container(id="c0ffee").run(["python"])
