"""Builds in containers, on stand-ins for the public images (tests/real/stand_ins), and the factory in an image."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.conftest import DEMO, ROOT, Command, containers, divisible_demo, docker_alone
from tests.real.stand_in_images import references
from wheelmill.build.compiler_cache import CompilerCache
from wheelmill.config.load import load_images
from wheelmill.names import CudaVersion, Platform
from wheelmill.system.files import sha256_of

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("nothing_is_left")]

IN_DOCKER = ("--sandbox", "docker", "--policy", "manylinux_2_34")  # Debian's glibc, which the stand-ins have
TARGET = ("wheelmill-demo", "--python", "3.12", "--cuda", "13.0")


@pytest.fixture(scope="module")
def demo(docker_config: Callable[[Path], Path]) -> Path:
    return docker_config(DEMO)


@pytest.fixture(scope="module")
def torch_demo(docker_config: Callable[[Path], Path], wheelmill: Command) -> Path:
    folder = docker_config(DEMO.with_name("torch_demo"))
    wheelmill("config", "lock", "--config", folder)
    return folder


def test_only_digests_differ_from_production(demo: Path) -> None:
    shipped, ours = load_images(ROOT / "config"), load_images(demo)
    assert [image.tagged for image in references(ours)] == [image.tagged for image in references(shipped)]
    assert {cuda: each.toolkit for cuda, each in ours.cuda.items()} == {
        cuda: each.toolkit for cuda, each in shipped.cuda.items()
    }
    exchanged = [
        ours.tagged
        for ours, theirs in zip(references(ours), references(shipped), strict=True)
        if ours.digest != theirs.digest
    ]
    assert len(exchanged) in {4, 6}  # manylinux, the plain one, devel and runtime of one CUDA, or nightly of two


def test_two_pythons_the_whole_way(wheelmill: Command, demo: Path, tmp_path: Path) -> None:
    target = ("wheelmill-demo", "--config", demo, "--python", "3.11,3.12", "--cuda", "13.0")
    report = json.loads(wheelmill("run", *target, *IN_DOCKER, "--output", tmp_path, "--json").stdout)
    assert [wheel["ok"] for wheel in report["wheels"]] == [True, True]
    (manifest,) = tmp_path.glob("releases/v*/manifest.json")
    images = load_images(demo)
    bases = [image for image in references(images) if ":13.0." in image.tagged]
    for entry in json.loads(manifest.read_bytes())["wheels"]:
        assert entry["filename"].endswith("-manylinux_2_34_x86_64.whl")
        rooms = entry["certificate"]["clean_rooms"]
        assert [room["place"] for room in rooms] == [str(bases[1]), str(images.plain.image)]
        assert entry["certificate"]["provenance"]["images"] == [
            str(images.manylinux.images[Platform.parse("linux_x86_64")]),
            str(bases[0]),
        ]
    assert ["auditwheel repair" in path.read_text() for path in tmp_path.glob("built/*.log")] == [True, True]
    subprocess.run(pip_install(tmp_path, "cu130", "wheelmill-demo", tmp_path / "installed"), check=True)
    assert (tmp_path / "installed" / "wheelmill_demo-1.0.0+cu130.dist-info").is_dir()


@pytest.mark.nightly
def test_two_cudas_in_one_release_and_one_index(wheelmill: Command, torch_demo: Path, tmp_path: Path) -> None:
    target = ("wheelmill-demo-torch", "--config", torch_demo, "--python", "3.12", "--cuda", "12.4,13.0")
    run = ("run", *target, "--torch", "2.6,2.11", *IN_DOCKER, "--output", tmp_path, "--json")
    report = json.loads(wheelmill(*run).stdout)
    assert [wheel["ok"] for wheel in report["wheels"]] == [True, True]
    assert len(report["releases"]) == 1
    for tree, torch in (("cu124", "2.6"), ("cu130", "2.11")):
        folder = tmp_path / tree
        subprocess.run(pip_install(tmp_path, f"{tree}/torch{torch}", "wheelmill-demo-torch", folder), check=True)
        assert (folder / f"wheelmill_demo_torch-1.0.0+{tree}torch{torch}.dist-info").is_dir()


def test_a_build_that_was_killed_goes_on_where_it_was_and_the_cache_changes_no_byte(
    wheelmill: Command,
    docker_config: Callable[[Path], Path],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    units = 9
    config = docker_config(divisible_demo(tmp_path / "demo", units))
    uv_cache = os.environ.get("UV_CACHE_DIR", str(Path("~/.cache/uv").expanduser()))
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "UV_CACHE_DIR": uv_cache}  # a compiler cache that is empty
    build = ("build", *TARGET, "--config", config, *IN_DOCKER, "--output")
    argv = [sys.executable, "-m", "wheelmill", *map(str, (*build, tmp_path / "with"))]
    before = containers()
    with subprocess.Popen(argv, cwd=ROOT, env=os.environ | env, stderr=subprocess.DEVNULL) as first:
        while (finished := compiled_in(tmp_path / "cache")) < 3:
            assert first.poll() is None
            time.sleep(0.2)
        first.send_signal(signal.SIGKILL)
    assert containers() != before
    again = wheelmill(*build, tmp_path / "with", env=env)
    (said,) = re.findall(r"(\d+) objects? from the compiler cache, (\d+) compiled", again.stderr)
    found, compiled = map(int, said)
    record_property("objects finished before, found, compiled", (finished, found, compiled))
    assert found >= 0.95 * finished
    assert found + compiled == units
    wheelmill(*build, tmp_path / "without", env=env | {"CCACHE_DISABLE": "1"})
    (wheel,) = tmp_path.glob("with/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.startswith("wheelmill_demo/_kernels.") for name in archive.namelist())
    assert sha256_of(wheel) == sha256_of(tmp_path / "without" / wheel.name)


def test_too_little_memory_is_named(wheelmill: Command, demo: Path, tmp_path: Path) -> None:
    ended = wheelmill(
        "build", *TARGET, "--config", demo, *IN_DOCKER, "--memory", "0.1", "--output", tmp_path, exit_code=4
    )
    assert re.search(r"used up 0\.1 GiB with \d+ compilers? at once", ended.stderr)
    assert "--memory" in ended.stderr
    (log,) = tmp_path.glob("*.log")
    assert str(log) in ended.stderr


def test_the_compiler_error_is_shown(wheelmill: Command, docker_config: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = docker_config(DEMO)
    unit = folder / "wheelmill-demo" / "wheelmill_demo" / "_kernels.cu"
    unit.write_text(f"{unit.read_text()}void broken() {{ nothing_of_that_name(); }}\n")
    build = ("build", *TARGET, "--config", folder, "--arch", "9.0", *IN_DOCKER)
    ended = wheelmill(*build, "--output", tmp_path, exit_code=4)
    assert 'wheelmill_demo/_kernels.cu(68): error: identifier "nothing_of_that_name" is undefined' in ended.stderr
    assert "subprocess-exited-with-error" not in ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_too_little_disk_is_named_before_the_start(wheelmill: Command, demo: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "cache"
    elsewhere.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", elsewhere], check=True)
    try:
        build = ("build", *TARGET, "--config", demo, *IN_DOCKER, "--output", tmp_path)
        ended = wheelmill(*build, exit_code=4, env={"XDG_CACHE_HOME": str(elsewhere)})
    finally:
        subprocess.run(["umount", elsewhere], check=True)
    assert f"{elsewhere}/wheelmill has 67.1 MB free and needs 1.0 GB" in ended.stderr
    assert "docker system df" in ended.stderr


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


def test_no_line_of_a_hostile_source_runs_outside(wheelmill: Command, hostile: Path, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    limits = (*IN_DOCKER, "--memory", "4")
    token = {"GITHUB_TOKEN": "s3cret-of-the-job"}
    wheelmill("build", *TARGET, "--config", hostile, *limits, "--output", tmp_path / "wheels", env=token)
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


TRUSTED = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
BASE = """
FROM {image}
COPY certificates.pem constraints.txt /etc/
COPY demo /config
ENV PIP_CERT=/etc/certificates.pem SSL_CERT_FILE=/etc/certificates.pem PIP_CONSTRAINT=/etc/constraints.txt
"""


@pytest.fixture(scope="module")
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The factory, on a base image that trusts whom this machine trusts and has constraints of pip, as NVIDIA's."""
    request.getfixturevalue("stand_ins")
    folder = tmp_path_factory.mktemp("base")
    shutil.copy(TRUSTED, folder / "certificates.pem")
    (folder / "constraints.txt").write_text("six<1.10\nsetuptools<1\n")
    shutil.copytree(DEMO, folder / "demo")
    for path in folder.rglob("*"):  # for the user of the image, whatever the umask
        path.chmod(0o755 if path.is_dir() else 0o644)
    devel = load_images(ROOT / "config").cuda[CudaVersion(13, 0)].devel
    (folder / "Dockerfile").write_text(BASE.format(image=devel.tagged))
    base, made = "wheelmill-test/base", "wheelmill-test/factory"
    with docker_alone():
        subprocess.run(["docker", "build", "--quiet", "--tag", base, folder], check=True)
        done = subprocess.run([ROOT / "scripts" / "image", base, made], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    yield made
    subprocess.run(["docker", "image", "rm", "--force", made, base], check=True, capture_output=True)


def run_in(image: str, *words: str) -> str:
    argv = ["docker", "run", "--rm", image, *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_commands_of_the_factory_start_in_its_image(image: str) -> None:
    assert run_in(image, "--version").strip()
    plan = ("plan", "flash-attn", "--cuda", "13.0", "--torch", "2.11", "--python", "3.12")
    assert "wheels to build: 1," in run_in(image, *plan)
    assert "no faults" in run_in(image, "config", "check")


def test_the_image_of_the_factory_builds_and_tries_a_wheel_as_nobody_in_particular(image: str) -> None:
    target = ("wheelmill-demo", "--config", "/config", "--python", "3.11", "--cuda", "13.0")
    said = run_in(image, "run", *target)
    assert "wheelmill_demo-1.0.0+cu130-cp311-cp311-" in said


def compiled_in(cache: Path) -> int:
    """How many objects are in the compiler cache of the only group in a cache folder."""
    groups = [*cache.glob("wheelmill/compiled/*/*/stats")]
    if not groups:
        return 0
    return CompilerCache(folder=groups[0].parents[1], compilers=Path(sysconfig.get_path("scripts"))).counts().compiled


def pip_install(output: Path, tree: str, project: str, destination: Path) -> list[str | Path]:
    """Install from one tree into a folder, for the wheel's Python: the interpreter of the tests is another one."""
    index = (output / "site" / tree / "simple").as_uri()
    aside = ("--no-deps", "--target", destination, "--python-version", "3.12", "--only-binary", ":all:")
    platform = ("--platform", "manylinux_2_34_x86_64")
    return [sys.executable, "-m", "pip", "install", "--index-url", index, *aside, *platform, project]
