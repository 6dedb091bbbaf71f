"""Every kind of project x add, second add, update, remove, failing add, two at once, kill: right, or unchanged."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.machine_folders import new_environment
from tests.real.conftest import sampled, tool_variables
from tests.wheel_site import add_wheel, links, write_site
from wheelmill.index.serve import serve_folder
from wheelmill.names import PythonVersion

pytestmark = pytest.mark.real

PYTHON = PythonVersion(*sys.version_info[:2])
TAG = f"{PYTHON.interpreter}-{PYTHON.abi}-linux_{platform.machine()}"
TARGET = ("--torch", "2.11", "--cuda", "13.0")

PROJECT = f"""\
[project]
name = "mine"  # its name
version = "1"
requires-python = "=={PYTHON}.*"
dependencies = [
    "rich-text",  # tables
]
"""
HATCHLING = '\n[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
PIP_SAYS = (".venv/bin/python", "-m", "pip")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of project: what lies in its folder, and how its tool looks for faults."""

    files: dict[str, str]
    sound: tuple[tuple[str, ...], ...]
    """Commands that exit with 0 where nothing is wrong."""
    edited: str = "pyproject.toml"
    made: tuple[str, ...] | None = None
    """Makes what is there before wheelmill comes."""
    has_pip: bool = False
    """Whether an environment with pip is there, too."""
    at: str = "."
    """The folder that wheelmill runs in."""


KINDS = {
    "uv": Kind(
        files={"pyproject.toml": PROJECT},
        made=("uv", "sync"),
        sound=(("uv", "lock", "--check"), ("uv", "sync", "--check")),
    ),
    "workspace": Kind(
        files={
            "pyproject.toml": PROJECT + '\n[tool.uv.workspace]\nmembers = ["a", "b"]\n',
            "a/pyproject.toml": PROJECT.replace("mine", "a").replace("rich-text", "filelock"),
            "b/pyproject.toml": PROJECT.replace("mine", "b"),
        },
        made=("uv", "sync", "--all-packages"),
        sound=(("uv", "lock", "--check"), ("uv", "sync", "--all-packages", "--check")),
        edited="a/pyproject.toml",
        at="a",
    ),
    "poetry": Kind(
        files={
            "pyproject.toml": PROJECT + "\n[tool.poetry]\npackage-mode = false\n"
            '\n[[tool.poetry.source]]\nname = "site"\nurl = "{site}simple/"\npriority = "primary"\n'
        },
        sound=(("poetry", "check", "--lock"),),
    ),
    "pdm": Kind(
        files={
            "pyproject.toml": PROJECT + "\n[tool.pdm]\ndistribution = false\n"
            '\n[[tool.pdm.source]]\nname = "pypi"\nurl = "{site}simple/"\n'
        },
        sound=(("pdm", "lock", "--check"),),
    ),
    "hatch": Kind(
        files={
            "pyproject.toml": PROJECT
            + '\n[tool.hatch.envs.default]\npath = ".venv"\n\n[tool.hatch.metadata]\nallow-direct-references = true\n'
            + HATCHLING,
            "mine/__init__.py": "",
        },
        sound=(("hatch", "run", "python", "-c", "import rich_text"),),
    ),
    "plain": Kind(files={"pyproject.toml": PROJECT}, has_pip=True, sound=((*PIP_SAYS, "check"),)),
    "requirements": Kind(
        files={"requirements.txt": "rich-text==1.0  # tables\n"},
        has_pip=True,
        sound=((*PIP_SAYS, "check"), (*PIP_SAYS, "install", "--dry-run", "--no-index", "rich-text==1.0")),
        edited="requirements.txt",
    ),
    "environment": Kind(
        files={}, has_pip=True, sound=((*PIP_SAYS, "check"),), edited=".venv/wheelmill-requirements.txt"
    ),
}


ELSEWHERE = {"poetry": {"POETRY_VIRTUALENVS_IN_PROJECT": "false"}}
"""What makes a tool keep its environment elsewhere than in the project."""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_site(tmp_path / "site", TAG)
    for name in ("more_gpu-1.0", "late_gpu-1.0"):
        add_wheel(tmp_path / "site", f"{name}+cu130torch2.11-{TAG}.whl", requires=("torch==2.11.*",))
    add_wheel(tmp_path / "site", f"lost_gpu-1.0+cu130torch2.11-{TAG}.whl", requires=("nobody-has-this",))
    list_wheels(tmp_path / "site", besides="demo_gpu-1.1")
    return tmp_path / "site"


def list_wheels(site: Path, besides: str) -> None:
    """Write the page that wheelmill reads."""
    projects = ("demo-gpu", "more-gpu", "late-gpu", "lost-gpu")
    found = [link for name in projects for link in links(site, name, "files/") if besides not in link]
    (site / "wheels.html").write_text("".join(found))


@pytest.fixture
def variables(site: Path, tools: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which this site is the only index, and every cache is empty."""
    with serve_folder(site) as url:
        yield tool_variables(f"{url}simple/", tools, tmp_path) | {
            "SITE": url,
            "WHEELMILL_SOURCES": f"{url}wheels.html",
            "UV_DEFAULT_INDEX": f"{url}simple/",
            "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        }


def state_of(folder: Path) -> dict[str, bytes]:
    """Every file of the project and its environment; what Python and tools write for themselves is left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


class Project:
    """A project of some kind, and the commands that are run in it."""

    def __init__(self, kind: Kind, folder: Path, variables: dict[str, str]) -> None:
        self.kind, self.folder, self.variables = kind, folder, variables
        for name, text in kind.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.replace("{site}", variables["SITE"]))
        if kind.has_pip:
            new_environment(folder / ".venv")
        if kind.made:
            subprocess.run(kind.made, cwd=folder, env=variables, check=True, capture_output=True)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "wheelmill", *arguments]
        pipe = subprocess.PIPE
        where = self.folder / self.kind.at
        return subprocess.Popen(
            argv, cwd=where, env=self.variables, stdout=pipe, stderr=pipe, text=True, process_group=0
        )

    def end(self, running: subprocess.Popen[str], exit_code: int = 0) -> str:
        shown, told = running.communicate()
        assert running.returncode == exit_code, shown + told
        assert "Traceback" not in told
        return told

    def run(self, *arguments: str, exit_code: int = 0) -> str:
        return self.end(self.start(*arguments), exit_code)

    def read(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        shown, told = self.start(*arguments, "--json").communicate()
        assert shown, told
        return json.loads(shown)

    @property
    def text(self) -> str:
        path = self.folder / self.kind.edited
        return path.read_text() if path.exists() else ""

    def has(self, module: str) -> bool:
        python = self.folder / ".venv" / "bin" / "python"
        return subprocess.run([python, "-c", f"import {module}"], check=False, capture_output=True).returncode == 0

    def check(self, *commands: tuple[str, ...]) -> None:
        for command in commands or self.kind.sound:
            done = subprocess.run(
                command, cwd=self.folder, env=self.variables, check=False, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stdout + done.stderr


def kill_when(project: Project, has_begun: Callable[[], bool], *arguments: str) -> None:
    """Kill a command, with all that it started, as soon as something is the case."""
    running = project.start(*arguments)
    while not has_begun() and running.poll() is None:
        pass
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert running.returncode == -signal.SIGKILL


@sampled("kind", KINDS, "uv", "poetry", "requirements")
def test_only_its_own_tool_changes_a_project(kind: str, variables: dict[str, str], site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    project = Project(KINDS[kind], folder, variables)
    before, nothing = project.text, state_of(folder)
    project.run("add", "lost-gpu", *TARGET, exit_code=2)
    assert state_of(folder) == nothing
    both = [project.start("add", "demo-gpu", *TARGET), project.start("add", "more-gpu", *TARGET)]
    told = [project.end(running) for running in both]
    assert all(f"installed: {name}" in "".join(told) for name in ("demo-gpu", "more-gpu", "torch"))
    project.check()
    assert all(map(project.has, ("demo_gpu", "more_gpu", "torch")))
    once = state_of(folder)
    project.run("add", "demo-gpu", *TARGET)
    assert state_of(folder) == once
    begun = project.text
    kill_when(project, lambda: project.text != begun, "add", "late-gpu", *TARGET)
    assert project.run("add", "lost-gpu", *TARGET, exit_code=2)
    assert state_of(folder) == once
    list_wheels(site, besides="nothing")
    project.run("update", "--refresh", *TARGET)
    assert re.search(r"demo.gpu(-|==)1\.1(%2B|\+)", project.text)
    project.check()
    project.run("remove", "demo-gpu", "more-gpu")
    assert project.text == before
    assert not project.has("demo_gpu")
    project.check()


def test_a_script_runs_with_what_was_added(variables: dict[str, str], tmp_path: Path) -> None:
    """uv keeps its environment in its cache."""
    text = "#!/usr/bin/env python3\nimport demo_gpu\n"
    script = ("--script", "train.py")
    project = Project(Kind(files={"train.py": text}, sound=(("uv", "run", "train.py"),)), tmp_path, variables)
    project.run("add", "demo-gpu==1.0", *TARGET, *script)
    project.check()
    project.check(("uv", "lock", *script))
    project.run("add", "demo-gpu", *TARGET, *script, "--no-sync")
    project.check(("uv", "lock", "--check", *script), ("uv", "run", "train.py"))
    project.run("add", "more-gpu", *TARGET, *script, "--group", "train", exit_code=2)
    project.run("remove", "demo-gpu", *script)
    assert "demo-gpu" not in (tmp_path / "train.py").read_text()
    assert (tmp_path / "train.py").read_text().endswith(text.partition("\n")[2])


@sampled("kind", [*KINDS, "poetry elsewhere", "hatch elsewhere"], "poetry elsewhere")
def test_all_commands_use_the_same_environment(kind: str, variables: dict[str, str], tmp_path: Path) -> None:
    name, _, elsewhere = kind.partition(" ")
    case = KINDS[name]
    if elsewhere:
        files = {path: text.replace('path = ".venv"\n', "") for path, text in case.files.items()}
        case, variables = replace(case, files=files), variables | ELSEWHERE.get(name, {})
    folder = tmp_path / "project"
    folder.mkdir()
    project = Project(case, folder, variables)
    project.run("add", "demo-gpu", *TARGET)
    own = Path(project.read("environment")["interpreter"])
    assert own.is_relative_to(folder) != bool(elsewhere)
    assert subprocess.run([own, "-c", "import demo_gpu"], check=False).returncode == 0
    assert [each["project"] for each in project.read("list")["packages"]] == ["demo-gpu"]
    assert [each["failure"] for each in project.read("test")["packages"]] == [None]
    for command in (("add", "demo-gpu"), ("update",), ("install", "demo-gpu")):
        planned = {each["project"] for each in project.read(*command, "--dry-run")["packages"]}
        assert not planned & {"demo-gpu", "torch", "filelock"}
    assert project.read("explain", "demo-gpu")["candidates"][0]["fits"]
    assert str(own) in json.dumps(project.read("doctor")["looked_at"])
    project.run("lock")
    assert f"environment: {own.parent.parent}, Python" in project.run("sync")
    if HATCHLING in project.text:  # so that its tool installs the project itself, too
        assert subprocess.run([own, "-c", "import mine"], check=False).returncode == 0
    assert f"environment: {own.parent.parent}, Python" in project.run("remove", "demo-gpu")
    assert project.read("list")["packages"] == []
    group = ("--group", "train")
    if not any(folder.glob("*.lock")):
        project.run("add", "demo-gpu", *TARGET, *group, exit_code=2)
        return
    project.run("add", "demo-gpu", *TARGET, "--no-sync", *group)
    assert project.read("list")["packages"] == []
    (folder / "pylock.toml").unlink()  # it is older
    project.run("doctor")
    project.check(*case.sound[0:1])
    project.run("update", *TARGET)
    assert [each["project"] for each in project.read("list")["packages"]] == ["demo-gpu"]
    project.check(*case.sound[0:1])
    project.run("lock", exit_code=2)
    project.run("lock", *group, *TARGET)
    project.run("sync", *group, "--check")
    project.run("remove", "demo-gpu", *group)
    assert project.read("list")["packages"] == []


TEAM: dict[str, list[tuple[str, ...]]] = {
    "uv": [("uv", "sync", "--dry-run", "--python-platform", name) for name in ("macos", "linux")],
    "poetry": [("poetry", "check", "--lock"), ("poetry", "install", "--dry-run")],
    "pdm": [("pdm", "lock", "--append", "--platform", name) for name in ("macos_arm64", "linux")],
}
"""What locks or installs a project for machines with a GPU and without one."""


@sampled(("kind", "extra"), product(TEAM, ((), ("--extra", "gpu"))), ("uv", ("--extra", "gpu")))
def test_a_team_with_macs_and_linux_shares_a_project(
    kind: str, extra: tuple[str, ...], variables: dict[str, str], site: Path, tmp_path: Path
) -> None:
    """PDM has one index of torch for all machines, so its torch is that of the usual index."""
    cuda = "13.0" if kind == "pdm" else "12.8"
    add_wheel(site, f"torch-2.11.0-{PYTHON.interpreter}-{PYTHON.abi}-macosx_11_0_arm64.whl", requires=("filelock",))
    add_wheel(site / "cu128", f"torch-2.11.0+cu128-{TAG}.whl", requires=("filelock",))
    add_wheel(site / "gpu", f"cuda12_gpu-1.0+cu128torch2.11-{TAG}.whl", requires=("torch==2.11.*",))
    add_wheel(site / "gpu", f"cuda13_gpu-1.0+cu130torch2.11-{TAG}.whl", requires=("torch==2.11.*",))
    variables |= {"WHEELMILL_TORCH_INDEX": variables["SITE"] + "cu{cuda}/simple/"}
    variables |= {"WHEELMILL_SOURCES": variables["SITE"] + "gpu/simple/"}
    case = KINDS[kind]
    declared = case.files["pyproject.toml"].replace("# tables", '# tables\n    "torch>=2.5",')
    (tmp_path / "project").mkdir()
    project = Project(replace(case, files={"pyproject.toml": declared}), tmp_path / "project", variables)
    before, package = project.text, f"cuda{cuda[:2]}-gpu"
    platforms = ("--platform", f"macosx_arm64,linux_{platform.machine()}")
    told = project.run("add", package, "--torch", "2.11", "--cuda", cuda, *platforms, *extra)
    assert f"{package} is left out on macosx_arm64" in told
    added = project.text
    assert f"platform_machine == '{platform.machine()}'" in added
    assert ("gpu = [" in added) == bool(extra)
    for _ in range(2):
        project.run("update")
        assert project.text == added
    for command in TEAM[kind]:
        subprocess.run(command, cwd=project.folder, env=variables, check=True, capture_output=True)
    assert project.has(package.replace("-", "_"))
    project.run("update", "--platform", "macosx_arm64", exit_code=8)
    project.run("remove", package)
    assert project.text.replace("[project.optional-dependencies]\ngpu = [\n]\n", "").split() == before.split()
