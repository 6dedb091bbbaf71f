"""A wheel with a changed byte is refused before it is installed, wherever it was changed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, links_page
from tests.wheels import write_wheel
from wheelmill.system.files import sha256_of
from wheelmill.web.ranges import WHOLE

INTO = ("--python-path", ".venv/bin/python")
NO_TORCH = {"UV_TORCH_BACKEND": "cpu"}


def with_a_flipped_byte(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.fixture
def change_served(server: PageServer, tmp_path: Path) -> Callable[[], None]:
    """Change the wheel that is served; its page goes on giving the hash that it had."""
    large = {"demo/data.bin": os.urandom(WHOLE)}  # so it is read in pieces, or downloaded
    wheel = write_wheel(tmp_path / "site" / "demo-1.0-py3-none-any.whl", files=large)
    path = f"/wheels/{wheel.name}"
    server.pages |= {
        "/wheels/": Answer(links_page(wheel.name, sha256=sha256_of(wheel))),
        path: Answer(wheel.read_bytes()),
    }

    def change() -> None:
        server.pages[path] = Answer(with_a_flipped_byte(wheel.read_bytes()))

    return change


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Where an empty virtual environment keeps packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    (packages,) = (tmp_path / ".venv" / "lib").glob("python*/site-packages")
    return packages


@pytest.mark.parametrize("command", [("install", "demo"), ("install", "--lock", "pylock.toml"), ("sync",)])
def test_a_changed_byte_is_refused(
    command: tuple[str, ...], change_served: Callable[[], None], environment: Path, wheelmill: Command, tmp_path: Path
) -> None:
    wheelmill("lock", "demo", *INTO, **NO_TORCH)
    (cached,) = (tmp_path / "cache").rglob("demo-*.whl")
    cached.write_bytes(with_a_flipped_byte(cached.read_bytes()))
    offline = () if "demo" in command else ("--offline",)
    on_disk = wheelmill(*command, *INTO, *offline, exit_code=9, **NO_TORCH)
    on_disk.check_refused("cached-file-changed")
    change_served()
    downloaded = wheelmill(*command, *INTO, exit_code=9, **NO_TORCH)
    downloaded.check_refused("hash-differs")
    assert list(environment.iterdir()) == []
    assert list((tmp_path / "cache").rglob("demo-*.whl")) == []


def test_a_changed_byte_is_not_locked(change_served: Callable[[], None], wheelmill: Command, tmp_path: Path) -> None:
    change_served()
    wheelmill("lock", "demo", exit_code=9, **NO_TORCH)
    assert not (tmp_path / "pylock.toml").exists()
