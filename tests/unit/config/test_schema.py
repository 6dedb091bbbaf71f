"""What may stand in the files, and what the others than ``packages.yml`` may not; for that see ``test_broken``."""

from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from tests.refusals import faults_of
from wheelmill.config.load import load_config
from wheelmill.config.model.package import PackageEntry
from wheelmill.config.model.package_fields import BuildArguments
from wheelmill.config.model.package_parts import ArchitectureRule
from wheelmill.names import Architecture, Platform
from wheelmill.system.records import adapter_of

COMPATIBILITY = """\
cuda:
  checked: 2026-11-21
  source: "https://example.org/cuda"
  releases:
    "13.0": {toolkit: "13.0.2", minimum_driver: "580.65.06", host_gcc: 15, architectures: ["9.0", "12.0"]}
torch:
  checked: 2026-11-20
  source: "https://example.org/torch"
  releases:
    "2.11":
      release: "2.11.0"
      cuda: {linux_x86_64: ["13.0"]}
      python: ["3.12"]
      default_cuda: "13.0"
      glibc: "2.28"
  index: "https://torch.example/cu{cuda}"
pythons: ["3.12"]
platforms: [linux_x86_64]
"""
CUDA = COMPATIBILITY.splitlines(keepends=True)[4]
LOCK = f"""\
sdists:
  demo:
    "1.0": {{sdist: demo-1.0.tar.gz, sha256: {"a" * 64}}}
"""


def entry(**keys: object) -> PackageEntry:
    return adapter_of(PackageEntry).validate_python({"versions": ["1.0"], **keys})


def faults_in(directory: Path, name: str, text: str) -> tuple[str, ...]:
    (directory / "packages.yml").write_text("packages: {}\n")
    (directory / name).write_text(text)
    return faults_of(load_config, directory)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", BuildArguments(isolation=True, config_settings=())),
        ("--no-build-isolation", BuildArguments(isolation=False, config_settings=())),
        ("--config-settings=jobs=4", BuildArguments(isolation=True, config_settings=(("jobs", "4"),))),
        ("--config-setting=empty=", BuildArguments(isolation=True, config_settings=(("empty", ""),))),
        (
            "--config-settings='flags=-O2 -g=1' --no-build-isolation",
            BuildArguments(isolation=False, config_settings=(("flags", "-O2 -g=1"),)),
        ),
    ],
)
def test_build_args_are_read_as_a_shell_would_split_them(text: str, read: BuildArguments) -> None:
    assert entry(build_args=text).build_args == read


@pytest.mark.parametrize(
    ("key", "written", "read"),
    [
        ("versions", ["v1.0", "2.8.3-RC1", "1.0+Git.1"], ("1.0", "2.8.3rc1", "1.0+git.1")),
        ("extra_deps", ["ninja >= 1.11", "wheel"], ("ninja>=1.11", "wheel")),
        ("architectures", ["9.0a", "12.0+PTX"], (Architecture(9, 0, "a"), Architecture(12, 0, ptx=True))),
        (
            "architectures",
            [{"cuda": ">=12.9", "list": ["10.0f"]}, {"platform": ["linux_aarch64"], "list": ["9.0", "11.0"]}],
            (
                ArchitectureRule(cuda=SpecifierSet(">=12.9"), list=(Architecture(10, 0, "f"),)),
                ArchitectureRule(
                    platform=(Platform.parse("linux_aarch64"),), list=(Architecture(9, 0), Architecture(11, 0))
                ),
            ),
        ),
        ("env", {"TORCH_CUDA_ARCH_LIST": "8.0;9.0+PTX"}, {"TORCH_CUDA_ARCH_LIST": "8.0;9.0+PTX"}),
        ("env", {"PATH_TO_CUTLASS": "third_party"}, {"PATH_TO_CUTLASS": "third_party"}),
        ("test_import", "demo.kernels", ("demo.kernels",)),
        ("versions", ">=2.7, <3", SpecifierSet(">=2.7,<3")),
        ("licence", "bsd-3-clause", "BSD-3-Clause"),
        ("test_import", None, None),
        ("description", "Schnelle Aufmerksamkeit für alle: 100 %", "Schnelle Aufmerksamkeit für alle: 100 %"),
    ],
)
def test_what_is_meant_well_is_accepted(key: str, written: Any, read: Any) -> None:
    assert getattr(entry(**{key: written}), key) == read


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("2026-11-21", "soon", "2:3: cuda.checked: "),
        ('"13.0":', '"13":', "5:5: cuda.releases.13: "),
        ('toolkit: "13.0.2", ', "", "5:5: cuda.releases.13.0.toolkit: is required"),
        ('"12.0"]}', '"9.0"]}', "5:76: cuda.releases.13.0.architectures: "),
        ('glibc: "2.28"', 'glibc: "2.28"\n      tested: x', "16:7: torch.releases.2.11.tested: "),
        ('"3.12"', '"3"', "13:16: torch.releases.2.11.python.0: "),
        ('{linux_x86_64: ["13.0"]}', "[]", "12:7: torch.releases.2.11.cuda: "),
        ("{linux_x86_64:", "{linux_x86:", "12:14: torch.releases.2.11.cuda.linux_x86: "),
        ("host_gcc: 15", 'host_gcc: "15"', "5:62: cuda.releases.13.0.host_gcc: "),
        ("580.65.06", "R580", "5:33: cuda.releases.13.0.minimum_driver: "),
        ("2.28", "2_28", "15:7: torch.releases.2.11.glibc: "),
        ("13.0.2", "12.8.1", "5:14: cuda.releases.13.0.toolkit: "),
        ("2.11.0", "2.1.1", "11:7: torch.releases.2.11.release: "),
        ("pythons:", "python:", "1:1: pythons: is required"),
        ("x86_64]\n", "x86_64, linux_x86_64]\n", "18:1: platforms: "),
        ("[linux_x86_64]", "[]", "18:1: platforms: "),
    ],
)
def test_a_fault_in_the_facts_is_named(tmp_path: Path, right: str, wrong: str, fault: str) -> None:
    (first, *_) = faults_in(tmp_path, "compatibility.yml", COMPATIBILITY.replace(right, wrong, 1))
    assert first.startswith(f"compatibility.yml:{fault}")


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("aaa", "AAA", "3:37: sdists.demo.1.0.sha256: "),
        ("aaa", "aa", "3:37: sdists.demo.1.0.sha256: "),
        (".tar.gz", ".whl", "3:13: sdists.demo.1.0.sdist: "),
        ("demo-1.0.", "../../x-1.0.", "3:13: sdists.demo.1.0.sdist: "),
        ('"1.0":', '"one":', "3:5: sdists.demo.one: "),
        ("  demo:", "  Demo:", "2:3: sdists.Demo: "),
        ("sdists:", "sdist:", "1:1: sdists: is required"),
    ],
)
def test_a_fault_in_the_lock_is_named(tmp_path: Path, right: str, wrong: str, fault: str) -> None:
    (first, *_) = faults_in(tmp_path, "packages.lock", LOCK.replace(right, wrong, 1))
    assert first.startswith(f"packages.lock:{fault}")


@pytest.mark.parametrize(
    ("file", "text", "spelling"),
    [
        ("compatibility.yml", COMPATIBILITY.replace(CUDA, CUDA + CUDA.replace('"13.0":', "cu130:")), "cu130"),
        ("packages.lock", f'{LOCK}    "v1.0": {{sdist: demo-1.0.tar.gz, sha256: {"b" * 64}}}\n', "v1.0"),
    ],
)
def test_another_spelling_does_not_take_the_place_of_a_key(file: str, text: str, spelling: str, tmp_path: Path) -> None:
    (fault,) = faults_in(tmp_path, file, text)
    assert fault.startswith(f"{file}:")
    assert spelling in fault
