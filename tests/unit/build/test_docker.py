"""What a build in a container may use, what cibuildwheel is told, and what is said when that was not enough."""

import json
import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from cibuildwheel.frontend import parse_config_settings
from cibuildwheel.oci_container import OCIContainerEngineConfig
from cibuildwheel.options import BuildOptions, CommandLineArguments, Options

from tests.fake_docker import FakeDocker, Reply
from tests.refusals import coded
from tests.unit.build.conftest import CELL, MACHINE, TARGET, compile_shared_object
from tests.wheels import write_wheel
from wheelmill.build import docker as docker_build
from wheelmill.build.builder import BuildTask, Compiled
from wheelmill.build.compiler_cache import BuildPart, CompiledPart, CompilerCache, report_hits
from wheelmill.build.docker import ContainerBuild, ContainerLimits, DockerBuilder, run_cibuildwheel, settings_of
from wheelmill.build.environment import install_packages
from wheelmill.build.local import repair_arguments
from wheelmill.config.load import load_config
from wheelmill.config.model.files import LockedCommit
from wheelmill.config.model.package_fields import BuildArguments
from wheelmill.config.model.package_parts import SystemPackages
from wheelmill.errors import BuildError, CompileError, ProcessError, UsageError
from wheelmill.names import PythonVersion
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import own_installation, process
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


def test_a_part_is_not_repaired(compile_in_docker: Compile, cibuildwheel: Cibuildwheel, tmp_path: Path) -> None:
    (tmp_path / "a.cu").touch()
    cibuildwheel.wheel = tmp_path / WHEEL  # which is not there, as nothing looks at it
    assert compile_in_docker(part=BuildPart(number=2, of=4)) == CompiledPart(ours=0, others=0)
    assert cibuildwheel.build is not None
    assert settings_of(cibuildwheel.build)["tool"]["cibuildwheel"]["repair-wheel-command"] == ""  # type: ignore[index]
    told = cibuildwheel.build.variables
    assert (told["WHEELMILL_PART"], told["WHEELMILL_SOURCE"]) == ("2/4", f"/project/{tmp_path.name}")
    assert (tmp_path / "workspace" / "compilers" / "units").read_text().splitlines() == ["a.cu"]


def test_the_bases_of_the_image(compile_in_docker: Compile, cibuildwheel: Cibuildwheel, docker: FakeDocker) -> None:
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


def test_an_unknown_system_package(compile_in_docker: Compile, cibuildwheel: Cibuildwheel, docker: FakeDocker) -> None:
    docker.reply(("image", "inspect", "--format", "{{.Id}}"), Reply("No such image", exit_code=1))
    docker.reply(("build",), Reply(), Reply("Error: Unable to find a match: libaio-devel\n", exit_code=1))
    with pytest.raises(
        BuildError,
        check=coded("system-packages-failed", "the entry of demo: system_packages", "Unable to find a match"),
    ):
        compile_in_docker(NEEDS_AIO)
    assert cibuildwheel.build is None


def test_the_container_is_confined(compile_in_docker: Compile, cibuildwheel: Cibuildwheel, tmp_path: Path) -> None:
    with pytest.raises(BuildError):
        compile_in_docker()
    options = cibuildwheel.create_args
    assert any(word.startswith("--label=wheelmill=") for word in options)
    assert {f"--volume={tmp_path / 'workspace' / 'packages'}:/opt/wheelmill/packages:ro", "--network=none"} < options
    assert [word for word in options if word.startswith(("--memory", "--cpus"))] == []


def memory(gib: int) -> set[str]:
    return {f"--memory={gib << 30}", f"--memory-swap={gib << 30}"}


@pytest.mark.parametrize(
    ("limits", "jobs", "options"),
    [
        (ContainerLimits(cpus=64, memory=60 << 30), "30", {*memory(60), "--cpus=64"}),
        (ContainerLimits(cpus=64, memory=4 << 30), "2", {*memory(4), "--cpus=64"}),
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
def test_a_build_out_of_memory(memory: int | None, fact: str, compile_in_docker: Compile, docker: FakeDocker) -> None:
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


IDENTIFIER = f"cp311-manylinux_{MACHINE}"
IMAGE = "wheelmill/build:0123"

TASK = BuildTask(
    target=TARGET, source=Path("source"), workspace=Path("workspace"), log=Path("log"), progress=Progress()
)
BUILD = ContainerBuild(
    task=TASK,
    image=IMAGE,
    policy="manylinux_2_28",
    variables={"MAX_JOBS": "2"},
    cache=CompilerCache(folder=Path("cache"), compilers=Path("compilers")),
    create_args=["--label=wheelmill=a-run", "--network=none"],
)

OWN_SETTINGS = """
[project]
name = "demo"
version = "1.0"

[tool.cibuildwheel]
before-all = "do-not-1"
before-build = "do-not-2"
build = "do-not-3"
skip = "*"
environment = {DO_NOT = "4"}
environment-pass = ["GITHUB_TOKEN"]
repair-wheel-command = "do-not-5"
test-command = "do-not-6"
container-engine = {name = "podman", create-args = ["--do-not-7"]}

[tool.cibuildwheel.linux]
manylinux-x86_64-image = "do-not-8"
manylinux-aarch64-image = "do-not-8"

[[tool.cibuildwheel.overrides]]
select = "*"
before-all = "do-not-9"
"""


def as_read(build: ContainerBuild, folder: Path) -> BuildOptions:
    """The options that cibuildwheel makes of the settings."""
    settings = folder / "settings.toml"
    settings.write_text(tomlkit.dumps(settings_of(build)))
    arguments = CommandLineArguments.defaults()
    arguments.config_file, arguments.only, arguments.package_dir = str(settings), IDENTIFIER, folder
    return Options("linux", arguments, env=dict(build.variables)).build_options(IDENTIFIER)


def test_the_wheel_is_built_in_our_image(tmp_path: Path) -> None:
    assert (as_read(BUILD, tmp_path).manylinux_images or {})[MACHINE] == IMAGE


def test_containers_are_created_as_they_are_told_whatever_a_folder_is_called(tmp_path: Path) -> None:
    arguments = ("--label=wheelmill=a-run", '--volume=/home/some one\'s; "packages", name: x:/opt:ro', "--network=none")
    engine = as_read(replace(BUILD, create_args=arguments), tmp_path).container_engine
    assert engine == OCIContainerEngineConfig("docker", create_args=arguments, disable_host_mount=True)


def test_nothing_is_installed_for_the_build_nor_tested_and_all_that_compilers_print_is_seen(tmp_path: Path) -> None:
    options = as_read(BUILD, tmp_path)
    assert (options.build_frontend.name, options.build_frontend.args) == ("pip", ["--no-build-isolation"])
    assert (options.before_all, options.before_build) == ("", "")
    assert (options.test_command, options.audit_command) == ("", [])
    assert options.build_verbosity == 1


def test_the_image_must_have_the_components_of_the_toolkit(tmp_path: Path) -> None:
    package = replace(TARGET.package, toolkit=("cublas", "nccl"))
    build = replace(BUILD, task=replace(TASK, target=replace(TARGET, package=package)))
    command = ["sh", "-c", as_read(build, tmp_path).before_build or ""]
    message = "error: 'toolkit' of the package names cublas, but the image has no /cuda/include/cublas_v2.h"
    with pytest.raises(ProcessError) as refusal:
        process.run(command, env={"CUDA_HOME": "/cuda"})
    assert refusal.value.tail.strip() == message
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cublas_v2.h").touch()
    process.run(command, env={"CUDA_HOME": str(tmp_path)})


def test_no_shell_reads_the_variables_of_a_build(tmp_path: Path) -> None:
    variables = {"TORCH_CUDA_ARCH_LIST": "8.0;12.0+PTX", "ODD": "$HOME `id` \"a\" 'b' \\ # {project}", "EMPTY": ""}
    before = {"PATH": "/opt/python/cp311-cp311/bin:/usr/bin", "HOME": "/root"}
    after = as_read(replace(BUILD, variables=variables), tmp_path).environment.as_dictionary(before)
    assert after == before | variables | {
        "PATH": "/opt/python/cp311-cp311/bin:/usr/bin:/opt/wheelmill/packages/bin",
        "PYTHONPATH": "/opt/wheelmill/packages",
    }


def test_settings_for_the_backend_arrive_as_they_are(tmp_path: Path) -> None:
    settings = (("--fast", "yes"), ("cmake.args", "-DA=1 -DB='x y'"), ("empty", ""))
    package = replace(TARGET.package, build_args=BuildArguments(isolation=False, config_settings=settings))
    options = as_read(replace(BUILD, task=replace(TASK, target=replace(TARGET, package=package))), tmp_path)
    assert parse_config_settings(options.config_settings) == dict(settings)


@pytest.mark.parametrize(("policy", "platform"), [("manylinux_2_28", f"manylinux_2_28_{MACHINE}"), ("auto", "auto")])
def test_auditwheel_in_the_container_leaves_out_what_others_provide(policy: str, platform: str, tmp_path: Path) -> None:
    cell = BUILD.task.target.cell
    command = shlex.split(as_read(replace(BUILD, policy=policy), tmp_path).repair_command)
    assert command[:6] == ["env", "--unset=PYTHONPATH", "auditwheel", "repair", "--plat", platform]
    assert command[6:-3] == list(repair_arguments(policy, cell)[3:])
    assert command[-3:] == ["-w", "{dest_dir}", "{wheel}"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A project with settings of its own for cibuildwheel."""
    source = tmp_path / "source"
    (source / "python").mkdir(parents=True)
    (source / "pyproject.toml").write_text(OWN_SETTINGS)
    return source


def create_container(
    docker: FakeDocker, source: Path, build: ContainerBuild = BUILD
) -> tuple[list[str], Mapping[str, str], str]:
    """Run cibuildwheel until it fails to create a container: with which words, in which environment, and its log."""
    docker.answer("--version")
    docker.answer("image", "inspect", says=f"linux/{'amd64' if MACHINE == 'x86_64' else 'arm64'}\n")
    docker.reply(("create",), Reply("this is enough\n", exit_code=1))
    log = source.parent / "log"
    task = replace(build.task, source=source, workspace=source.parent, log=log)
    with pytest.raises(ProcessError):
        run_cibuildwheel(replace(build, task=task))
    (create,), (environment,) = docker.asked("create"), docker.environments("create")
    assert "this is enough" in log.read_text()
    return create, environment, log.read_text()


HIDDEN = (
    *("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PIP_INDEX_URL", "CIBW_BEFORE_ALL", "CIBW_ENVIRONMENT"),
    *("CIBW_CONTAINER_ENGINE", "CIBW_ENVIRONMENT_PASS_LINUX", "LDFLAGS"),
)


def test_no_settings_or_secrets_leak(docker: FakeDocker, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HIDDEN:
        monkeypatch.setenv(name, "do-not-tell")
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/1000/docker.sock")
    create, environment, log = create_container(docker, source)
    assert set(BUILD.create_args) < set(create)
    assert create[-2:] == [IMAGE, "/bin/bash"]
    assert f"build_config: {IDENTIFIER}\n" in log
    assert "do-not" not in log.lower().replace("_", "-")
    assert "do-not-tell" not in environment.values()
    assert environment["DOCKER_HOST"] == "unix:///run/user/1000/docker.sock"
    own = {"MAX_JOBS", "CIBUILDWHEEL", "CIBW_CACHE_PATH", "TMPDIR"}
    assert set(environment) - set(os.environ) == own - set(os.environ)
    assert [word for word in create if word.startswith("--env")] == ["--env=CIBUILDWHEEL", "--env=SOURCE_DATE_EPOCH"]
    assert [word for word in create if "volume" in word or "mount" in word or "privileged" in word] == []
    assert "--pull=never" in create


def test_what_is_built_is_the_subdirectory_and_all_of_the_source_is_copied(docker: FakeDocker, source: Path) -> None:
    (source / "pyproject.toml").rename(source / "python" / "pyproject.toml")
    locked = LockedCommit(git="https://git.example/demo", ref="v1", subdirectory="python", commit="0" * 40)
    build = replace(BUILD, task=replace(TASK, target=replace(TARGET, source=locked)))
    _create, _environment, log = create_container(docker, source, build)
    assert f"package_dir: {source / 'python'}\n" in log


@pytest.mark.parametrize(
    ("python", "exit_code", "fact"), [("3.13t", 2, "invalid choice: 'cp313t-manylinux_"), ("3.9", 3, "cp39-manylinux_")]
)
@pytest.mark.usefixtures("docker")
def test_cibuildwheels_refusal_has_its_own_exit_code(python: str, exit_code: int, fact: str, source: Path) -> None:
    (source / "pyproject.toml").write_text('[project]\nname = "demo"\nversion = "1.0"\nrequires-python = ">=3.10"\n')
    cell = replace(TARGET.cell, python=PythonVersion.parse(python))
    task = replace(TASK, target=replace(TARGET, cell=cell), source=source, workspace=source.parent)
    with pytest.raises(ProcessError) as refusal:
        run_cibuildwheel(replace(BUILD, task=replace(task, log=source.parent / "log")))
    assert refusal.value.returncode == exit_code
    assert fact in refusal.value.tail.strip().splitlines()[-1]
