"""Wheels that others require: the parts of FlashInfer, and an extra of mamba-ssm, in copies of their homes."""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.commands import Done
from tests.integration.conftest import Command
from tests.integration.test_dry_run import PROJECT, TAG
from tests.trees import content_of
from tests.wheel_site import add_wheel
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.system import process

Run = Callable[..., Done]

SHIM = "flashinfer-jit-cache"
PARTS = [f"{SHIM}-sm120f", f"{SHIM}-sm90a"]
OWN = "flashinfer-own"
HOME = Path("flashinfer", "cu128")
TARGET = ("--torch", "2.9", "--cuda", "12.8")
SOURCES = """\
sources:
  flashinfer: {{simple: "{url}flashinfer/cu{{cuda}}/simple/", projects: [flashinfer-jit-cache]}}
  mamba: {{simple: "{url}mamba/simple/", projects: [mamba-ssm]}}
  conv: {{simple: "{url}conv/simple/", projects: [causal-conv1d, plain-conv]}}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A package index, and beside it the homes of others' wheels."""
    site = tmp_path / "site"
    add_wheel(site, f"torch-2.9.0-{TAG}.whl")
    add_wheel(site, "einops-0.8-py3-none-any.whl")
    add_wheel(site, "plain_conv-2.0-py3-none-any.whl")
    home = site / HOME
    add_wheel(home, "einops-0.8-py3-none-any.whl")
    add_wheel(home, "flashinfer_own-1.0-py3-none-any.whl")
    for version in ("0.7.1", "0.7.2"):
        pins = tuple(f"{part}=={version}+cu128" for part in PARTS)
        add_wheel(home, f"flashinfer_jit_cache-{version}+cu128-{TAG}.whl", requires=(*pins, "einops", OWN))
        for part in PARTS:
            add_wheel(home, f"{part.replace('-', '_')}-{version}+cu128-{TAG}.whl")
    extras = ('causal-conv1d>=1.4; extra == "causal-conv1d"', 'plain-conv>=2; extra == "plain"')
    for torch in ("2.8", "2.9"):
        add_wheel(site / "mamba", f"mamba_ssm-2.3.2+cu12torch{torch}-{TAG}.whl", requires=("torch", "einops", *extras))
    for version in ("1.3", "1.4", "1.5"):
        add_wheel(site / "conv", f"causal_conv1d-{version}+cu12torch2.9-{TAG}.whl", requires=("torch",))
    add_wheel(site / "conv", f"plain_conv-1.0+cu12torch2.9-{TAG}.whl")
    return site


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    process.run([own_uv(), "venv", "--quiet", "--python", sys.executable, folder / ".venv"])
    return folder


@pytest.fixture
def run(wheelmill: Command, site: Path, project: Path, tmp_path: Path) -> Iterator[Run]:
    """Run a command on that project."""
    with serve_folder(site) as url:
        sources = tmp_path / "sources.yml"
        sources.write_text(SOURCES.format(url=url))
        variables = {
            "UV_DEFAULT_INDEX": f"{url}simple/",
            "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
            "WHEELMILL_SOURCES": str(sources),
            "NO_PROXY": "127.0.0.1",
        }

        def run(command: str, *arguments: str, exit_code: int = 0) -> Done:
            given = () if command in ("install", "resolve") else ("--project", str(project))
            python = str(project / ".venv" / "bin" / "python")
            return wheelmill(command, *arguments, "--python-path", python, *given, exit_code=exit_code, **variables)

        yield run


def dependencies(project: Path) -> list[str]:
    """The names of the project's dependencies."""
    lines = tomllib.loads((project / "pyproject.toml").read_text())["project"]["dependencies"]
    return sorted(Requirement(line).name for line in lines)


def packages(done: Done) -> dict[str, str]:
    """What a command did to the packages of the environment."""
    return {each["project"]: each["change"] for each in json.loads(done.stdout)["packages"]}


def test_parts_come_and_go_with_the_wheel_that_requires_them(run: Run, project: Path, site: Path) -> None:
    before = content_of(project)
    run("add", SHIM, "--no-sync", *TARGET)
    assert dependencies(project) == sorted([SHIM, *PARTS, OWN])  # einops is left to the package index
    assert tomllib.loads((project / "pyproject.toml").read_text())["tool"]["wheelmill"]["packages"] == [SHIM]
    lock = str(project / "pylock.toml")
    run("lock", "-o", lock)
    run("lock", "-o", lock, "--check")
    assert packages(run("add", SHIM, "--json", *TARGET)) == dict.fromkeys([SHIM, *PARTS, OWN, "einops"], "installed")

    add_wheel(site / HOME, f"flashinfer_jit_cache-0.7.3+cu128-{TAG}.whl", requires=(f"{PARTS[0]}==0.7.2+cu128",))
    changed = packages(run("update", "--json", "--refresh", *TARGET))
    assert changed == {SHIM: "upgraded"} | dict.fromkeys([PARTS[1], OWN, "einops"], "removed")
    assert set(packages(run("remove", SHIM, "--json"))) == {SHIM, PARTS[0]}
    (project / "pylock.toml").unlink()
    assert content_of(project)["pyproject.toml"] == before["pyproject.toml"]


def test_they_are_installed_without_a_project(run: Run, site: Path) -> None:
    found = json.loads(run("resolve", SHIM, "--json", *TARGET).stdout)["resolved"]
    assert {name: each["required_by"] for name, each in found.items()} == {
        SHIM: [],
        **{name: [SHIM] for name in (*PARTS, OWN)},
    }
    assert set(packages(run("install", SHIM, "--json", *TARGET))) == {SHIM, *PARTS, OWN, "einops"}
    (site / HOME / "simple" / PARTS[0] / "index.html").unlink()
    assert f"no wheel for {PARTS[0]}" in run("install", SHIM, "--refresh", *TARGET, exit_code=8).stderr


@pytest.mark.parametrize(
    ("by_hand", "asked", "chosen"),
    [
        ("", ["mamba-ssm"], ["mamba-ssm"]),
        ("", ["mamba-ssm[causal-conv1d]"], ["causal-conv1d", "mamba-ssm"]),
        ("", ["mamba-ssm[causal-conv1d]", "causal-conv1d<1.5"], ["causal-conv1d", "mamba-ssm"]),
        ('"causal-conv1d>=1.3"', ["mamba-ssm[causal-conv1d]"], ["mamba-ssm"]),
        ("", ["mamba-ssm[causal-conv1d]", "causal-conv1d==1.3"], None),  # against what that extra requires
        ("", ["mamba-ssm[causal-conv1d]", "--torch", "2.8"], None),  # no source has it for that torch
        ("", ["mamba-ssm[plain]"], ["mamba-ssm"]),  # which does not fit in any source, and the index has
    ],
)
def test_an_extra_takes_the_wheel_that_sources_have(
    run: Run, project: Path, by_hand: str, asked: list[str], chosen: list[str] | None
) -> None:
    (project / "pyproject.toml").write_text(PROJECT.replace("[]", f"[{by_hand}]"))
    before = content_of(project)
    done = run("add", "--no-sync", "--json", *TARGET, *asked, exit_code=0 if chosen else 8)
    if chosen:
        assert sorted(json.loads(done.stdout)["environments"][0]["resolved"]) == chosen
    else:
        assert "mamba-ssm[causal-conv1d] as causal-conv1d" in done.stderr
        assert content_of(project) == before


def test_requirements_and_a_project_without_indexes_name_them_by_url(run: Run, project: Path) -> None:
    (project / "pyproject.toml").unlink()
    file = project / "requirements.txt"
    file.write_text("einops\n")
    run("add", SHIM, "--no-sync", *TARGET)
    assert [line.partition(" @ ")[0] for line in file.read_text().splitlines() if " @ " in line] == [SHIM, *PARTS, OWN]
    run("remove", SHIM, "--no-sync")
    assert file.read_text() == "einops\n"
