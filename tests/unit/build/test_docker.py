"""What a build in a container may use, and what is said when it was not enough."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.fake_docker import FakeDocker, Reply
from tests.refusals import coded
from tests.unit.build.conftest import CELL, MACHINE, TARGET, compile_shared_object
from tests.wheels import write_wheel
from wheelmill.build import docker as docker_build
from wheelmill.build.builder import BuildTask, Compiled
from wheelmill.build.compiler_cache import BuildPart, CompiledPart, report_hits
from wheelmill.build.docker import ContainerBuild, ContainerLimits, DockerBuilder, settings_of
from wheelmill.build.environment import install_packages
from wheelmill.config.load import load_config
from wheelmill.config.model.package_parts import SystemPackages
from wheelmill.errors import BuildError, CompileError, ProcessError, UsageError
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import own_installation
from wheelmill.system.progress import Progress

CONFIG = load_config(own_installation.CONFIG)
MANYLINUX = CONFIG.images.manylinux.images[CELL.platform]
DEVEL = CONFIG.images.of_cuda(CELL.cuda).devel
WITHOUT_TORCH = replace(TARGET, cell=replace(CELL, torch=None), torch_release=None, source=Path("project"))
ENOUGH = 0
WHEEL = f"demo-1.0-cp311-cp311-manylinux_2_28_{MACHINE}.whl"


@dataclass
class Cibuildwheel:
    """Takes the place of cibuildwheel."""

    wheel: Path | None = None
    """What it makes; None lets it fail."""
    tail: str = "g++ has had enough"
    exit_code: int = 1
    build: ContainerBuild | None = None
    """What it was told."""

    def __call__(self, build: ContainerBuild) -> Path:
        """Do as it is told."""
        self.build = build
        if self.wheel:
            return self.wheel
        raise ProcessError("program-failed", "cibuildwheel failed", returncode=self.exit_code, tail=self.tail)

    @property
    def create_args(self) -> set[str]:
        """The options that its container gets."""
        assert self.build is not None
        return set(self.build.create_args)


@pytest.fixture
def cibuildwheel(monkeypatch: pytest.MonkeyPatch) -> Cibuildwheel:
    cibuildwheel = Cibuildwheel()
    monkeypatch.setattr(docker_build, "run_cibuildwheel", cibuildwheel)
    return cibuildwheel


Compile = Callable[..., Any]


@pytest.fixture
def compile_in_docker(docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compile:
    """Compile on a machine that has Docker and the images, without packages and without counting."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(docker_build, "check_disks", lambda *_, **__: None)
    monkeypatch.setattr(docker_build, "install_packages", lambda _target, folder, _workspace, **_: folder)
    monkeypatch.setattr(docker_build, "report_hits", lambda *_: nullcontext())
    docker.answer("image", "inspect", "--format", "{{.Id}}", says="sha256:0")
    for base in (MANYLINUX, DEVEL):
        inspected = [{"Id": "sha256:0", "RepoDigests": [f"{base.name}@{base.digest}"]}]
        docker.answer("image", "inspect", base.tagged, says=json.dumps(inspected))
    docker.answer("tag")
    docker.answer("events")
    docker.answer("create", says="c0ffee")
    for command in ("start", "exec", "rm"):
        docker.answer(command)
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def run(
        target: BuildTarget = WITHOUT_TORCH,
        limits: ContainerLimits = ContainerLimits(),  # noqa: B008 - it is frozen
        part: BuildPart | None = None,
    ) -> Compiled | CompiledPart:
        builder = DockerBuilder(images=CONFIG.images, compatibility=CONFIG.compatibility, limits=limits)
        task = BuildTask(target=target, source=tmp_path, workspace=workspace, log=tmp_path / "log", progress=Progress())
        return builder.compile_part(task, part) if part else builder.compile(task, "auto")

    return run


def test_a_wheel_knows_the_images_the_toolkit_and_the_packages_it_was_made_with(
    compile_in_docker: Compile,
    cibuildwheel: Cibuildwheel,
    package_index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(docker_build, "install_packages", install_packages)
    monkeypatch.setattr(docker_build, "report_hits", report_hits)
    for name in ("setuptools", "wheel"):
        write_wheel(package_index / f"{name}-99.0-py3-none-any.whl")
    shared_object = compile_shared_object(tmp_path / "_C.so").read_bytes()
    cibuildwheel.wheel = write_wheel(tmp_path / WHEEL, files={"demo/_C.so": shared_object})
    compiled = compile_in_docker()
    assert compiled.wheel == cibuildwheel.wheel
    assert compiled.images == (str(MANYLINUX), str(DEVEL))
    assert compiled.toolkit == CONFIG.images.of_cuda(CELL.cuda).toolkit
    assert compiled.packages == {"setuptools": "99.0", "wheel": "99.0"}


def test_a_pure_wheel_is_refused(compile_in_docker: Compile, cibuildwheel: Cibuildwheel, tmp_path: Path) -> None:
    cibuildwheel.wheel = write_wheel(tmp_path / WHEEL, files={"demo/__init__.py": b""})
    with pytest.raises(BuildError, check=coded("nothing-compiled")):
        compile_in_docker()


def test_a_part_is_not_repaired_and_knows_where_its_source_lies_in_the_container(
    compile_in_docker: Compile, cibuildwheel: Cibuildwheel, tmp_path: Path
) -> None:
    (tmp_path / "a.cu").touch()
    cibuildwheel.wheel = tmp_path / WHEEL  # which is not there, as nothing looks at it
    assert compile_in_docker(part=BuildPart(number=2, of=4)) == CompiledPart(ours=0, others=0)
    assert cibuildwheel.build is not None
    assert settings_of(cibuildwheel.build)["tool"]["cibuildwheel"]["repair-wheel-command"] == ""  # type: ignore[index]
    told = cibuildwheel.build.variables
    assert (told["WHEELMILL_PART"], told["WHEELMILL_SOURCE"]) == ("2/4", f"/project/{tmp_path.name}")
    assert (tmp_path / "workspace" / "compilers" / "units").read_text().splitlines() == ["a.cu"]


def test_the_image_is_made_of_both_bases_and_the_newest_compiler_that_this_nvcc_takes(
    compile_in_docker: Compile, cibuildwheel: Cibuildwheel, docker: FakeDocker
) -> None:
    docker.reply(("image", "inspect", "--format", "{{.Id}}", "wheelmill/build"), Reply(exit_code=1))
    docker.answer("build")
    docker.reply(("image", "inspect", "--format", "{{.Id}}"), Reply("No such image", exit_code=1))
    with pytest.raises(BuildError):
        compile_in_docker()
    (words,) = docker.asked("build")
    here = {source: name for _tag, source, name in docker.asked("tag")}
    arguments = {word.partition("=")[0]: word.partition("=")[2] for word in words if "=" in word}
    assert arguments == {
        "MANYLINUX_IMAGE": here[MANYLINUX.tagged],
        "CUDA_IMAGE": here[DEVEL.tagged],
        "HOST_GCC": str(CONFIG.compatibility.cuda[CELL.cuda].host_gcc),
    }
    assert words[-1] == str(own_installation.DOCKER)
    assert cibuildwheel.build is not None
    assert cibuildwheel.build.image == words[words.index("--tag") + 1]


NEEDS_AIO = replace(
    WITHOUT_TORCH, package=replace(TARGET.package, system_packages=SystemPackages(dnf=("libaio-devel", "zlib-devel")))
)


def test_packages_are_an_own_layer(compile_in_docker: Compile, cibuildwheel: Cibuildwheel, docker: FakeDocker) -> None:
    docker.reply(("image", "inspect", "--format", "{{.Id}}", "wheelmill/"), Reply(exit_code=1))
    docker.answer("build")
    docker.reply(("image", "inspect", "--format", "{{.Id}}"), Reply("No such image", exit_code=1))
    with pytest.raises(BuildError):
        compile_in_docker(NEEDS_AIO)
    first, second = docker.asked("build")
    image = first[first.index("--tag") + 1]
    assert {f"BUILD_IMAGE={image}", "DNF=libaio-devel zlib-devel", "APT="} < set(second)
    assert second[second.index("--file") + 1] == str(own_installation.DOCKER / "system-packages.Dockerfile")
    assert cibuildwheel.build is not None
    assert cibuildwheel.build.image == second[second.index("--tag") + 1] != image


def test_a_system_package_that_the_image_cannot_have_is_the_fault_of_its_key(
    compile_in_docker: Compile, cibuildwheel: Cibuildwheel, docker: FakeDocker
) -> None:
    docker.reply(("image", "inspect", "--format", "{{.Id}}"), Reply("No such image", exit_code=1))
    docker.reply(("build",), Reply(), Reply("Error: Unable to find a match: libaio-devel\n", exit_code=1))
    with pytest.raises(
        BuildError,
        check=coded("system-packages-failed", "the entry of demo: system_packages", "Unable to find a match"),
    ):
        compile_in_docker(NEEDS_AIO)
    assert cibuildwheel.build is None


def test_the_container_belongs_to_a_run_and_cannot_change_the_packages_nor_reach_a_network(
    compile_in_docker: Compile, cibuildwheel: Cibuildwheel, tmp_path: Path
) -> None:
    with pytest.raises(BuildError):
        compile_in_docker()
    options = cibuildwheel.create_args
    assert any(word.startswith("--label=wheelmill=") for word in options)
    assert {f"--volume={tmp_path / 'workspace' / 'packages'}:/opt/wheelmill/packages:ro", "--network=none"} < options
    assert [word for word in options if word.startswith(("--memory", "--cpus"))] == []


@pytest.mark.parametrize(
    ("limits", "jobs", "options"),
    [
        (
            ContainerLimits(cpus=64, memory=60 << 30),
            "30",
            {f"--memory={60 << 30}", f"--memory-swap={60 << 30}", "--cpus=64"},
        ),
        (
            ContainerLimits(cpus=64, memory=4 << 30),
            "2",
            {f"--memory={4 << 30}", f"--memory-swap={4 << 30}", "--cpus=64"},
        ),
        (ContainerLimits(cpus=1, network="of-our-own"), "1", {"--cpus=1", "--network=of-our-own"}),
    ],
    ids=["by cores", "by memory", "one"],
)
def test_limits_become_options_of_the_container_and_compilers_share_what_it_has(
    limits: ContainerLimits, jobs: str, options: set[str], compile_in_docker: Compile, cibuildwheel: Cibuildwheel
) -> None:
    package = replace(TARGET.package, memory_per_job=1 << 30)
    with pytest.raises(BuildError):
        compile_in_docker(replace(WITHOUT_TORCH, package=package), limits)
    assert cibuildwheel.build is not None
    assert cibuildwheel.build.variables["MAX_JOBS"] == jobs
    assert options < cibuildwheel.create_args


@pytest.mark.usefixtures("cibuildwheel")
def test_a_source_that_does_not_build_is_at_fault_itself(compile_in_docker: Compile, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"/project/{tmp_path.name}/demo.cpp:1:1: error: expected unqualified-id\n")
    line = "demo.cpp:1:1: error: expected unqualified-id"
    with pytest.raises(CompileError, check=coded("compile-failed", tmp_path.name, line, tmp_path / "log")) as failure:
        compile_in_docker()
    assert failure.value.line == line


@pytest.mark.parametrize(("exit_code", "remembered"), [(1, False), (2, True), (3, True), (7, False)])
def test_what_cibuildwheel_itself_refuses_is_remembered(
    exit_code: int,
    remembered: bool,  # noqa: FBT001 - a parameter of the test
    compile_in_docker: Compile,
    cibuildwheel: Cibuildwheel,
) -> None:
    cibuildwheel.exit_code, cibuildwheel.tail = exit_code, "usage: ...\nargument --only: invalid choice" + "!" * 999
    with pytest.raises(BuildError, check=coded("builder-refused" if remembered else "build-failed")) as failure:
        compile_in_docker()
    assert isinstance(failure.value, CompileError) == remembered
    if isinstance(failure.value, CompileError):
        assert failure.value.line.startswith("argument --only: invalid choice!")
        assert len(failure.value.line) < 999


@pytest.mark.parametrize(("memory", "fact"), [(3 << 30, "3.0 GiB"), (None, "memory")])
@pytest.mark.usefixtures("cibuildwheel")
def test_a_build_out_of_memory_has_a_hint(
    memory: int | None, fact: str, compile_in_docker: Compile, docker: FakeDocker
) -> None:
    docker.answer("events", says="2026-11-21T12:00:00Z container oom c0ffee\n")
    refusal = coded("out-of-memory", fact, "1 compiler", "--memory", "memory_per_job")
    with pytest.raises(BuildError, check=refusal) as failure:
        compile_in_docker(limits=ContainerLimits(memory=memory, cpus=1))
    assert not isinstance(failure.value, CompileError)  # trying again with more may help


@pytest.mark.parametrize(
    "tail",
    [
        "fatal error: error writing to /tmp/cc.s: No space left on device",
        "Error response from daemon: write /project/demo.cu: no space left on device",  # docker cp
    ],
)
def test_a_full_disk_is_not_its_fault(tail: str, compile_in_docker: Compile, cibuildwheel: Cibuildwheel) -> None:
    cibuildwheel.tail = tail
    with pytest.raises(BuildError, check=coded("disk-full", "docker system df", tail)) as failure:
        compile_in_docker()
    assert not isinstance(failure.value, CompileError)  # which is remembered


def test_a_cuda_without_images_is_a_usage_error(compile_in_docker: Compile) -> None:
    unknown = replace(WITHOUT_TORCH.cell, cuda=type(CELL.cuda)(99, 0))
    with pytest.raises(UsageError, check=coded("image-not-pinned", "99.0")):
        compile_in_docker(replace(WITHOUT_TORCH, cell=unknown))


def test_a_missing_docker_is_told(compile_in_docker: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, check=coded("docker-absent")):
        compile_in_docker()


def test_a_daemon_that_does_not_answer_is_told_so(compile_in_docker: Compile, docker: FakeDocker) -> None:
    for command in ("version", "info"):
        docker.reply((command,), Reply("Cannot connect to the Docker daemon", exit_code=1))
    with pytest.raises(UsageError, check=coded("docker-silent", "Cannot connect")):
        compile_in_docker()


def test_a_daemon_that_is_lost_while_it_compiles_is_a_build_error(
    compile_in_docker: Compile, cibuildwheel: Cibuildwheel, docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(build: ContainerBuild) -> Path:
        docker.reply((), Reply("Cannot connect to the Docker daemon", exit_code=1))
        return cibuildwheel(build)

    monkeypatch.setattr(docker_build, "run_cibuildwheel", lose)
    with pytest.raises(BuildError, check=coded("docker-silent", "Cannot connect")):
        compile_in_docker()
