"""When installing fails, the files of a project and its environment are as they were."""

import os
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, links_page
from tests.trees import content_of, environment_tree
from tests.wheels import wheel_name

TARGET = ("--python", "3.12", "--platform", "linux_x86_64", "--libc", "2.34", "--torch", "2.8", "--cuda", "12.8")


@pytest.fixture
def failing_uv(tmp_path: Path) -> dict[str, str]:
    """A uv that has begun to lock and to install when it fails, first on PATH."""
    program = tmp_path / "bin" / "uv"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\necho half > uv.lock\nrm -r .venv/torch\nmkdir -p .venv/new\necho 'no space left' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


def files_of(project: Path) -> dict[str, tuple[int, bytes | str | None]]:
    ours = ("bin", "cache", "state")
    return {name: content for name, content in content_of(project).items() if name.partition("/")[0] not in ours}


@pytest.mark.parametrize("command", [("add", "other", *TARGET), ("update", *TARGET), ("remove", "demo")])
def test_the_files_are_as_they_were(
    command: tuple[str, ...], failing_uv: dict[str, str], wheelmill: Command, server: PageServer, tmp_path: Path
) -> None:
    old, new = wheel_name("1.0"), wheel_name("1.1")
    server.pages["/wheels/"] = Answer(links_page(old))
    wheelmill("add", "demo", "--no-sync", "--no-look", *TARGET)
    (tmp_path / "uv.lock").write_text("version = 1\n")
    environment_tree(tmp_path / ".venv")
    before = files_of(tmp_path)
    server.pages["/wheels/"] = Answer(links_page(old, new, wheel_name(project="other")))
    look = () if command[0] == "remove" else ("--no-look", "--refresh")
    done = wheelmill(*command, *look, exit_code=2, **failing_uv)
    done.check_refused("install-failed", "no space left")  # in the words of uv
    assert files_of(tmp_path) == before


def test_a_folder_stays_empty(
    failing_uv: dict[str, str], wheelmill: Command, server: PageServer, tmp_path: Path
) -> None:
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    wheelmill("add", "demo", "--no-look", *TARGET, exit_code=2, **failing_uv)
    assert files_of(tmp_path) == {}
