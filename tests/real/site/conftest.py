"""A small site for people, the browser that reads it, and the installers that are given its commands."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.releases import store_in
from tests.unit.plan.examples import CONFIG, DEMO, FACTS, PLAIN
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheel_site import add_wheel
from wheelmill.config.load import load_compatibility
from wheelmill.config.model.files import Listing
from wheelmill.index.serve import serve_folder
from wheelmill.names import Architecture, project_name
from wheelmill.pipeline.site import Stores, build_index, catalogue_of
from wheelmill.release.publish import publish
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system import own_installation

HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
TAGS = f"cp{PYTHON.replace('.', '')}-cp{PYTHON.replace('.', '')}-manylinux_2_28_{platform.machine()}"
WANTED = project_name("wanted")
NEWEST, OLDER_TORCH, OLDER_VERSION, NO_TORCH, NO_LABEL, MAJOR_ALONE = (
    f"{name}-{TAGS}.whl"
    for name in (
        *("demo-1.0+cu130torch2.11", "demo-1.0+cu128torch2.10", "demo-0.9+cu130torch2.11", "plain-2.0+cu130"),
        *("unlabelled-3.0", "upstream-4.0+cu13torch2.11cxx11abitrue"),
    )
)
UV = str(Path(sys.executable).with_name("uv"))


def wheel_with_code(path: Path) -> TestedWheel:
    """Write a wheel that has machine code for 8.0 and 9.0, and portable code for 9.0."""
    wheel = certified_wheel(path, content=b"answer = 42\n")
    evidence = replace(wheel.certificate.evidence, sass=("sm_80", "sm_90"), ptx=("compute_90",))
    return replace(wheel, certificate=replace(wheel.certificate, evidence=evidence))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A host with the site below its root, torch for CUDA 12.8, and an index that has nothing."""
    folder = tmp_path_factory.mktemp("host")
    store = store_in(folder / "releases")
    names = (NEWEST, OLDER_TORCH, OLDER_VERSION, NO_TORCH, NO_LABEL, MAJOR_ALONE)
    publish(store, [wheel_with_code(folder / "wheels" / name) for name in names], now=NOW)
    demo = replace(CONFIG.packages[DEMO], description=HOSTILE, licence="MIT", test_import=("torch", "demo_ops.kernels"))
    plain = replace(CONFIG.packages[PLAIN], requires=(DEMO,), pypi="same")
    catalogue = catalogue_of(
        replace(CONFIG, packages={DEMO: demo, PLAIN: plain, WANTED: plain}), store.ledger.summary()
    )
    shipped = load_compatibility(own_installation.CONFIG)
    homes = {project_name("vllm"): ("vllm", "vllm-nightly")}
    catalogue = replace(
        catalogue, homes=homes, gpu_drivers={"10.0": shipped.first_driver_for(Architecture(10, 0)) or ""}
    )
    stores = Stores(store=store, base_url="../../releases", listing=Listing(), facts=FACTS)
    (folder / "empty").mkdir()
    add_wheel(folder / "cu128", "torch-2.10.0+cu128-py3-none-any.whl")
    with serve_folder(folder) as url:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WHEELMILL_TORCH_INDEX", f"{url}cu{{cuda}}/simple/")
            where = f"{url}some/where/"
            build_index(stores, folder / "some" / "where", catalogue=catalogue, site_url=where)
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
