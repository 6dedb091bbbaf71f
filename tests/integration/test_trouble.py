"""What a person sees when the machine is in the way: a silent server, an interruption, a folder that is none."""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.interruptions import interrupt
from tests.page_server import Answer, PageServer, links_page
from tests.wheels import wheel_name

TARGET = ("--python", "3.12", "--torch", "2.8", "--cuda", "cu128", "--platform", "linux_x86_64")


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """A server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        yield listening


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGHUP, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)]
)
def test_an_interruption_is_immediate(silent_server: socket.socket, tmp_path: Path, number: signal.Signals) -> None:
    source = f"simple:http://127.0.0.1:{silent_server.getsockname()[1]}"
    connections = []

    def when(_process: int) -> bool:
        connections.append(silent_server.accept())
        return True

    interrupt(number, "resolve", "demo", *TARGET, "--source", source, cache=tmp_path, when=when)
    connections[0][0].close()


def test_a_file_that_cannot_be_written_is_named(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    (tmp_path / "file").touch()
    done = wheelmill("resolve", "demo", "--no-look", *TARGET, "--output", "file/pyproject.toml", exit_code=2)
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert "file" in done.stderr.splitlines()[-1]


def test_an_unusable_cache_is_named_and_not_used(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    (tmp_path / "file").touch()
    done = wheelmill("resolve", "demo", "--no-look", *TARGET, exit_code=0, XDG_CACHE_HOME=tmp_path / "file")
    (warning,) = (line for line in done.stderr.splitlines() if line.startswith("warning: "))
    assert "--no-cache" in warning
    assert "XDG_CACHE_HOME" in warning
    plain = wheelmill("resolve", "demo", "--no-look", "--no-cache", *TARGET, XDG_CACHE_HOME=tmp_path / "file")
    assert plain.stdout == done.stdout
    assert "warning" not in plain.stderr


def test_no_wheel_while_a_source_is_silent_is_a_fault_of_the_network(wheelmill: Command, server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page())
    wheelmill("resolve", "demo", *TARGET, exit_code=8).check_refused("no-wheel", "demo")
    server.pages["/wheels/"] = Answer(status=401)
    done = wheelmill("resolve", "demo", *TARGET, "--refresh", "--no-cache", exit_code=10)
    done.check_refused("sources-silent", "demo", f"{server.url}/wheels/")
    assert done.stderr.count(" 401 ") == 1  # with the outcome of the source, and not as a warning, too
    server.pages["/others/"] = Answer(links_page())
    others = ("--extra-source", f"{server.url}/others/")
    done = wheelmill("resolve", "demo", *TARGET, *others, "--refresh", "--no-cache", exit_code=10)
    done.check_refused("sources-silent", f"{server.url}/wheels/")
