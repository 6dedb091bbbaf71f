"""The pages for people in a real browser, and the commands that they give."""

import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import tomlkit
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.real.conftest import ROOT
from tests.unit.plan.examples import CONFIG, DEMO, FACTS, PLAIN
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill import pipeline
from wheelmill.config.load import load_compatibility
from wheelmill.config.model import Listing
from wheelmill.index.serve import serve_folder
from wheelmill.names import Architecture
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system import resources

pytestmark = pytest.mark.real

HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
TAGS = f"cp{PYTHON.replace('.', '')}-cp{PYTHON.replace('.', '')}-manylinux_2_28_{platform.machine()}"
NEWEST, OLDER_TORCH, OLDER_VERSION, NO_TORCH, NO_LABEL, MAJOR_ALONE = (
    f"{name}-{TAGS}.whl"
    for name in (
        *("demo-1.0+cu130torch2.11", "demo-1.0+cu128torch2.10", "demo-0.9+cu130torch2.11", "plain-2.0+cu130"),
        *("unlabelled-3.0", "upstream-4.0+cu13torch2.11cxx11abitrue"),
    )
)
UV = str(Path(sys.executable).with_name("uv"))
WHEELS = "packages/demo/1.0/cu130torch2.11/"
PATHS = (
    *("", "about/", "news/", "matrix/", "packages/demo/", "packages/plain/", "packages/demo/1.0/"),
    *(WHEELS, f"{WHEELS}#{TAGS}"),
)


def wheel_with_code(path: Path) -> TestedWheel:
    """Write a wheel that has machine code for 8.0 and 9.0, and portable code for 9.0."""
    wheel = certified_wheel(path, content=b"answer = 42\n")
    evidence = replace(wheel.certificate.evidence, sass=("sm_80", "sm_90"), ptx=("compute_90",))
    return replace(wheel, certificate=replace(wheel.certificate, evidence=evidence))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A host with the site below its root, and with an index that has nothing."""
    folder = tmp_path_factory.mktemp("host")
    store = DirectoryStore(directory=folder / "releases")
    names = (NEWEST, OLDER_TORCH, OLDER_VERSION, NO_TORCH, NO_LABEL, MAJOR_ALONE)
    publish(store, [wheel_with_code(folder / "wheels" / name) for name in names], now=NOW)
    demo = replace(CONFIG.packages[DEMO], description=HOSTILE, licence="MIT")
    plain = replace(CONFIG.packages[PLAIN], requires=(DEMO,), pypi="same")
    catalogue = pipeline.catalogue_of(
        replace(CONFIG, packages={DEMO: demo, PLAIN: plain}), store.ledger.read().failures
    )
    shipped = load_compatibility(resources.CONFIG)
    catalogue = replace(catalogue, gpu_drivers={"10.0": shipped.first_driver_for(Architecture(10, 0)) or ""})
    where = folder / "some" / "where"
    pipeline.build_index(store, Listing(), FACTS, base_url="../../releases", output=where, catalogue=catalogue)
    (folder / "empty").mkdir()
    with serve_folder(folder) as url:
        yield url


@pytest.fixture(scope="module")
def site(host: str) -> str:
    """The address of the site."""
    return f"{host}some/where/"


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A page that must stay without an error, and without a request to another host."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    faults: list[str] = []
    opened.on("console", lambda message: faults.append(message.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", lambda request: None if request.url.startswith(site) else faults.append(request.url))
    opened.goto(site)
    yield opened
    context.close()
    assert faults == []


def choose(page: Page, **choices: str) -> None:
    for name, value in choices.items():
        page.locator(f"select[name={name}]").select_option(value)


def copied(page: Page, what: str) -> str:
    """What the copy button of a command leaves in the clipboard."""
    page.get_by_role("button", name=f"Copy {what}").click()
    expect(page.get_by_role("button", name=f"Copy {what}")).to_have_text("Copied")
    text = page.evaluate("navigator.clipboard.readText()")
    assert isinstance(text, str)
    return text


def settings(host: str) -> dict[str, str]:
    """An environment in which installers know no other index than an empty one."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    empty = f"{host}empty/"
    return own | {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": empty, "UV_DEFAULT_INDEX": empty, "UV_NO_CONFIG": "1"}


def run(argv: list[str], env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An empty virtual environment."""
    run([UV, "venv", "--quiet", "--python", sys.executable, "venv"], dict(os.environ), tmp_path)
    return tmp_path / "venv"


def pip_of(environment: Path) -> list[str]:
    return [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]


def version_in(environment: Path, project: str = "demo") -> str:
    show = f"import {project}, importlib.metadata; print(importlib.metadata.version('{project}'))"
    return run([str(environment / "bin" / "python"), "-c", show], {}, environment).strip()


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({"cuda": "12.8", "torch": "2.10"}, "1.0+cu128torch2.10"),
        ({"cuda": "13.0", "torch": "2.11", "version": "0.9"}, "0.9+cu130torch2.11"),
    ],
)
def test_the_copied_pip_command_installs_the_chosen_wheel(
    choices: dict[str, str], expected: str, page: Page, host: str, environment: Path
) -> None:
    choose(page, project="demo", python=PYTHON, **choices)
    program, *arguments = shlex.split(copied(page, "pip"))
    assert program == "pip"
    run([*pip_of(environment), *arguments], settings(host), environment)
    assert version_in(environment) == expected


@pytest.mark.parametrize("requirement", ["demo==1.0", "demo==1.0+cu128torch2.10"])
def test_the_copied_uv_command_installs_the_chosen_wheel(
    requirement: str, page: Page, host: str, environment: Path
) -> None:
    choose(page, project="demo", cuda="12.8", torch="2.10")
    page.get_by_label("Pin this exact wheel").set_checked("+" in requirement)
    program, *arguments = shlex.split(copied(page, "uv"))
    assert (program, arguments[-1]) == ("uv", requirement)
    run([UV, *arguments], settings(host) | {"VIRTUAL_ENV": str(environment)}, environment)
    assert version_in(environment) == "1.0+cu128torch2.10"


def test_the_copied_lines_of_pyproject_lock_the_chosen_wheel(page: Page, host: str, tmp_path: Path) -> None:
    choose(page, project="demo", cuda="12.8", torch="2.10")
    project = tomllib.loads(copied(page, "pyproject.toml, for uv"))
    project["project"] |= {"name": "user", "version": "1", "requires-python": f"=={PYTHON}.*"}
    (tmp_path / "pyproject.toml").write_text(tomlkit.dumps(project))
    env = settings(host) | {"UV_PYTHON": sys.executable}
    env.pop("UV_NO_CONFIG")
    run([UV, "sync"], env, tmp_path)
    assert version_in(tmp_path / ".venv") == "1.0+cu128torch2.10"
    locked = (tmp_path / "uv.lock").read_text()
    again = run([UV, "sync"], env, tmp_path)
    assert "demo" not in again
    assert (tmp_path / "uv.lock").read_text() == locked


def test_the_copied_lines_of_pyproject_lock_what_a_package_requires_too(page: Page, host: str, tmp_path: Path) -> None:
    choose(page, project="plain")
    project = tomllib.loads(copied(page, "pyproject.toml, for uv"))
    assert project["project"]["dependencies"] == ["plain==2.0", "demo"]
    project["project"] |= {"name": "user", "version": "1", "requires-python": f"=={PYTHON}.*"}
    (tmp_path / "pyproject.toml").write_text(tomlkit.dumps(project))
    env = {name: value for name, value in settings(host).items() if name != "UV_NO_CONFIG"}
    run([UV, "sync", "--python", sys.executable], env, tmp_path)
    assert version_in(tmp_path / ".venv") == "1.0+cu130torch2.11"


def test_a_wheel_without_torch_is_found_in_the_index_of_its_cuda(page: Page) -> None:
    choose(page, project="plain")
    expect(page.locator("label", has=page.locator("[name=torch]"))).to_be_hidden()
    expect(page.locator(".pip")).to_contain_text(
        "/some/where/cu130/simple/ --only-binary plain --only-binary demo plain==2.0"
    )


def test_where_there_is_no_wheel_the_nearest_one_is_offered(page: Page) -> None:
    choose(page, project="demo", python=PYTHON, cuda="12.8", torch="2.11")
    expect(page.locator(".verdict")).to_have_text(
        f"There is no demo 1.0 wheel for Python {PYTHON}, CUDA 12.8, torch 2.11, Linux {platform.machine()}."
    )
    offers = page.locator(".nearest button")
    expect(offers).to_have_text(["torch 2.10", "CUDA 13.0", "version 0.9, CUDA 13.0"])
    offers.first.click()
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu128torch2.10 fits")
    expect(page.locator(".verdict")).to_be_focused()


@pytest.mark.parametrize(
    ("gpu", "text"),
    [
        ("9.0", "It has machine code for compute capability 9.0."),
        ("8.6", "Its machine code for 8.0 runs on compute capability 8.6."),
        ("12.0", "no machine code that runs on compute capability 12.0, but portable code (PTX) for 9.0"),
        ("7.5", "demo 1.0+cu130torch2.11 has no code that runs on compute capability 7.5; it has 8.0, 9.0+PTX."),
        ("8.7", "has no code that runs on compute capability 8.7"),
    ],
)
def test_a_gpu_is_checked_against_the_code_in_the_wheel(gpu: str, text: str, page: Page) -> None:
    choose(page, project="demo", gpu=gpu)
    expect(page.locator("#finder")).to_contain_text(text)


PASTED = """\
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|   0  NVIDIA H200                    On  |   00000000:03:00.0 Off |                    0 |
"""


def test_what_nvidia_smi_prints_is_answered(page: Page) -> None:
    page.get_by_text("Paste what your machine says").click()
    page.get_by_label("All that nvidia-smi").fill("no table")
    expect(page.locator(".said")).to_contain_text("Expected all that nvidia-smi")
    page.get_by_label("All that nvidia-smi").fill(PASTED)
    expect(page.locator(".said")).to_have_text(
        "Read: NVIDIA H200 (9.0); driver 570.86.10, which knows CUDA up to 12.8."
    )
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu128torch2.10 fits")
    expect(page.locator("#finder")).to_contain_text("It has machine code for compute capability 9.0.")


@pytest.mark.parametrize(
    ("project", "sentence"),
    [
        ("unlabelled", "For which CUDA it is, its version does not say."),
        ("upstream", "upstream 4.0+cu13torch2.11cxx11abitrue is for CUDA 13, and does not say for which release of it"),
    ],
)
def test_no_wheel_is_said_to_fit_whose_label_does_not_say_so(project: str, sentence: str, page: Page) -> None:
    choose(page, project=project, python=PYTHON)
    expect(page.locator(".verdict")).to_contain_text(sentence)
    expect(page.locator(".verdict")).to_have_class("verdict unsure")


def test_a_driver_is_named_that_knows_the_gpu(page: Page) -> None:
    choose(page, project="demo", cuda="12.8", torch="2.10")
    expect(page.locator(".notes")).to_contain_text("NVIDIA driver 525.60.13, or newer")
    choose(page, gpu="10.0")
    expect(page.locator(".notes")).to_contain_text("NVIDIA driver 570.26, or newer")


def test_the_address_keeps_the_choice(page: Page, site: str) -> None:
    choose(page, project="demo", cuda="12.8", torch="2.10", gpu="9.0")
    kept, verdict = page.url, page.locator(".verdict").inner_text()
    page.goto(f"{site}about/")
    page.goto(kept)
    assert page.locator(".verdict").inner_text() == verdict
    assert page.locator("[name=gpu]").input_value() == "9.0"


def test_what_the_address_asks_for_and_nobody_built_is_said_as_text(page: Page, site: str) -> None:
    page.goto(f"{site}#project=demo&python=%3Cimg%20src%3Dx%3E&cuda=99.0")
    expect(page.locator(".verdict")).to_contain_text("no demo 1.0 wheel for Python <img src=x>, CUDA 99.0")
    expect(page.locator("#answer img")).to_have_count(0)


def test_a_package_that_is_not_there_is_said_to_be_missing(page: Page, site: str) -> None:
    page.goto(f"{site}#project=elsewhere")
    expect(page.locator(".verdict")).to_contain_text("There is no elsewhere wheel for")
    expect(page.get_by_role("link", name="What is built")).to_be_hidden()


def test_hostile_text_is_shown_and_does_nothing(page: Page, site: str) -> None:
    for path in ("", "packages/demo/"):
        page.goto(site + path)
        expect(page.get_by_text(HOSTILE)).to_be_visible()
        assert "owned" not in page.title()


@pytest.mark.parametrize("path", ["packages/demo/", "packages/demo/1.0/"])
def test_coverage_tells_what_is_built_and_why_the_rest_is_not(path: str, page: Page, site: str) -> None:
    page.goto(site + path)
    grid = page.get_by_role("region", name=f"demo 1.0 on Linux {platform.machine()}")
    row = grid.get_by_role("row").filter(has=page.get_by_role("rowheader", name="13.0"))
    expect(row.get_by_role("link")).to_have_text([PYTHON])
    expect(row.get_by_role("cell", name="not planned", exact=True).first).to_be_visible()
    page.get_by_text("Why some are not planned").first.click()
    expect(page.get_by_text("torch 2.11 is not published for Python 3.13t").first).to_be_visible()


def test_the_address_of_a_wheel_shows_it_alone_with_all_that_is_known(page: Page, site: str) -> None:
    page.goto(f"{site}packages/demo/")
    page.get_by_role("region", name="demo 1.0").get_by_role("link", name=PYTHON).first.click()
    expect(page).to_have_url(f"{site}{WHEELS}#{TAGS}")
    expect(page.get_by_role("row", name="Has machine code for")).to_contain_text("8.0, 9.0")
    expect(page.get_by_role("row", name="Runs on")).to_contain_text("8.6 A2, A10")
    sha256 = copied(page, "sha256")
    file = page.get_by_role("link", name=NEWEST, exact=True)
    content = page.request.get(urljoin(page.url, file.get_attribute("href") or ""))
    assert hashlib.sha256(content.body()).hexdigest() == sha256
    bill = page.request.get(urljoin(page.url, page.get_by_role("link", name="bill of materials").get_attribute("href")))
    assert bill.json()["bomFormat"] == "CycloneDX"


def test_tables_are_filtered_by_what_somebody_has(page: Page, site: str) -> None:
    page.goto(f"{site}packages/demo/")
    choose(page, cuda="12.8", torch="2.10")
    expect(page.locator(".filter [role=status]")).to_have_text("1 row with wheels on this page")
    expect(page.get_by_role("heading", name="demo 0.9")).to_be_hidden()
    expect(page.locator("tbody tr:visible th")).to_have_text(["2.10", "12.8"])


def test_the_markdown_of_a_badge_leads_to_the_package(page: Page, site: str) -> None:
    page.goto(f"{site}packages/demo/")
    page.get_by_text("A badge for a README").click()
    here = f"{site}packages/demo/"
    assert copied(page, "Markdown") == f"[![CUDA wheels]({here}badge.svg)]({here})"
    badge = page.get_by_role("img", name="CUDA wheels: 1.0, torch 2.11")
    expect(badge).to_be_visible()
    assert badge.evaluate("image => image.naturalWidth") > 100


def test_packages_are_searched_from_any_page(page: Page, site: str) -> None:
    page.goto(site + WHEELS)
    field = page.get_by_role("searchbox", name="Search packages")
    field.fill("pla")
    expect(page.get_by_role("search").get_by_role("link")).to_have_count(1)
    field.press("ArrowDown")
    expect(page.get_by_role("search").get_by_role("link", name="plain")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site}packages/plain/")
    field.fill("nothing of that kind")
    expect(page.get_by_role("search").get_by_role("status")).to_have_text("No packages")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [*PATHS, "#project=demo&cuda=99.0"])
def test_axe_finds_nothing(path: str, scheme: Any, page: Page, site: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(site + path)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    violations = Axe().run(page).response["violations"]
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in violations] == []


@pytest.mark.parametrize("path", [*PATHS, "#project=demo&cuda=99.0"])
def test_nothing_is_wider_than_a_phone(path: str, page: Page, site: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(site + path)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_keyboard_reaches_a_command(page: Page) -> None:
    expect(page.get_by_role("button", name="Copy pip")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Package")).to_be_focused()
    for _ in range(9):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Copy pip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Copy pip")).to_have_text("Copied")


def test_a_link_within_the_page_keeps_what_was_chosen(page: Page) -> None:
    choose(page, cuda="12.8", torch="2.10")
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#main$"))
    expect(page.get_by_role("combobox", name="CUDA")).to_have_value("12.8")
    expect(page.get_by_role("button", name="Copy pip")).to_be_visible()


def test_without_javascript_addresses_and_packages_are_there(
    browser: Browser, site: str, host: str, environment: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    expect(page.locator("#finder")).to_be_hidden()
    page.get_by_text("The index of each CUDA and torch").click()
    address = page.get_by_role("link", name="torch 2.10").evaluate("link => link.href")
    page.get_by_role("link", name="demo", exact=True).click()
    command = page.locator("pre code", has_text="pip install").inner_text()
    expect(page.get_by_role("heading", name="demo 1.0", exact=True)).to_be_visible()
    page.locator("tr[data-cuda='12.8'][data-torch='2.10']").get_by_role("link").click()
    expect(page.get_by_text("demo==1.0+cu128torch2.10")).to_be_visible()
    expect(page.get_by_role("heading", name=f"Python {PYTHON}")).to_be_visible()
    context.close()
    _, *arguments = shlex.split(command.replace("ADDRESS", address))
    run([*pip_of(environment), *arguments], settings(host), environment)
    assert version_in(environment) == "1.0+cu128torch2.10"


def test_a_page_works_from_the_disk(browser: Browser, tmp_path: Path) -> None:
    store = DirectoryStore(directory=tmp_path / "releases")
    publish(store, [wheel_with_code(tmp_path / "wheels" / NEWEST)], now=NOW)
    pipeline.build_index(store, Listing(), FACTS, base_url="../releases", output=tmp_path / "site")
    page = browser.new_page()
    page.goto((tmp_path / "site" / "index.html").as_uri())
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu130torch2.11 fits")
    page.close()


def test_the_benchmark_runs() -> None:
    figures = json.loads(run(["benchmarks/site.py", "--wheels", "500"], dict(os.environ), ROOT))
    assert figures["wheels"] == 500
    assert figures["first_answer_ms"] > 0
