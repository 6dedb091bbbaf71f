"""A link in the configuration folder leads to something in it, or its key has a fault."""

import os
from pathlib import Path

import pytest

from tests.refusals import faults_of
from wheelmill.config.load import load_config
from wheelmill.system import files

ENTRY = 'packages:\n  demo:\n    versions: ["1.0"]\n    {key}: {value}\n'
KEYS = {"source": "src", "patches": "[src/own.patch]", "smoke_script": "src/run.py"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration folder, with a private key beside it."""
    (tmp_path / "id_ed25519").write_text("PRIVATE KEY")
    config = tmp_path / "config"
    (config / "src").mkdir(parents=True)
    (config / "src" / "setup.py").touch()
    return config


def fault_of(config: Path, key: str) -> str:
    (config / "packages.yml").write_text(ENTRY.format(key=key, value=KEYS[key]))
    (fault,) = faults_of(load_config, config)
    return fault


@pytest.mark.parametrize(
    ("key", "link", "place"),
    [
        ("source", "src/key", "4:5: packages.demo.source"),
        ("patches", "src/own.patch", "4:15: packages.demo.patches.0"),
        ("smoke_script", "src/run.py", "4:5: packages.demo.smoke_script"),
    ],
)
def test_a_private_key_does_not_get_into_a_build_through_a_link(key: str, link: str, place: str, config: Path) -> None:
    (config / link).symlink_to("../../id_ed25519")
    assert fault_of(config, key) == f"packages.yml:{place}: '{link}' leads out of {config}"
    (config / link).unlink()
    (config / link).symlink_to(config.parent / "id_ed25519")
    assert "leads out of" in fault_of(config, key)


@pytest.mark.parametrize("key", KEYS)
def test_a_folder_above_that_is_a_link_is_not_followed_either(key: str, config: Path) -> None:
    outside = config.parent / "outside"
    (config / "src").rename(outside)
    for name in ("own.patch", "run.py"):
        (outside / name).touch()
    (config / "src").symlink_to(outside)
    assert "leads out of" in fault_of(config, key)


@pytest.mark.parametrize(
    ("link", "goal", "fault"),
    [
        ("src/gone", "nothing", "'src/gone' is a link that leads nowhere"),
        ("src/self", "self", "'src/self' is a link that leads nowhere"),
        ("src/up", ".", "'src/up' leads in a circle"),
        ("src/config", "..", "'src/config/src' leads in a circle"),
    ],
)
def test_links_that_lead_nowhere_or_in_circles_are_named(link: str, goal: str, fault: str, config: Path) -> None:
    (config / link).symlink_to(goal)
    assert fault_of(config, "source") == f"packages.yml:4:5: packages.demo.source: {fault}"


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(config: Path) -> None:
    os.mkfifo(config / "src" / "pipe")
    assert fault_of(config, "source").endswith("'src/pipe' is neither a file nor a folder")


def test_multiplied_folders_are_not_walked_to_the_end(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 100)
    for number in range(12):
        (config / f"{number}").mkdir()
        for name in ("a", "b"):
            (config / f"{number}" / name).symlink_to(f"../{number + 1}")
    (config / "12").mkdir()
    (config / "src" / "bomb").symlink_to("../0")
    assert fault_of(config, "source").endswith("'src' has more than 100 files and folders")


def test_links_inside_the_folder_are_followed(config: Path) -> None:
    (config / "shared.h").touch()
    (config / "common").mkdir()
    (config / "src" / "shared.h").symlink_to("../shared.h")
    (config / "src" / "common").symlink_to("../common")
    (config / "packages.yml").write_text(ENTRY.format(key="source", value="src"))
    link = config.parent / "linked"
    link.symlink_to(config)
    assert load_config(link).packages
