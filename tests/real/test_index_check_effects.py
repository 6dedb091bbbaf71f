"""What pip and uv do with an index that breaks a rule is what the rule says of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broken_indexes import BROKEN, good_index
from tests.simple_server import Server, serving
from wheelmill.conformance.rules import RULES
from wheelmill.conformance.violation import Effect

pytestmark = pytest.mark.real

RULE = {rule.number: rule for rule in RULES}
PROJECT = {"503.2": "gone"}
"""The project whose page is broken, if it is not demo."""


def installing(*argv: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an installer without this machine's own settings."""
    settings = {name: text for name, text in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    env = settings | {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


def pip(url: str, project: str, folder: Path) -> subprocess.CompletedProcess[str]:
    options = ("--no-cache-dir", "--retries", "0", "--index-url", url, "--dest", str(folder / "pip"))
    return installing(sys.executable, "-m", "pip", "download", *options, project, folder=folder)


def uv(url: str, project: str, folder: Path) -> subprocess.CompletedProcess[str]:
    options = ("--python", sys.executable, "--index-url", url, "--target", str(folder / "uv"))
    return installing(sys.executable, "-m", "uv", "pip", "install", *options, project, folder=folder)


@pytest.mark.parametrize("installer", [pip, uv])
def test_an_index_that_keeps_every_rule_serves_both(installer: type, tmp_path: Path) -> None:
    with serving(Server()) as server:
        good_index(tmp_path, server.url).put_on(server)
        done = installer(f"{server.url}/simple/", "demo", tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("installer", [pip, uv])
@pytest.mark.parametrize("number", BROKEN)
def test_the_effect_is_the_one_that_the_rule_tells(number: str, installer: type, tmp_path: Path) -> None:
    with serving(Server()) as server:
        index = good_index(tmp_path, server.url)
        BROKEN[number](index)
        index.put_on(server)
        done = installer(f"{server.url}/simple/", PROJECT.get(number, "demo"), tmp_path)
    effect: Effect = getattr(RULE[number], installer.__name__)
    said = done.stdout + done.stderr
    assert (done.returncode != 0) == effect.fails, said
