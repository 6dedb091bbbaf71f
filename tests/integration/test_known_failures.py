"""Which failed builds ``wheelmill run`` tries again, with the machine's own g++."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands import Done, Start
from tests.unit.build.conftest import package_index_of, write_toolkit
from tests.unit.build.test_compiler_cache import write_program
from tests.wheels import write_wheel
from wheelmill.config.load import load_config
from wheelmill.names import CudaVersion, project_name
from wheelmill.system import own_installation

TARGET = ("demo", "--python", f"3.{sys.version_info.minor}", "--cuda", "13.0", "--json")

PACKAGES = """
packages:
  demo:
    versions: ["1.0"]
    build_args: "--no-build-isolation"
    architectures: ["9.0"]
    source: demo
    test_import: demo
    description: "One function"
"""

PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'

BACKEND = """
import pathlib, subprocess, urllib.request, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    address = pathlib.Path("address")
    if address.exists():
        urllib.request.urlopen(address.read_text())
    subprocess.run(["g++", "-shared", "-fPIC", "-o", "_C.so", "demo.cpp"], check=True)
    name = "demo-1.0-cp3MINOR-cp3MINOR-linux_MACHINE.whl"
    tag = name[len("demo-1.0-"):-len(".whl")]
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        wheel.write("_C.so", "demo/_C.so")
        wheel.writestr("demo/__init__.py", "")
        about = {"METADATA": "Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n",
                 "WHEEL": f"Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: {tag}\\n",
                 "RECORD": "demo/_C.so,,\\ndemo/__init__.py,,\\n"}
        for file, text in about.items():
            wheel.writestr(f"demo-1.0.dist-info/{file}", text)
    return name
""".replace("MINOR", str(sys.version_info.minor)).replace("MACHINE", os.uname().machine)

SOURCE = """
extern "C" double pow(double, double), atof(const char *);
static double value;
extern "C" void *PyInit__C(void) { value = pow(atof("2"), 1.5); return &value; }
"""

Run = Callable[..., Done]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The source of the package, beside the file that lists it."""
    source = tmp_path / "config" / "demo"
    source.mkdir(parents=True)
    (source.parent / "packages.yml").write_text(PACKAGES)
    for name, text in {"pyproject.toml": PROJECT, "backend.py": BACKEND, "demo.cpp": SOURCE}.items():
        (source / name).write_text(text)
    return source


@pytest.fixture
def run(source: Path, tmp_path: Path, start: Start) -> Iterator[Run]:
    """Run the package on a machine that has a toolkit and the packages that every build needs, and no pip for smoke."""
    release = load_config(own_installation.CONFIG).compatibility.cuda[CudaVersion(13, 0)].toolkit
    toolkit = write_toolkit(tmp_path / "cuda", release)
    with package_index_of(tmp_path / "wheels") as wheels:
        for name in ("setuptools", "wheel"):
            write_wheel(wheels / f"{name}-99.0-py3-none-any.whl")
        own = {"CUDA_HOME": str(toolkit), "XDG_CACHE_HOME": str(tmp_path / "cache"), "CCACHE_DISABLE": "1"}

        def called(*arguments: str, exit_code: int, path: Path | None = None) -> Done:
            words = ["-m", "wheelmill", "run", *TARGET, "--config", str(source.parent), *arguments]
            environment = os.environ | own | ({"PATH": f"{path}:{os.environ['PATH']}"} if path else {})
            done = start(words, cwd=tmp_path, env=environment)
            assert done.returncode == exit_code, done.stderr
            assert "Traceback" not in done.stderr.replace('Traceback (most recent call last):\n  File "/', "")
            return done

        yield called


def counts(done: Done) -> tuple[int, int]:
    content = json.loads(done.stdout)
    return content["counts"]["wheels"], content["counts"]["skips"]


def test_a_source_that_the_compiler_refuses_is_not_tried_again_unasked(run: Run, source: Path) -> None:
    (source / "demo.cpp").write_text("int value() { return missing; }\n")
    reason = "demo.cpp:1:22: error: ‘missing’ was not declared in this scope"  # noqa: RUF001 - as GCC writes it
    assert counts(run(exit_code=4)) == (1, 0)
    again = run(exit_code=4)
    assert counts(again) == (0, 1)
    again.check_refused("targets-failed", reason, "--force")
    (failure,) = json.loads(again.stdout)["failures"]
    assert (failure["stage"], reason in failure["message"]) == ("build", True)
    assert counts(run("--force", exit_code=4)) == (1, 0)


def test_a_failure_of_one_policy_or_compiler_leaves_others_to_be_tried(run: Run, source: Path, tmp_path: Path) -> None:
    packages = source.parent / "packages.yml"
    packages.write_text(f"# Ours.{PACKAGES}\n# The end.\n")
    refused = run("--policy", "manylinux_2_5", exit_code=4)
    refused.check_refused("targets-failed", "auditwheel")
    broken = tmp_path / "broken"
    write_program(broken / "g++", "#!/bin/sh\necho 'demo.cpp:1:1: error: nothing is declared' >&2\nexit 1\n")
    assert counts(run(exit_code=4, path=broken)) == (1, 0)
    assert counts(run("--policy", "auto", exit_code=5)) == (1, 0)
    assert len(list(tmp_path.glob("out/built/*.whl"))) == 1
    assert packages.read_text() == f"# Ours.{PACKAGES}\n# The end.\n"
    done = run("--measure", "--force", exit_code=5)  # writes what the build took, as that is asked for
    written = load_config(source.parent).packages[project_name("demo")]
    assert written.memory_per_job == 1 << 30
    costs = f"    seconds: {written.seconds}\n    memory_per_job: 1\n"
    assert packages.read_text() == f"# Ours.{PACKAGES}{costs}\n# The end.\n"
    said = done.stderr.replace("\n", "")
    assert f"{packages}: demo takes {written.seconds} seconds" in said
    assert f"{packages}: demo takes 1 GB" in said


def test_a_build_that_failed_without_a_network_is_tried_again(run: Run, source: Path) -> None:
    (source / "address").write_text("http://127.0.0.1:9/")
    for _ in range(2):
        assert counts(run(exit_code=4)) == (1, 0)
