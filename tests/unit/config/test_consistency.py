"""What one file promises and another cannot hold is named where it stands; what follows from facts about CUDA."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version

from wheelmill.config.consistency import contradictions
from wheelmill.config.load import (
    COMPATIBILITY,
    FACTS,
    IMAGES,
    PACKAGES,
    SOURCES,
    facts_json,
    load_compatibility,
    load_config,
)
from wheelmill.names import Architecture
from wheelmill.system import own_installation
from wheelmill.system.own_installation import CONFIG
from wheelmill.wheel.torch_symbols import TABLE

Faults = Callable[..., list[str]]


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    """The faults of the files that ship, after texts in compatibility.yml were replaced."""

    def find(*replaced: tuple[str, str], regenerated: bool = True) -> list[str]:
        folder = tmp_path / "config"
        folder.mkdir()
        for name in (IMAGES, TABLE, FACTS):
            (folder / name).symlink_to(CONFIG / name)
        (folder / PACKAGES).write_text("packages: {}\n")
        path, text = folder / COMPATIBILITY, (CONFIG / COMPATIBILITY).read_text()
        for before, after in replaced:
            assert before in text
            text = text.replace(before, after, 1)
        path.write_text(text)
        if regenerated:
            (folder / FACTS).unlink()
            (folder / FACTS).write_bytes(facts_json(folder))
        found = contradictions(load_config(folder), folder)
        return [fault.removeprefix(f"{path}:").split(": ", 2)[1] for fault in found]

    return find


def cuda_added(*, driver: str = "600.1", host_gcc: int = 15, gpu: str = "9.0") -> tuple[str, str]:
    """A replacement that adds CUDA 13.9, for which there are no images."""
    entry = f"""\
    "13.9":
      toolkit: "13.9.0"
      minimum_driver: "580.65.06"
      driver: "{driver}"
      host_gcc: {host_gcc}
      architectures: ["{gpu}"]
"""
    return "\ntorch:\n", f"\n{entry}\ntorch:\n"


def test_the_files_that_ship_contradict_each_other_nowhere(faults: Faults) -> None:
    assert faults() == []


@pytest.mark.parametrize(
    ("driver", "keys"), [("600.1", [""]), ("595.45.04", ["", ".driver"]), ("1.2", ["", ".driver"])]
)
def test_a_cuda_needs_an_image_and_a_driver_newer_than_the_last(driver: str, keys: list[str], faults: Faults) -> None:
    assert faults(cuda_added(driver=driver)) == [f"cuda.releases.13.9{key}" for key in keys]


def test_a_driver_that_was_not_looked_up_is_compared_with_nothing(faults: Faults) -> None:
    assert faults(('      driver: "580.65.06"\n', "")) == []


@pytest.mark.parametrize(("host_gcc", "keys"), [(16, [""]), (15, [""]), (14, ["", ".host_gcc"])])
def test_the_compiler_bound_of_a_cuda_never_falls(host_gcc: int, keys: list[str], faults: Faults) -> None:
    assert faults(cuda_added(host_gcc=host_gcc)) == [f"cuda.releases.13.9{key}" for key in keys]


@pytest.mark.parametrize(("gpu", "count"), [("9.0", 0), ("11.0", 1), ("12.1", 2)])
def test_a_cuda_compiles_for_a_default_gpu_of_each_platform(gpu: str, count: int, faults: Faults) -> None:
    assert faults(cuda_added(gpu=gpu)) == ["cuda.releases.13.9", *["cuda.releases.13.9.architectures"] * count]


def test_symbols_of_another_patch_release_are_those_of_another_torch(faults: Faults) -> None:
    assert faults(('release: "2.14.1"', 'release: "2.14.2"')) == ["torch.releases.2.14"]


def test_a_python_needs_an_interpreter_of_cibuildwheel(faults: Faults) -> None:
    assert faults(('pythons: ["3.9"', 'pythons: ["3.13t", "3.9"')) == ["pythons.5"]


def test_what_was_made_from_older_files_is_named(faults: Faults) -> None:
    assert faults(('"595.45.04"', '"595.45.05"'), regenerated=False) == ["is older than the files it is made from"]


def test_a_folder_without_facts_of_its_own_has_those_that_ship(tmp_path: Path) -> None:
    (tmp_path / PACKAGES).write_text("packages: {}\n")
    assert contradictions(load_config(tmp_path), tmp_path) == ()


@pytest.mark.parametrize("fault", ["", "2: sources.others.find_links: expected {cuda}"])
def test_a_placeholder_of_a_source_is_one_that_something_fills(fault: str, tmp_path: Path) -> None:
    (tmp_path / PACKAGES).write_text("packages: {}\n")
    url = f"https://others.example/cu{{cuda{'x' if fault else ''}}}"
    (tmp_path / SOURCES).write_text(f'sources:\n  others: {{find_links: "{url}"}}\n')
    assert [fault in named for named in contradictions(load_config(tmp_path), tmp_path)] == [True] * bool(fault)


def test_every_contradiction_of_a_folder_is_named_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    shutil.copytree(CONFIG, folder)
    for name, before, after in (
        (COMPATIBILITY, *cuda_added(driver="595.45.04")),
        (COMPATIBILITY, 'release: "2.15.0"', 'release: "2.15.1"'),
        (COMPATIBILITY, 'pythons: ["3.9"', 'pythons: ["3.16", "3.9"'),
        (SOURCES, "{torch_packed}", "{packed}"),
    ):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace(before, after))
    places = [fault.split(": ")[1] for fault in contradictions(load_config(folder), folder)]
    assert places == [
        *("cuda.releases.13.9", "cuda.releases.13.9.driver", "torch.releases.2.15", "pythons.9"),
        *("is older than the files it is made from", "sources.windreamer-flash-attn-3.find_links"),
    ]


@pytest.mark.parametrize(
    ("gpu", "driver"),
    [
        ("7.5", None),
        ("8.6", None),
        ("8.9", "520.61.05"),
        ("9.0", "520.61.05"),
        ("10.0", "570.26"),
        ("10.3", "575.51.03"),
        ("11.0", "580.65.06"),
        ("12.0", "570.26"),
        ("12.1", "575.51.03"),
        ("99.0", None),
    ],
)
def test_the_first_driver_for_a_gpu_came_with_the_first_cuda_that_knows_it(gpu: str, driver: str | None) -> None:
    assert load_compatibility(own_installation.CONFIG).first_driver_for(Architecture.parse(gpu)) == driver


def test_every_cuda_names_the_driver_that_came_with_it() -> None:
    releases = load_compatibility(own_installation.CONFIG).cuda.values()
    assert all(Version(each.driver or "0") >= Version(each.minimum_driver) for each in releases)
