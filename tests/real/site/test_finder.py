"""The wheel finder in a real browser, and the commands that it gives."""

import platform
import re
import shlex
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlencode

import pytest
import tomlkit
from playwright.sync_api import Browser, Page, expect

from tests.real.site.conftest import (
    NEWEST,
    PYTHON,
    UV,
    choose,
    copied,
    pip_of,
    run,
    settings,
    version_in,
    wheel_with_code,
)
from tests.releases import store_in
from tests.unit.plan.examples import FACTS
from tests.unit.release.conftest import NOW
from wheelmill.config.model.files import Listing
from wheelmill.pipeline.site import Stores, build_index
from wheelmill.release.publish import publish

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({"cuda": "12.8", "torch": "2.10"}, "1.0+cu128torch2.10"),
        ({"cuda": "13.0", "torch": "2.11", "version": "0.9"}, "0.9+cu130torch2.11"),
    ],
)
def test_the_pip_command(choices: dict[str, str], expected: str, page: Page, host: str, environment: Path) -> None:
    choose(page, project="demo", python=PYTHON, **choices)
    for line in copied(page, "pip").splitlines():
        program, *arguments = shlex.split(line)
        assert program == "pip"
        run([*pip_of(environment), *arguments], settings(host), environment)
    assert version_in(environment) == expected


@pytest.mark.parametrize("requirement", ["demo==1.0", "demo==1.0+cu128torch2.10"])
def test_the_uv_command_installs_the_chosen_wheel(requirement: str, page: Page, host: str, environment: Path) -> None:
    choose(page, project="demo", cuda="12.8", torch="2.10")
    page.get_by_label("Pin this exact wheel").set_checked("+" in requirement)
    lines = [shlex.split(line) for line in copied(page, "uv").splitlines()]
    assert [(program, last) for program, *_, last in lines] == [("uv", "torch==2.10.*"), ("uv", requirement)]
    for _, *arguments in lines:
        run([UV, *arguments], settings(host) | {"VIRTUAL_ENV": str(environment)}, environment)
    assert version_in(environment, "torch") == "2.10.0+cu128"
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
    expect(page.locator(".verdict")).to_contain_text("plain 2.0+cu130 is the one that is left")
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


HERE = {"project": "demo", "python": PYTHON, "platform": f"linux_{platform.machine()}"}


def test_the_first_page_asks_and_guesses_nothing(page: Page) -> None:
    expect(page.locator(".verdict")).to_have_text("Choose a package, or paste what your machine says.")
    for name in ("project", "version", "python", "cuda", "torch", "platform", "gpu"):
        expect(page.locator(f"[name={name}]")).to_have_value("")
    expect(page.locator("pre:visible")).to_have_count(0)


def test_what_is_not_chosen_is_asked_for_and_nothing_is_said_to_fit_before(page: Page) -> None:
    choose(page, project="demo")
    expect(page.locator(".verdict")).to_have_text("Choose CUDA and torch: 3 builds of demo fit so far.")
    expect(page.locator("label.open")).to_have_count(2)
    expect(page.locator(".verdict")).to_have_class("verdict open")
    page.get_by_role("button", name="CUDA 13.0, torch 2.11").click()
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu130torch2.11 is the one that is left")
    expect(page.locator(".verdict")).to_contain_text("Choose Python and the system to see whether it fits.")
    choose(page, **HERE)
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu130torch2.11 fits")
    expect(page.locator(".verdict")).to_have_class("verdict")


def test_where_there_is_no_wheel_the_nearest_one_is_offered(page: Page) -> None:
    choose(page, **HERE, cuda="12.8", torch="2.11")
    expect(page.locator(".verdict")).to_have_text(
        f"There is no demo wheel for Python {PYTHON}, CUDA 12.8, torch 2.11, Linux {platform.machine()}."
    )
    offers = page.locator(".nearest button")
    expect(offers).to_have_text(["torch 2.10", "CUDA 13.0"])
    expect(page.locator(".nearest p")).to_have_text(
        ["It is for torch 2.10, not torch 2.11.", "It is for CUDA 13.0, not CUDA 12.8."]
    )
    expect(page.locator(".add")).to_have_text("wheelmill add demo --build")
    offers.first.click()
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu128torch2.10 fits")
    expect(page.locator(".verdict")).to_be_focused()


def test_a_refusal_names_gpu_and_driver(page: Page) -> None:
    choose(page, **HERE, cuda="13.0", torch="2.11", gpu="7.5")
    page.get_by_label("Driver").fill("535.54.03")
    page.get_by_label("Driver").press("Enter")
    expect(page.locator(".verdict")).to_contain_text("compute capability 7.5, driver 535.54.03.")
    reasons = page.locator(".nearest")
    expect(reasons).to_contain_text("It has no code that runs on compute capability 7.5; it has 8.0, 9.0+PTX.")
    expect(reasons).to_contain_text("It needs NVIDIA driver 580.65.06 or newer; yours is 535.54.03.")
    expect(reasons.get_by_role("button", name="CUDA 12.8, torch 2.10")).to_be_visible()


@pytest.mark.parametrize(
    ("gpu", "text"),
    [
        ("9.0", "It has machine code for compute capability 9.0."),
        ("8.6", "Its machine code for 8.0 runs on compute capability 8.6."),
        ("12.0", "no machine code that runs on compute capability 12.0, but portable code (PTX) for 9.0"),
        ("7.5", "It has no code that runs on compute capability 7.5; it has 8.0, 9.0+PTX."),
        ("8.7", "It has no code that runs on compute capability 8.7"),
    ],
)
def test_a_gpu_is_checked_against_the_code_in_the_wheel(gpu: str, text: str, page: Page) -> None:
    choose(page, **HERE, cuda="13.0", torch="2.11", gpu=gpu)
    expect(page.locator("#finder")).to_contain_text(text)


PASTED = """\
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|   0  NVIDIA H200                    On  |   00000000:03:00.0 Off |                    0 |
"""


def test_what_a_machine_prints_is_taken_and_the_rest_is_asked_for(page: Page) -> None:
    choose(page, project="demo")
    page.get_by_text("Paste what your machine says").click()
    field, said = page.locator(".paste textarea"), page.locator(".said")
    field.fill("no table")
    expect(said).to_contain_text("Nothing of this is known here")
    field.fill(PASTED)
    expect(said).to_have_text(
        "Read: NVIDIA H200 (9.0); driver 570.86.10, which knows CUDA up to 12.8. "
        "Not learnt: Python (python -V), torch (pip list), the system (uname -a)."
    )
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu128torch2.10 is the one that is left")
    field.fill(f"Python {PYTHON}.1\n2.10.0+cu128 12.8\nLinux h 6.1 SMP {platform.machine()} GNU/Linux")
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu128torch2.10 fits")
    expect(page.locator("#finder")).to_contain_text("It has machine code for compute capability 9.0.")
    expect(page.get_by_label("Driver")).to_have_value("570.86.10")


@pytest.mark.parametrize(
    ("project", "sentence"),
    [
        ("unlabelled", "For which CUDA it is, its version does not say."),
        ("upstream", "upstream 4.0+cu13torch2.11cxx11abitrue is for CUDA 13, and does not say for which release of it"),
    ],
)
def test_no_wheel_is_said_to_fit_whose_label_does_not_say_so(project: str, sentence: str, page: Page) -> None:
    choose(page, **{**HERE, "project": project})
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
    page.goto(f"{site}#project=demo&python=%3Cimg%20src%3Dx%3E&cuda=99.0&driver=%3Cb%3E&glibc=x&driver_cuda=y&gpu=1,,2")
    expect(page.locator(".verdict")).to_contain_text("There is no demo wheel for Python <img src=x>, CUDA 99.0")
    expect(page.locator("#answer img")).to_have_count(0)


def test_a_name_in_the_address_may_be_spelled_as_in_a_file(page: Page, site: str) -> None:
    page.goto(f"{site}#project=Plain&python={PYTHON}")
    expect(page.locator(".verdict")).to_contain_text("plain 2.0+cu130")


@pytest.mark.parametrize(
    ("project", "sentence", "has_page"),
    [("wanted", "wanted is planned, and this index has no wheel of it.", True),
     ("elsewhere", "This index knows no elsewhere.", False),
     ("constructor", "This index knows no constructor.", False)],
)  # fmt: skip
def test_planned_is_not_unknown(project: str, sentence: str, page: Page, site: str, *, has_page: bool) -> None:
    page.goto(f"{site}#project={project}")
    expect(page.locator(".verdict")).to_have_text(sentence)
    expect(page.locator(".add")).to_have_text(f"wheelmill add {project} --build")
    expect(page.get_by_role("link", name="What is built")).to_be_visible(visible=has_page)
    expect(page.locator(".homes")).to_be_hidden()


def test_who_else_has_a_package_is_named(page: Page, site: str) -> None:
    page.goto(f"{site}#project=vllm")
    expect(page.locator(".homes")).to_have_text("vllm and vllm-nightly have wheels of vllm.")


def test_no_command_is_written_for_what_is_no_name(page: Page, site: str) -> None:
    page.goto(f"{site}#project=--index-url%20x")
    expect(page.locator(".verdict")).to_have_text("This index knows no -index-url x.")
    expect(page.locator(".add")).to_be_hidden()


def test_the_keyboard_reaches_a_command(page: Page, site: str) -> None:
    page.goto(f"{site}#project=plain")
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
    choose(page, project="demo", cuda="12.8", torch="2.10")
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#main$"))
    expect(page.get_by_role("combobox", name="CUDA")).to_have_value("12.8")
    expect(page.get_by_role("button", name="Copy pip")).to_be_visible()


def test_a_page_works_from_the_disk(browser: Browser, tmp_path: Path) -> None:
    store = store_in(tmp_path / "releases")
    publish(store, [wheel_with_code(tmp_path / "wheels" / NEWEST)], now=NOW)
    stores = Stores(store=store, base_url="../releases", listing=Listing(), facts=FACTS)
    build_index(stores, tmp_path / "site")
    page = browser.new_page()
    page.goto(f"{(tmp_path / 'site' / 'index.html').as_uri()}#{urlencode(HERE)}&cuda=13.0&torch=2.11")
    expect(page.locator(".verdict")).to_contain_text("demo 1.0+cu130torch2.11 fits")
    page.close()
