"""What one file of a configuration promises and another one cannot hold is named where it stands."""

from collections.abc import Callable
from pathlib import Path

import pytest

from wheelmill.config.consistency import contradictions
from wheelmill.config.load import COMPATIBILITY, FACTS, IMAGES, PACKAGES, facts_json, load_config
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


CUDA = """\
    "13.9":
      toolkit: "13.9.0"
      minimum_driver: "580.65.06"
      driver: "{driver}"
      host_gcc: 15
      architectures: ["9.0"]

torch:
"""


def test_the_files_that_ship_contradict_each_other_nowhere(faults: Faults) -> None:
    assert faults() == []


@pytest.mark.parametrize(
    ("driver", "keys"), [("600.1", [""]), ("595.45.04", ["", ".driver"]), ("1.2", ["", ".driver"])]
)
def test_a_cuda_needs_an_image_and_a_driver_newer_than_the_one_before(
    driver: str, keys: list[str], faults: Faults
) -> None:
    added = ("\ntorch:\n", f"\n{CUDA.format(driver=driver)}")
    assert faults(added) == [f"cuda.releases.13.9{key}" for key in keys]


def test_a_driver_that_was_not_looked_up_is_compared_with_nothing(faults: Faults) -> None:
    assert faults(('      driver: "580.65.06"\n', "")) == []


def test_symbols_of_another_patch_release_are_those_of_another_torch(faults: Faults) -> None:
    assert faults(('release: "2.14.1"', 'release: "2.14.2"')) == ["torch.releases.2.14"]


def test_a_python_needs_an_interpreter_of_cibuildwheel(faults: Faults) -> None:
    assert faults(('pythons: ["3.9"', 'pythons: ["3.13t", "3.9"')) == ["pythons.5"]


def test_what_was_made_from_older_files_is_named(faults: Faults) -> None:
    assert faults(('"595.45.04"', '"595.45.05"'), regenerated=False) == ["is older than the files it is made from"]


def test_a_folder_without_facts_of_its_own_has_those_that_ship(tmp_path: Path) -> None:
    (tmp_path / PACKAGES).write_text("packages: {}\n")
    assert contradictions(load_config(tmp_path), tmp_path) == ()
