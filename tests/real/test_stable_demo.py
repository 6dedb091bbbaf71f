"""A package for the stable ABIs of torch and Python: one wheel for every torch of its range and every Python."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.machine_folders import environment_with
from tests.real.conftest import DEMO, Command
from wheelmill.wheel.shared_objects import shared_objects_of

pytestmark = pytest.mark.real

STABLE = DEMO.with_name("stable_demo")
NAME = "wheelmill-demo-stable"
TARGET = (NAME, "--cuda", "13.0", "--platform", "linux_x86_64")

UNSTABLE = """
#include <ATen/ops/empty.h>
at::Tensor unstable() { return at::empty({1}); }
"""


def build(wheelmill: Command, config: Path, output: Path) -> Path:
    wheelmill("build", *TARGET, "--config", config, "--output", output)
    (wheel,) = output.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def entry(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration: nightly with the whole ranges of Python and torch, else with their oldest ones alone."""
    config = shutil.copytree(STABLE, tmp_path_factory.mktemp("entry") / "config")
    if not pytestconfig.getoption("--nightly"):
        packages = config / "packages.yml"
        packages.write_text(packages.read_text().replace("<3.14", "<3.12").replace("2.15", "2.12"))
    return config


@pytest.fixture(scope="module")
def built(wheelmill: Command, entry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as its entry has it."""
    return build(wheelmill, entry, tmp_path_factory.mktemp("stable"))


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration whose source calls the C++ of torch, and whose entry leaves it to nvcc what is compressed."""
    config = tmp_path_factory.mktemp("changed") / "config"
    shutil.copytree(STABLE, config)
    (config / "packages.yml").write_text((STABLE / "packages.yml").read_text() + "    compress: as-is\n")
    source = config / NAME
    (source / "unstable.cpp").write_text(UNSTABLE)
    setup = (source / "setup.py").read_text()
    setup = setup.replace('["scale.cu"]', '["scale.cu", "unstable.cpp"]').replace('"cxx": DEFINED', '"cxx": []')
    (source / "setup.py").write_text(setup)
    return config


@pytest.fixture(scope="module")
def unstable(wheelmill: Command, changed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of that."""
    return build(wheelmill, changed, tmp_path_factory.mktemp("unstable"))


def refusal(wheelmill: Command, wheel: Path, config: Path) -> tuple[str, str]:
    """The code and the detail of the one thing that a wheel is refused for."""
    (verdict,) = json.loads(wheelmill("smoke", wheel, "--config", config, "--json", exit_code=5).stdout)["wheels"]
    (finding,) = verdict["findings"]
    return finding["code"], finding["detail"]


def test_the_plan_has_one_wheel_for_each_cuda_and_platform(wheelmill: Command) -> None:
    targets = json.loads(wheelmill("plan", "--config", STABLE, "--json").stdout)["targets"]
    assert {target["cuda"] for target in targets} == {"12.6", "12.8", "13.0", "13.2"}
    assert len({(target["cuda"], target["platform"]) for target in targets}) == len(targets) == 8
    assert {(it["torch"], it["torch_abi"]["stable"], it["python"]) for it in targets} == {(None, "2.11", "3.11")}


def test_it_is_built_once_and_computes_beside_the_ends_of_its_range(
    wheelmill: Command, entry: Path, built: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    wheel = shutil.copytree(built.parent, tmp_path / "wheels") / built.name
    assert wheel.name.startswith("wheelmill_demo_stable-1.0.0+cu130-cp311-abi3-")
    wheelmill("smoke", wheel, "--config", entry)
    certificate = json.loads(wheel.with_name(f"{wheel.name}.tested.json").read_text())
    assert certificate["provenance"]["torch_release"] == "2.11.0"
    rooms = [(room["python"].rpartition(".")[0], room["installed"]["torch"]) for room in certificate["clean_rooms"]]
    newest = pytestconfig.getoption("--nightly")
    pythons, torches = ["3.11", *["3.13"] * newest], ["2.11.0", *["2.14.1"] * newest]
    assert rooms == [(python, torch) for python in pythons for torch in torches]

    provenance = wheel.with_name(f"{wheel.name}.built.json")
    provenance.write_text(provenance.read_text().replace('"stable": "2.11"', '"stable": "2.9"'))
    code, detail = refusal(wheelmill, wheel, entry)
    assert code == "torch-oldest"
    assert detail.startswith("torch_abi says torch 2.9, but torch 2.11 is the first with torch_dtype_float4_e2m1fn_x2")


LOADS = """
import sys
from pathlib import Path
import torch
from kernels import get_local_kernel, get_loaded_kernels
from kernels._rust import Digest, Metadata
(variant,) = (Path(sys.argv[1]) / "build").iterdir()
digest = Metadata.read_from_file(variant / "metadata.json").digest
digest.validate(Digest.hash_variant(digest.algorithm, variant))
kernel = get_local_kernel(Path(sys.argv[1]))
print(kernel.scale(torch.arange(3.0), 2.0).tolist(), get_loaded_kernels()[0].metadata.backend.archs)
"""


def test_kernels_loads_what_is_exported_and_it_computes(wheelmill: Command, built: Path, tmp_path: Path) -> None:
    (folder,) = wheelmill("export", "kernels", built, "--output", tmp_path / "hub").stdout.splitlines()
    assert folder == str(tmp_path / "hub" / "build" / "torch-stable-abi211-cu130-x86_64-linux")

    python = environment_with("kernels") / "bin" / "python"
    argv = [str(python), "-c", LOADS, str(tmp_path / "hub")]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=offline)
    assert done.stdout == "[0.0, 2.0, 4.0] ['9.0']\n", done.stderr

    again = wheelmill("export", "kernels", built, "--output", tmp_path / "hub", exit_code=2)
    assert "is there already" in again.stderr


def test_its_gpu_code_is_compressed_unless_its_entry_leaves_that_to_nvcc(built: Path, unstable: Path) -> None:
    (small,), (large,) = map(shared_objects_of, (built, unstable))
    assert small.device_code.sass == large.device_code.sass == ("sm_90",)
    assert small.device_code.sizes["sm_90"] < large.device_code.sizes["sm_90"] / 2
    provenance = json.loads(built.with_name(f"{built.name}.built.json").read_text())
    assert (provenance["nvcc_flags"], provenance["driver"]) == (["--compress-mode=size"], "580.65.06")


def test_a_copy_that_calls_torchs_cxx_names_what_it_calls(wheelmill: Command, unstable: Path, changed: Path) -> None:
    code, detail = refusal(wheelmill, unstable, changed)
    assert code == "torch-abi"
    assert "at::_ops::empty_memory_format::call" in detail
