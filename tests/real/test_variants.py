"""A package that the real compiler built, as a variant wheel that uv chooses and Python imports."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.machine_folders import BASE
from tests.real.conftest import DEMO, Command, sampled
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv

pytestmark = pytest.mark.real

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

SHOW = """
from importlib.metadata import distribution
import wheelmill_demo
print(distribution("wheelmill-demo").read_text("variant.json"))
"""


@sampled(
    ("driver", "sm", "label"),
    [("13.0", "9.0", "cu130"), ("13.0", "12.0", "cu130"), ("12.8", "9.0", "null"), (None, None, "null")],
    ("13.0", "12.0", "cu130"),
    ("12.8", "9.0", "null"),
)
def test_uv_installs_the_result(site: str, tmp_path: Path, driver: str | None, sm: str | None, label: str) -> None:
    machine = {"CUDA_DRIVER_VERSION": driver, "SM_ARCH": sm}
    forced = {f"NV_VARIANT_PROVIDER_FORCE_{name}": value for name, value in machine.items() if value}
    python = tmp_path / "env" / "bin" / "python"
    uv("venv", "--python", BASE, tmp_path / "env")
    wanted = ("--index-url", f"{site}variants/simple/", "wheelmill-demo")
    uv("pip", "install", "--preview-features", "wheel-variants", "--no-cache", "--python", python, *wanted, env=forced)
    said = subprocess.run([python, "-c", SHOW], capture_output=True, text=True, check=True).stdout
    assert [name.partition("_")[0] for name in json.loads(said)["variants"]] == [label]


def uv(*words: str | Path, env: Mapping[str, str] = MappingProxyType({})) -> None:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "NV_"))}
    done = subprocess.run([own_uv(), *words], env=ours | dict(env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(wheelmill: Command, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("variants")
    wheelmill("run", "wheelmill-demo", "--config", DEMO, "--python", PYTHON, "--cuda", "13.0", "--output", folder)
    stores = [f"dir:{folder / name}" for name in ("releases", "variants")]
    wheelmill("release", "variants", "wheelmill-demo", "--store", stores[0], "--to", stores[1])
    wheelmill(
        "index", "build", "--store", stores[0], "--variants", stores[1], "--config", DEMO, "--output", folder / "site"
    )
    with serve_folder(folder, negotiate=True) as url:
        yield f"{url}site/"
