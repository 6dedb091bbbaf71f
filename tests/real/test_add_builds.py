"""A package that nobody built for this combination is compiled by ``add``, once."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from platformdirs import user_cache_path
from uv import find_uv_bin

from tests.machine_folders import BASE
from tests.real.conftest import DEMO, Command, sampled

pytestmark = pytest.mark.real

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
UV = find_uv_bin()

Add = Callable[..., tuple[Path, str]]


@pytest.fixture
def add(tmp_path: Path, wheelmill: Command) -> Add:
    """Add a package to a fresh project; gives its folder and what was said."""
    # Wheels are kept here only; objects that were compiled for an earlier run may be used again.
    (tmp_path / "cache" / "wheelmill").mkdir(parents=True)
    compiled = user_cache_path("wheelmill") / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache" / "wheelmill" / "compiled").symlink_to(compiled)
    uv_cache = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()

    def run(project: str, package: str, *options: str, config: Path) -> tuple[Path, str]:
        folder = tmp_path / project
        folder.mkdir()
        (folder / "pyproject.toml").write_text(
            f'[project]\nname = "{project}"\nversion = "1"\nrequires-python = "=={PYTHON}.*"\ndependencies = []\n'
        )
        env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "UV_CACHE_DIR": uv_cache, "WHEELMILL_CONFIG": str(config)}
        target = ("--python-path", str(BASE), "--cuda", "13.0", "--gpu", "sm_90", *options)
        return folder, wheelmill("add", package, "--project", folder, *target, env=env).stderr

    return run


def synced(project: Path) -> str:
    """What ``uv sync`` says of a project."""
    done = subprocess.run([UV, "sync"], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


OF_CUDA: tuple[str, list[str], Path] = ("wheelmill-demo", [], DEMO)
OF_TORCH = ("wheelmill-demo-torch", ["--torch", "2.11"], DEMO.with_name("torch_demo"))


@sampled(("package", "options", "config"), [OF_CUDA, OF_TORCH], OF_CUDA)
def test_the_second_project_takes_the_wheel_that_the_first_one_built(
    package: str, options: list[str], config: Path, add: Add, tmp_path: Path
) -> None:
    first, said = add("first", package, "--build", *options, config=config)
    assert "compiling" in said
    built = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cache/wheelmill/built-here/*/*")}
    second, said = add("second", package, *options, config=config)
    assert "compiling" not in said
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("cache/wheelmill/built-here/*/*")} == built
    (wheel,) = (path for path in built if path.suffix == ".whl")
    for project in (first, second):
        assert wheel.as_uri() in (project / "pyproject.toml").read_text()
        assert " + " not in synced(project)
        module = package.replace("-", "_")
        subprocess.run([project / ".venv" / "bin" / "python", "-c", f"import {module}"], check=True)
