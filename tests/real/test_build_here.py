"""Wheels that are built on this machine because nobody else has them."""

from pathlib import Path

import pytest

from tests.real.conftest import DEMO, Command

pytestmark = pytest.mark.real


def test_the_same_inputs_are_built_once(wheelmill: Command, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    build = ("build", "wheelmill-demo", "--here", "--config", DEMO, "--python", "3.12", "--cuda", "13.0")
    first = wheelmill(*build, "--gpu", "sm_90", env=env)
    again = wheelmill(*build, "--gpu", "9.0", env=env)
    assert "built before with the same inputs" in again.stderr
    assert first.stdout == again.stdout
    assert Path(first.stdout.strip()).name.startswith("wheelmill_demo-1.0.0+cu130-cp312-")
