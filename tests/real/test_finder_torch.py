"""The lines of the finder install the wheel and the torch of one CUDA, whichever PyPI has."""

import html
import platform
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.finder_lines import finder_lines
from tests.install_host import HOST, LABELS, PYTHON, Host, follow, host_of_the_pages, installed_in
from tests.real.conftest import or_nightly
from wheelmill.client.choose.resolve import read_facts
from wheelmill.names import CudaVersion, ProjectName, TorchVersion

pytestmark = pytest.mark.real

VERSIONS = {"flash-attn": "2.8.3", "apex": "0.1"}
PROJECT = f'[project]\nname = "mine"\nversion = "1"\nrequires-python = "=={PYTHON}.*"\n'
VENV = f"uv venv --quiet --seed --python {PYTHON} .venv\n. .venv/bin/activate\n"
SOURCE = '\n\n[[tool.{tool}.source]]\nname = "{name}"\nurl = "{usual}"\n'
POETRY = SOURCE.replace("{tool}", "poetry").replace("{name}", "usual") + "\n[tool.poetry]\npackage-mode = false\n"
PDM = SOURCE.replace("{tool}", "pdm").replace("{name}", "pypi") + "\n[tool.pdm]\ndistribution = false\n"
BUILD = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
FILES = {
    "pyproject": ("", "uv sync"),
    "poetry": (POETRY, "poetry install"),
    "pdm": (PDM, "pdm use -q {python}\npdm install"),
}
"""What a project has besides the lines, and how its tool installs it."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with host_of_the_pages(tmp_path_factory.mktemp("host"), (*LABELS, "cu132torch2.12")) as served:
        yield served


def torch_for(cuda: str) -> str:
    return "2.12" if cuda == "13.2" else "2.11"


def lines_for(host: Host, project: str, cuda: str, pin: str = "") -> dict[str, str]:
    choice = {"project": project, "python": PYTHON, "cuda": cuda, "torch": torch_for(cuda), "pin": pin}
    return finder_lines(host.store, host.catalogue, [ProjectName(name) for name in VERSIONS], root=HOST, choice=choice)


def is_usual(cuda: str) -> bool:
    known = read_facts().torch[TorchVersion.parse(torch_for(cuda))]
    return platform.machine() == "x86_64" and str(known.default_cuda) == cuda


def pair(project: str, cuda: str) -> dict[str, str]:
    """The wheel, and the torch of its CUDA."""
    tag, torch = CudaVersion.parse(cuda).tag, torch_for(cuda)
    return {project: f"{VERSIONS[project]}+{tag}torch{torch}", "torch": f"{torch}.0" + f"+{tag}" * (not is_usual(cuda))}


def script_of(tool: str, text: str, host: Host) -> str:
    """What a person types who has got the lines for a tool."""
    if tool in FILES:
        rest, command = FILES[tool]
        file = text.replace("[project]\n", PROJECT) + rest.replace("{usual}", host.usual)
        return f"cat > pyproject.toml <<'END'\n{file}\nEND\n{command.format(python=f'python{PYTHON}')}"
    if tool == "hatch":
        file = f'{PROJECT}\n{BUILD}\n[tool.hatch.build.targets.wheel]\ninclude = ["*.py"]\n\n{text}\npath = ".venv"\n'
        return f"touch mine.py\ncat > pyproject.toml <<'END'\n{file}\nEND\nhatch env create"
    return VENV + text.removeprefix("RUN ")


@pytest.fixture
def variables(host: Host, tools: Path, tmp_path: Path) -> dict[str, str]:
    return host.variables(tmp_path / "home", programs=(tools / "bin",), wheels=tools / "wheels")


@pytest.mark.parametrize("cuda", or_nightly(["12.6", "12.8", "13.0", "13.2"], "13.0", "13.2"))
@pytest.mark.parametrize("tool", ["pip", "uv", "dockerfile", *FILES, "hatch"])
@pytest.mark.parametrize("project", or_nightly(VERSIONS, "flash-attn"))
def test_torch_is_for_the_same_cuda(project: str, tool: str, cuda: str, host: Host, variables: dict[str, str]) -> None:
    folder = Path(variables["HOME"]).parent
    follow(script_of(tool, host.filled(lines_for(host, project, cuda)[tool]), host), folder, variables)
    installed = installed_in(folder / ".venv")
    if is_usual(cuda) and project == "apex":  # whose lines for pip leave the torch of the usual index to the person
        installed.setdefault("torch", "2.11.0")
    assert installed == pair(project, cuda)


@pytest.mark.parametrize("cuda", ["12.6", "12.8", "13.0", "13.2"])
@pytest.mark.parametrize("project", VERSIONS)
def test_torch_is_named_where_the_usual_index_has_another_build(project: str, cuda: str, host: Host) -> None:
    lines = lines_for(host, project, cuda)
    url = host.torch_index.format(cuda=CudaVersion.parse(cuda).tag.removeprefix("cu"))
    for tool, text in lines.items():
        assert (url in text and "torch" in text.replace(url, "")) is not is_usual(cuda), tool
    pixi = tomllib.loads(lines["pixi"])["pypi-dependencies"]
    assert pixi.get("torch") == (None if is_usual(cuda) else {"version": f"=={torch_for(cuda)}.*", "index": url})


@pytest.mark.parametrize("project", VERSIONS)
def test_pages_give_the_lines_of_the_finder(project: str, host: Host) -> None:
    """The page of a version has those for its newest wheels, and the page of a label those for its own."""
    folder = host.store.directory.parent / "site" / "packages" / project / VERSIONS[project]
    pages = sorted(folder.rglob("index.html"))
    assert len(pages) == 1 + len(host.cudas)
    for page in pages:
        found = re.search(
            r'data-address="[./]*(cu(\d+)(\d)/[^"]+)"[^>]*><code>(.*?)</code>', page.read_text(), re.DOTALL
        )
        assert found
        pin = "" if page.parent == folder else "exact"
        lines = lines_for(host, project, f"{found[2]}.{found[3]}", pin)
        assert html.unescape(found[4]).replace("ADDRESS", HOST + found[1]) == lines["pip"]
