"""A toolkit that is installed is taken in the place of NVIDIA's wheels, and compiles."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.conftest import DEMO, Command, another_person
from wheelmill.build.toolkit import complete_toolkit

pytestmark = pytest.mark.real


def test_a_wheel_is_compiled_by_the_toolkit_that_cuda_home_names(wheelmill: Command, tmp_path: Path) -> None:
    """It has NVIDIA's own files, laid out as their installer leaves them."""
    toolkit = "cuda-toolkit[nvcc,cccl,crt,nvvm,cudart]==13.0.2"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "wheels"), toolkit]
    subprocess.run(install, check=True)
    home = tmp_path / "wheels" / "nvidia" / "cu13"
    complete_toolkit(home)
    (home / "version.json").write_text('{"cuda": {"version": "13.0.2"}}')
    environment = another_person(tmp_path / "home") | {"CUDA_HOME": str(home)}
    build = (
        "build",
        "wheelmill-demo",
        "--config",
        DEMO,
        "--cuda",
        "13.0",
        "--python",
        "{}.{}".format(*sys.version_info),
    )
    wheelmill(*build, "--output", tmp_path / "built", env=environment)
    (wheel,) = tmp_path.glob("built/*.whl")
    assert json.loads(wheelmill("show", wheel, "--json").stdout)["built"]["toolkit"] == "13.0.2"
    (log,) = tmp_path.glob("built/*.log")
    assert "cuda-toolkit[" not in log.read_text()
