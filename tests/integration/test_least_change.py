"""What a project declares comes before what is installed, and what is chosen changes as little as it can."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands import Done
from tests.installed import install
from tests.integration.conftest import TAG, Command, served_alone
from tests.wheel_site import add_wheel
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.system import process

PROJECT = '[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = [{}]\n'
WHEEL = f"https://torch.example/torch-2.9.0%2Bcu126-{TAG}.whl"
OF_UV = (
    '[tool.uv.sources]\ntorch = {index = "pt"}\n[[tool.uv.index]]\nname = "pt"\nurl = "https://mirror.example/cu126"\n'
)
OF_PDM = '[[tool.pdm.source]]\nname = "pt"\nurl = "https://mirror.example/cu126/simple"\ninclude_packages = ["torch"]\n'
OF_POETRY = (
    '[tool.poetry.dependencies]\ntorch = {source = "pt"}\n'
    '[[tool.poetry.source]]\nname = "pt"\nurl = "https://mirror.example/cu126"\npriority = "explicit"\n'
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    for torch in ("2.9", "2.10"):
        add_wheel(site, f"torch-{torch}.0-{TAG}.whl")
        for cuda in ("cu126", "cu128"):
            add_wheel(site, f"demo_gpu-1.0+{cuda}torch{torch}-{TAG}.whl", requires=("torch",))
    add_wheel(site, f"demo_gpu-1.0+cu130torch2.10-{TAG}.whl", requires=("torch",))
    return site


@pytest.fixture
def run(wheelmill: Command, site: Path, tmp_path: Path) -> Iterator[Command]:
    """Run a command with that site as the only index, and none of torch's own."""
    with served_alone(wheelmill, site, tmp_path / "uv-cache") as run:
        yield run


@pytest.fixture(autouse=True)
def poetry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Poetry that keeps no environment."""
    program = tmp_path / "bin" / "poetry"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project, and an environment with torch 2.10 for CUDA 13.0."""
    folder = tmp_path / "mine"
    folder.mkdir()
    process.run([own_uv(), "venv", "--quiet", "--python", sys.executable, folder / ".venv"])
    (packages,) = folder.glob(".venv/lib/*/site-packages")
    version = b"__version__ = '2.10.0+cu130'\ncuda = '13.0'\n"
    install(packages, "torch", "2.10.0", {"torch/__init__.py": b"", "torch/version.py": version})
    return folder


def target(done: Done) -> tuple[str, str]:
    """The torch and the CUDA that were chosen."""
    (found,) = json.loads(done.stdout)["environments"]
    return found["environment"]["torch"], found["environment"]["cuda"]


@pytest.mark.parametrize(
    ("declared", "asked", "chosen"),
    [
        (("", ""), ["demo-gpu"], ("2.10", "13.0")),  # what is installed
        (('"torch>=2.9"', ""), ["demo-gpu"], ("2.10", "13.0")),
        (('"torch==2.9.*"', ""), ["demo-gpu"], ("2.9", "12.8")),
        (('"torch<2.10"', ""), ["demo-gpu"], ("2.9", "12.8")),
        ((f'"torch @ {WHEEL}"', ""), ["demo-gpu"], ("2.9", "12.6")),
        (('"torch==2.10.0+cu126"', ""), ["demo-gpu"], ("2.10", "12.6")),
        (("\"torch==2.9.*; sys_platform == 'linux'\"", ""), ["demo-gpu"], ("2.9", "12.8")),
        (('"torch==2.9.*"', OF_UV), ["demo-gpu"], ("2.9", "12.6")),
        (('"torch"', OF_UV), ["demo-gpu"], ("2.10", "12.6")),
        (('"torch"', OF_UV), ["demo-gpu", "--cuda", "12.8"], ("2.10", "12.8")),
        (('"torch"', OF_UV), ["demo-gpu", "--torch", "2.9"], ("2.9", "12.6")),
        (('"torch"', OF_PDM), ["demo-gpu"], ("2.10", "12.6")),
        (('"torch"', OF_POETRY), ["demo-gpu"], ("2.10", "12.6")),
        (("", ""), ["torch", "demo-gpu"], ("2.10", "13.0")),
        (('"torch==2.10.*"', ""), ["torch==2.9.*", "demo-gpu"], ("2.9", "12.8")),
    ],
)
def test_what_is_declared_comes_before_what_is_installed(
    run: Callable[..., Done], project: Path, declared: tuple[str, str], asked: list[str], chosen: tuple[str, str]
) -> None:
    dependencies, tables = declared
    (project / "pyproject.toml").write_text(PROJECT.format(dependencies) + tables)
    python = str(project / ".venv" / "bin" / "python")
    assert (
        target(run("add", *asked, "--no-sync", "--json", "--project", str(project), "--python-path", python)) == chosen
    )


def test_explain_compares_with_what_add_would_choose(run: Callable[..., Done], project: Path, tmp_path: Path) -> None:
    python = str(project / ".venv" / "bin" / "python")
    (tmp_path / "pyproject.toml").write_text(PROJECT.format('"torch==2.9.*"'))
    explained = json.loads(run("explain", "demo-gpu", "--json", "--python-path", python).stdout)
    assert "torch 2.9 and CUDA 12.8" in explained["environment"]
    (tmp_path / "pyproject.toml").write_text("[project")
    explained = json.loads(run("explain", "demo-gpu", "--json", "--python-path", python).stdout)
    assert "torch 2.10 and CUDA 13.0" in explained["environment"]


@pytest.mark.parametrize(
    ("line", "chosen"),
    [("torch==2.9.*", ("2.9", "12.8")), ("--extra-index-url https://mirror.example/cu126", ("2.10", "12.6"))],
)
def test_requirements_declare_it(run: Callable[..., Done], project: Path, line: str, chosen: tuple[str, str]) -> None:
    path = project / "requirements.txt"
    path.write_text(f"{line}\n")
    given = ("--no-sync", "--json", "--project", str(path))
    assert target(run("add", "torch", "demo-gpu", *given)) == chosen
    assert target(run("update", *given)) == chosen
    run("remove", "demo-gpu", "--no-sync", "--project", str(path))
    assert "demo-gpu" not in path.read_text()
    assert f"torch=={chosen[0]}.*" in path.read_text()


def test_torch_is_from_the_usual_index_or_the_mirror(run: Callable[..., Done], project: Path, tmp_path: Path) -> None:
    """An address of torch's own is never asked for."""
    (project / "pyproject.toml").write_text(PROJECT.format(""))
    (python,) = project.glob(".venv/bin/python")
    run("add", "torch", "demo-gpu", "--torch", "2.9", "--project", str(project), "--python-path", str(python))
    assert "pytorch" not in (project / "pyproject.toml").read_text()
    mirror = tmp_path / "mirror"
    add_wheel(mirror, f"torch-2.10.0+cu126-{TAG}.whl")
    with serve_folder(mirror) as url:
        given = ("demo-gpu", "--torch", "2.10", "--cuda", "12.6", "--python-path", str(python))
        run("install", *given, WHEELMILL_TORCH_INDEX=f"{url}simple?{{cuda}}")
    listed = process.run([own_uv(), "pip", "freeze", "--python", python])
    assert "torch==2.10.0+cu126" in listed


def test_a_plain_package_is_the_own_tools(run: Callable[..., Done], site: Path, project: Path, tmp_path: Path) -> None:
    add_wheel(site, "einops-0.8.1-py3-none-any.whl")
    sources = tmp_path / "sources"
    add_wheel(sources, f"demo_gpu-1.0+cu128torch2.9-{TAG}.whl")
    (project / "pyproject.toml").write_text(PROJECT.format(""))
    given = ("--no-sync", "--python-path", str(project / ".venv" / "bin" / "python"), "--project", str(project))
    with serve_folder(sources) as url:
        done = run("add", "einops>=0.8", *given, exit_code=8, WHEELMILL_SOURCES=f"{url}simple/")
        done.check_refused("no-wheel", "uv add 'einops>=0.8'")
        (project / "poetry.lock").write_text("")
        done = run("add", "einops", *given, exit_code=8, WHEELMILL_SOURCES=f"{url}simple/")
        done.check_refused("no-wheel", "poetry add einops")
        (project / "poetry.lock").unlink()
        add_wheel(site, "demo_gpy-1.0-py3-none-any.whl")
        done = run("add", "demo-gpy", *given, exit_code=8, WHEELMILL_SOURCES=f"{url}simple/")
        done.check_refused("no-wheel", "demo-gpu")
        assert "uv add" not in done.stderr
        done = run("add", "absent", *given, exit_code=8, WHEELMILL_SOURCES=f"{url}simple/")
        assert "uv add" not in done.stderr


def test_torch_moves_when_the_user_admits(run: Callable[..., Done], site: Path, project: Path, tmp_path: Path) -> None:
    for name in ("fast_gpu-1.0+cu130torch2.13", "fast_gpu-1.0+cu130torch2.14", "slow_gpu-1.0+cu130torch2.13"):
        add_wheel(site, f"{name}-{TAG}.whl", requires=("torch",))
    pyproject, body = project / "pyproject.toml", tmp_path / "body.md"
    pyproject.write_text(PROJECT.format('"torch>=2.7"'))
    given = ("--no-sync", "--project", str(project), "--python-path", str(project / ".venv" / "bin" / "python"))
    run("add", "fast-gpu", "slow-gpu", "--torch", "2.13", *given)
    for conflict in (("--torch", "2.14"), ("fast-gpu",)):
        run("update", "--upgrade-torch", *conflict, *given, exit_code=2).check_refused("options-conflict")

    def update() -> tuple[str, str, dict[str, list[str]]]:
        """The torch that was chosen, why it is no newer one, and what lacks a wheel for each newer one."""
        done = run("update", "--upgrade-torch", "--markdown", str(body), "--json", "--refresh", *given)
        said = json.loads(done.stdout)
        assert said["before"].keys() == {"torch", "fast-gpu", "slow-gpu"}
        newer = {each["environment"]["torch"]: [*each["unresolved"]] for each in said["newer_torches"]}
        assert newer.pop("2.15") == ["fast-gpu", "slow-gpu"]
        assert said["notes"][-1] in body.read_text()
        return target(done)[0], next(note for note in said["notes"] if "held back" in note), newer

    chosen, note, newer = update()
    assert (chosen, newer["2.14"]) == ("2.13", ["slow-gpu"])
    assert note == "torch 2.14 is held back by slow-gpu"
    assert "| `slow-gpu` | 1.0+cu130torch2.13 | 1.0+cu130torch2.13 | none | none |" in body.read_text()
    add_wheel(site, f"slow_gpu-1.0+cu130torch2.14-{TAG}.whl", requires=("torch",))
    own = pyproject.read_text()
    pyproject.write_text(own.replace("torch>=2.7", "torch<2.14"))
    chosen, note, newer = update()
    assert (chosen, newer["2.14"]) == ("2.13", [])
    assert "depends on torch<2.14" in note
    pyproject.write_text(own)
    chosen, note, newer = update()
    assert chosen == "2.14"
    assert "2.14" not in newer
    several = ("--platform", "linux_x86_64,linux_aarch64")
    done = run("update", "--upgrade-torch", *several, *given)
    assert "slow-gpu is left out on linux_aarch64" in done.stderr
    assert "torch==2.14.*" in pyproject.read_text()
