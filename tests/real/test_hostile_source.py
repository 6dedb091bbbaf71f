"""A source whose files have the names of modules that programs of ours import: they run in its container only.

Each leaves a mark where it runs, in a folder of this machine that no container has.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.conftest import DEMO, Command

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("room_for_builds", "nothing_is_left")]

MARKING = """
import os, sys
with open(os.path.join({marks!r}, __name__), "a") as mark:
    mark.write(os.environ.get("GITHUB_TOKEN", "no token"))
"""
"""What the hostile modules do, and then fail as that folder is not there: the names of real modules are not theirs."""
SETUP = """
import json, pathlib
files = {path: path.read_text().strip() for name in (
    "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max",
) if (path := pathlib.Path(name)).exists()}
status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
seen = {
    "limits": sorted(files.values()), "privileges": status["NoNewPrivs"].strip(), "rights": status["CapEff"].strip(),
    "marks": pathlib.Path(MARKS).exists(),
    "interfaces": sorted(each.name for each in pathlib.Path("/sys/class/net").iterdir()),
}
pathlib.Path("wheelmill_demo", "seen.py").write_text(json.dumps(seen))
"""
"""Puts into the wheel what the build sees of its container."""


@pytest.fixture
def hostile(docker_config: Callable[[Path], Path], tmp_path: Path) -> Path:
    """A configuration with the demo package, and with modules at the top level of its source."""
    (tmp_path / "marks").mkdir()
    folder = docker_config(DEMO)
    source = folder / "wheelmill-demo"
    for name in ("cibuildwheel", "tomllib", "sitecustomize", "usercustomize", "packaging", "pip", "auditwheel"):
        (source / f"{name}.py").write_text(MARKING.format(marks=str(tmp_path / "marks")))
    setup = source / "setup.py"
    setup.write_text(SETUP.replace("MARKS", repr(str(tmp_path / "marks"))) + setup.read_text())
    return folder


def test_a_hostile_source_is_built_without_a_line_of_it_running_outside(
    wheelmill: Command, hostile: Path, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    target = ("wheelmill-demo", "--config", hostile, "--python", "3.12", "--cuda", "13.0")
    limits = ("--sandbox", "docker", "--policy", "manylinux_2_34", "--memory", "4")
    token = {"GITHUB_TOKEN": "s3cret-of-the-job"}
    wheelmill("build", *target, *limits, "--output", tmp_path / "wheels", env=token)
    assert [*marks.iterdir()] == []

    (wheel,) = tmp_path.glob("wheels/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        seen = json.loads(archive.read("wheelmill_demo/seen.py"))
    assert seen == {
        "limits": sorted([str(8192), str(4 << 30)]),  # processes, bytes of memory
        "privileges": "1",
        "rights": f"{0b1011:016x}",  # chown, dac_override and fowner, see capabilities(7)
        "marks": False,
        "interfaces": ["lo"],
    }
    (log,) = tmp_path.glob("wheels/*.log")
    assert token["GITHUB_TOKEN"] not in log.read_text()

    as_it_was = [sys.executable, "-m", "cibuildwheel"]
    subprocess.run(as_it_was, cwd=hostile / "wheelmill-demo", env=os.environ | token, check=False)
    assert [path.read_text() for path in marks.iterdir()] == [token["GITHUB_TOKEN"]]  # what it would have written
