"""What cibuildwheel is told, as cibuildwheel itself understands it."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import tomlkit
from cibuildwheel.frontend import parse_config_settings
from cibuildwheel.oci_container import OCIContainerEngineConfig
from cibuildwheel.options import BuildOptions, CommandLineArguments, Options

from tests.fake_docker import FakeDocker, Reply
from tests.unit.build.conftest import MACHINE, TARGET
from wheelmill.build.builder import BuildTask
from wheelmill.build.compiler_cache import CompilerCache
from wheelmill.build.docker import ContainerBuild, run_cibuildwheel, settings_of
from wheelmill.build.local import repair_arguments
from wheelmill.config.model.files import LockedCommit
from wheelmill.config.model.package_fields import BuildArguments
from wheelmill.errors import ProcessError
from wheelmill.names import PythonVersion
from wheelmill.system import process
from wheelmill.system.progress import Progress

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


def test_neither_settings_nor_secrets_of_the_project_and_of_this_machine_reach_cibuildwheel(
    docker: FakeDocker, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
