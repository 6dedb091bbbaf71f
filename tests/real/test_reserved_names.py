"""What the newest torch requires stands in the list of names that no wheel may have."""

import subprocess
import sys

import pytest
from packaging.requirements import Requirement

from wheelmill.names import project_name
from wheelmill.wheel.metadata import is_reserved

pytestmark = pytest.mark.real

RESOLVE = ("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", "3.12")
PLATFORM = ("--python-platform", "x86_64-manylinux_2_28")


def test_all_that_the_newest_torch_and_torchvision_require_is_reserved() -> None:
    resolve = [sys.executable, "-m", "uv", *RESOLVE, *PLATFORM, "-"]
    done = subprocess.run(resolve, input="torch\ntorchvision\n", capture_output=True, text=True, check=True)
    required = {project_name(Requirement(line).name) for line in done.stdout.splitlines()}
    assert len(required) > 10
    assert {name for name in required if not is_reserved(name)} == set()
