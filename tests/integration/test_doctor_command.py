"""``wheelmill doctor`` as people and programs use it."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed import FLASH_FILES, TORCH_FILES, install
from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, links_page
from tests.trees import content_of
from tests.wheels import wheel_name, write_wheel
from wheelmill.system import process
from wheelmill.system.files import sha256_of

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
TAG = f"cp{HERE.replace('.', '')}-cp{HERE.replace('.', '')}-linux_x86_64"
TARGET = ("--python", "3.12", "--torch", "2.8", "--cuda", "cu128", "--platform", "linux_x86_64")


@pytest.fixture(scope="session")
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "venv"
    process.run([sys.executable, "-m", "venv", "--without-pip", folder])
    return folder


@pytest.fixture
def environment(bare_environment: Path, tmp_path: Path) -> Path:
    """An environment with flash-attn and without the torch that it needs."""
    folder = tmp_path / ".venv"
    shutil.copytree(bare_environment, folder, symlinks=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    files = {name: content for name, content in FLASH_FILES.items() if name.endswith(".py")}
    install(site, "flash-attn", "2.8.3+cu130torch2.11", files, tag=TAG, requires=["torch==2.11.*"])
    return site


def a_uv(folder: Path, *, does: str) -> Path:
    """A program of that name, first on PATH."""
    folder.mkdir()
    program = folder / "uv"
    program.write_text(f'#!/bin/sh\nPATH="${{PATH#*:}}"\necho "$@" >> "{folder}/asked"\n{does}\n')
    program.chmod(0o755)
    return program


def test_a_fault_has_a_code_and_the_command_that_mends_it(wheelmill: Command, environment: Path) -> None:
    done = wheelmill("doctor", "--json", "--offline", exit_code=9)
    found = json.loads(done.stdout)
    (fault,) = found["faults"]
    assert (fault["code"], fault["subject"]) == ("torch-missing", "torch")
    assert "'torch==2.11.*'" in fault["mended_by"][0]
    done.check_refused("faults-found", fault["mended_by"][0])
    assert found["looked_at"]["torch"] == "not installed"
    assert "1 distribution" in done.stderr
    assert environment.exists()


def test_a_module_in_the_folder_is_told_and_not_run(wheelmill: Command, environment: Path, tmp_path: Path) -> None:
    install(environment, "torch", "2.11.0", TORCH_FILES, tag=TAG)
    (tmp_path / "torch.py").write_text("open('it-was-run', 'w')\n")
    (tmp_path / "json.py").write_text("open('it-was-run', 'w')\n")
    found = json.loads(wheelmill("doctor", "--json", "--offline", exit_code=9).stdout)
    codes = {fault["code"]: fault for fault in found["faults"]}
    assert codes["import-path"]["mended_by"] == [f"mv {tmp_path}/torch.py {tmp_path}/torch_.py"]
    assert not (tmp_path / "it-was-run").exists()


def test_fix_runs_the_command_and_examines_again(wheelmill: Command, environment: Path, tmp_path: Path) -> None:
    there = tmp_path / "torch-to-install"
    install(
        there, "torch", "2.11.0", {name: each for name, each in TORCH_FILES.items() if name.endswith(".py")}, tag=TAG
    )
    program = a_uv(tmp_path / "bin", does=f'cp -r "{there}"/* "{environment}"')
    path = f"{program.parent}:{os.environ['PATH']}"
    done = wheelmill("doctor", "--fix", "--yes", "--offline", "--json", PATH=path)
    assert json.loads(done.stdout)["faults"] == []
    assert "pip install --python" in (program.parent / "asked").read_text()
    assert "uv pip install" in done.stderr


def test_a_command_that_fails_is_run_once(wheelmill: Command, environment: Path, tmp_path: Path) -> None:
    program = a_uv(tmp_path / "bin", does=f'rm -r "{environment}/flash_attn"; echo no such index; exit 2')
    before = content_of(environment)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = wheelmill("doctor", "--fix", "--yes", "--offline", exit_code=9, PATH=path)
    done.check_refused("faults-found", "no such index")  # in the words of uv
    assert (program.parent / "asked").read_text().count("pip install") == 1
    assert content_of(environment) == before


def test_a_named_environment_is_examined(wheelmill: Command, environment: Path, bare_environment: Path) -> None:
    found = json.loads(wheelmill("doctor", "--json", "--offline", "--project", bare_environment).stdout)
    assert f" of {bare_environment}/bin/python, " in found["looked_at"]["python"]
    assert environment.exists()


def test_nobody_is_asked_where_nobody_is(wheelmill: Command, environment: Path) -> None:
    wheelmill("doctor", "--fix", "--offline", exit_code=2).check_refused("nobody-to-ask", "--yes")
    assert environment.exists()


def test_who_is_asked_and_wants_to_end_ends_it(environment: Path, tmp_path: Path) -> None:
    own = {f"XDG_{name.upper()}_HOME": str(tmp_path / name) for name in ("cache", "config", "state")}
    env = {name: value for name, value in os.environ.items() if name != "UV_PYTHON"} | own
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, b"\x04")
        argv = [sys.executable, "-m", "wheelmill", "doctor", "--fix", "--offline"]
        done = subprocess.run(
            argv, cwd=tmp_path, env=env, stdin=terminal, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.endswith("? [y/N]:\n")
    assert environment.exists()


@pytest.mark.parametrize("code", [None, "hash", "url"])
def test_the_choice_is_compared(code: str | None, wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / wheel_name(platform="linux_x86_64"), files={"demo/__init__.py": b""})
    server.pages["/wheels/"] = Answer(links_page(wheel.name, sha256="0" * 64 if code == "hash" else sha256_of(wheel)))
    if code != "url":
        server.pages[f"/wheels/{wheel.name.replace('+', '%2B')}"] = Answer(wheel.read_bytes())
    done = wheelmill("doctor", "demo", *TARGET, "--no-look", "--json", exit_code=9 if code else 0)
    assert [fault["code"] for fault in json.loads(done.stdout)["faults"]] == ([code] if code else [])
    assert bool(list(tmp_path.glob("cache/wheelmill/wheels/*/demo*"))) is (code is None)


def test_a_package_without_a_wheel_is_no_fault_of_the_environment(wheelmill: Command, server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page())
    wheelmill("doctor", "demo", *TARGET, exit_code=8)
