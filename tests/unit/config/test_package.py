"""Every key of an entry in ``packages.yml`` reaches the package."""

from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tests.refusals import coded
from wheelmill.config.load import load_config
from wheelmill.config.model import Expectations
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_fields import BuildArguments
from wheelmill.config.model.package_parts import (
    DEFAULT_ARCHITECTURES,
    Aliases,
    ArchVariable,
    MatrixRule,
    RequiresDist,
    SystemPackages,
    Window,
)
from wheelmill.errors import ConfigurationError
from wheelmill.names import Architecture, Platform, StableTorch, TorchVersion, project_name, project_version
from wheelmill.wheel.findings import Code

MISSION = Path(__file__).parents[2] / "data" / "mission"
DEMO = project_name("demo-kernels")
PACKAGES = 'packages:\n  demo-kernels:\n    versions: ["1.0"]\n'
LOCKED = ("1.10", "1.2", "3.0", "2.0", "1.0")


def folder(path: Path, packages: str = PACKAGES, lock: str = "sdists: {}\n") -> Path:
    (path / "packages.yml").write_text(packages)
    (path / "packages.lock").write_text(lock)
    return path


def test_the_form_that_people_have_is_read_unchanged() -> None:
    config = load_config(MISSION)
    flash_attn = project_name("flash-attn")
    assert config.packages == {
        flash_attn: Package(
            name=flash_attn,
            versions=(project_version("2.5.0"), project_version("2.5.6")),
            build_args=BuildArguments(isolation=False),
            extra_deps=("packaging", "ninja", "torch"),
            test_import=("flash_attn",),
            description="Fast attention",
        )
    }
    assert config.packages[flash_attn].expectations == Expectations(imports=("flash_attn",), needs=("torch",))
    assert config.packages[flash_attn].needs_torch
    assert config.packages[flash_attn].build_requirements == ("packaging", "ninja")


def test_versions_are_all_that_a_package_needs(tmp_path: Path) -> None:
    config = load_config(folder(tmp_path))
    assert config.packages[DEMO] == Package(name=DEMO, versions=(project_version("1.0"),))
    assert config.packages[DEMO].architectures == DEFAULT_ARCHITECTURES
    assert config.packages[DEMO].build_args == BuildArguments(isolation=True, config_settings=())
    assert config.packages[DEMO].expectations == Expectations(imports=("demo_kernels",))
    assert config.packages[DEMO].scope == Window()
    assert not config.packages[DEMO].needs_torch


EVERY_KEY = """
    description: "Sums numbers"
    licence: "mit or apache-2.0"
    tags: [graph, attention]
    redistributable: false
    pypi: absent
    source: ./demo
    patches: [z.patch, a.patch]
    build_args: "--config-settings=jobs=4"
    extra_deps: [ninja, torch]
    requires: [other]
    env: {FORCE_CUDA: "1", DEBUG: "0"}
    architectures: ["9.0a"]
    arch_variable: {name: DEMO_ARCHS, form: digits}
    gencode: replace
    gpu_probe: as-is
    python: ">=3.10"
    cuda: ">=12.4,<14"
    torch: ">=2.6"
    platforms: [linux_aarch64]
    exclude:
      - {version: "<2", python: "<3.12", cuda: "==12.*", torch: "<2.8", platform: [linux_x86_64], reason: "Too old"}
    include:
      - {torch: "==2.9", reason: "Seen to work"}
    test_import: [demo.kernels, demo]
    smoke_script: demo/smoke.py
    abi: abi3
    needs: nvrtc
    import_needs: driver
    toolkit: [curand, cudnn]
    system_packages: {dnf: [libaio-devel], apt: [libaio-dev]}
    aliases: {suffix: true, extras: demo-gpu, pypi: same}
    requires_dist: {remove: [black], replace: [numpy <2], add: [Einops]}
    cudart: static
    allow: {glibc: "Only for our own cluster"}
    runner: ubuntu-24.04-arm
    memory_per_job: 8
    timeout: 90
  other:
    versions: ["1.0"]
"""


def test_every_key_reaches_the_package(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "smoke.py").write_text("import demo\n")
    for patch in ("a.patch", "z.patch"):
        (tmp_path / patch).touch()
    too_old = MatrixRule(
        reason="Too old",
        version=SpecifierSet("<2"),
        python=SpecifierSet("<3.12"),
        cuda=SpecifierSet("==12.*"),
        torch=SpecifierSet("<2.8"),
        platform=(Platform.parse("linux_x86_64"),),
    )
    package = load_config(folder(tmp_path, PACKAGES + EVERY_KEY)).packages[DEMO]
    assert package == Package(
        name=DEMO,
        versions=(project_version("1.0"),),
        build_args=BuildArguments(isolation=True, config_settings=(("jobs", "4"),)),
        extra_deps=("ninja", "torch"),
        env={"DEBUG": "0", "FORCE_CUDA": "1"},
        architectures=(Architecture(9, 0, "a"),),
        test_import=("demo.kernels", "demo"),
        smoke_script="import demo\n",
        requires=(project_name("other"),),
        needs=("nvrtc",),
        import_needs="driver",
        toolkit=("curand", "cudnn"),
        system_packages=SystemPackages(dnf=("libaio-devel",), apt=("libaio-dev",)),
        aliases=Aliases(suffix=True, extras=project_name("demo-gpu"), pypi="same"),
        requires_dist=RequiresDist(remove=(project_name("black"),), replace=("numpy<2",), add=("Einops",)),
        cudart="static",
        allow={Code.GLIBC: "Only for our own cluster"},
        abi="abi3",
        runner="ubuntu-24.04-arm",
        description="Sums numbers",
        source=tmp_path / "demo",
        licence="MIT OR Apache-2.0",
        redistributable=False,
        tags=("graph", "attention"),
        pypi="absent",
        patches=(tmp_path / "z.patch", tmp_path / "a.patch"),
        arch_variable=ArchVariable(name="DEMO_ARCHS", form="digits"),
        gencode="replace",
        gpu_probe="as-is",
        python=SpecifierSet(">=3.10"),
        cuda=SpecifierSet(">=12.4,<14"),
        torch=SpecifierSet(">=2.6"),
        platforms=(Platform.parse("linux_aarch64"),),
        exclude=(too_old,),
        include=(MatrixRule(torch=SpecifierSet("==2.9"), reason="Seen to work"),),
        memory_per_job=8 * 1024**3,
        timeout=90 * 60,
    )
    assert list(package.env) == ["DEBUG", "FORCE_CUDA"]
    assert package.expectations == Expectations(
        imports=("demo.kernels", "demo"),
        script="import demo\n",
        requires=(project_name("other"),),
        needs=("driver", "nvrtc", "torch"),
        import_needs="driver",
        cudart="static",
        allow={Code.GLIBC: "Only for our own cluster"},
    )
    assert package.scope == Window(
        python=SpecifierSet(">=3.10"),
        cuda=SpecifierSet(">=12.4,<14"),
        torch=SpecifierSet(">=2.6"),
        platform=(Platform.parse("linux_aarch64"),),
    )


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ("tags: [vision]", "tags.0: expected 'attention', "),
        ("tags: [graph, graph]", "tags: graph "),
        ("pypi: yes", "pypi: "),
        ("pypi: other", "pypi: "),
    ],
)
def test_what_a_package_is_for_and_whose_its_name_is_are_words_of_a_list(keys: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, check=coded("configuration-invalid", "packages.yml:4", "packages.demo-kernels.", fault)
    ):
        load_config(folder(tmp_path, f"{PACKAGES}    {keys}\n"))


def test_what_an_entry_leaves_out_is_the_default_of_its_file_and_its_own_value_replaces_that(tmp_path: Path) -> None:
    defaults = 'defaults: {build_args: "--no-build-isolation --config-settings=a=b", architectures: ["9.0", "10.0"]}\n'
    package = load_config(folder(tmp_path, PACKAGES + defaults)).packages[DEMO]
    assert package.build_args == BuildArguments(isolation=False, config_settings=(("a", "b"),))
    assert package.architectures == (Architecture(9, 0), Architecture(10, 0))
    own = '    build_args: ""\n    architectures: ["8.0"]\n'
    package = load_config(folder(tmp_path, PACKAGES + own + defaults)).packages[DEMO]
    assert package.build_args == BuildArguments()
    assert package.architectures == (Architecture(8, 0),)


@pytest.mark.parametrize(
    ("default", "fault"),
    [
        ('build_args: "--isolation"', "defaults.build_args: expected --no-build-isolation"),
        ("architectures: []", "defaults.architectures: expected at least one"),
        ('architectures: ["9"]', "defaults.architectures.0: "),
        ('architectures: [{list: ["9.0"]}]', "defaults.architectures.0: "),
        ("extra_deps: [torch]", "defaults.extra_deps: is not a key here"),
    ],
)
def test_a_fault_of_a_default_is_at_the_default_and_at_no_entry(default: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "packages.yml:5:", fault)) as caught:
        load_config(folder(tmp_path, f"{PACKAGES}defaults:\n  {default}\n"))
    assert len(caught.value.faults) == 1


def test_a_range_of_torches_takes_the_place_of_the_axis(tmp_path: Path) -> None:
    stable = '    extra_deps: [torch]\n    torch_abi: {stable: "2.10", below: "2.16"}\n'
    defaults = 'defaults:\n  torch: ">=2.12"\n'
    package = load_config(folder(tmp_path, PACKAGES + stable + defaults)).packages[DEMO]
    assert package.torch_abi == StableTorch(oldest=TorchVersion(2, 10), below=TorchVersion(2, 16))
    assert package.window.torch is None


def test_a_script_that_python_could_not_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "smoke.py").write_bytes(b"# Gr\xfc\xdfe\n")
    with pytest.raises(
        ConfigurationError,
        check=coded("configuration-invalid", "packages.yml:4:5: packages.demo-kernels.smoke_script", "utf-8"),
    ):
        load_config(folder(tmp_path, PACKAGES + "    smoke_script: smoke.py\n"))


def test_a_range_of_versions_is_what_the_lock_has_in_it(tmp_path: Path) -> None:
    locked = [f'    "{version}": {{sdist: demo_kernels-{version}.tar.gz, sha256: {"a" * 64}}}\n' for version in LOCKED]
    lock = "sdists:\n  demo-kernels:\n" + "".join(locked) + "  other:\n" + locked[0]
    packages = PACKAGES.replace('["1.0"]', '">=1.2,<3"')
    package = load_config(folder(tmp_path, packages, lock)).packages[DEMO]
    assert package.versions == ("1.2", "1.10", "2.0")
    assert package.version_range == SpecifierSet(">=1.2,<3")
