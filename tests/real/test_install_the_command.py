"""The command as README says it is installed, from a repository: this one stands for the one on GitHub."""

import os
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from tests.machine_folders import constraints, locked, new_environment
from tests.real.conftest import ROOT, sampled
from wheelmill.index.serve import serve_folder

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a clone, on a host that knows nothing of git."""
    folder = tmp_path_factory.mktemp("host")
    subprocess.run(["git", "clone", "--quiet", "--bare", ROOT, "wheelmill"], cwd=folder, check=True)
    subprocess.run(["git", "update-server-info"], cwd=folder / "wheelmill", check=True)
    with serve_folder(folder) as url:
        yield f"git+{url}wheelmill"


def run(*argv: str | Path, home: Path) -> str:
    places = {"UV_TOOL_DIR": "uv", "UV_TOOL_BIN_DIR": "bin", "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin"}
    env = {**os.environ, **constraints(), **{name: str(home / folder) for name, folder in places.items()}}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@sampled("tool", ["uv tool install", "pipx install", "pip install"], "uv tool install")
def test_the_command_comes_from_a_repository(tool: str, repository: str, tmp_path: Path) -> None:
    program, *words = tool.split()
    new_environment(tmp_path / "tools")
    tools = tmp_path / "tools" / "bin"
    if program != "pip":
        wanted = locked("pipx") if program == "pipx" else (program,)
        run(tools / "pip", "install", "--quiet", *wanted, home=tmp_path)
    run(tools / program, *words, "--quiet", f"wheelmill @ {repository}", home=tmp_path)
    command = (tools if program == "pip" else tmp_path / "bin") / "wheelmill"
    assert run(command, "--version", home=tmp_path) == f"{metadata.version('wheelmill')}\n"
    assert "add" in run(command, "--help", home=tmp_path)
