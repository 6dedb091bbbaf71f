"""What a hostile pull request may write into packages.yml is refused, all of it at once."""

from pathlib import Path

import pytest

from wheelmill.config.load import load_config
from wheelmill.errors import ConfigurationError

ENTRY = """packages:
  {name}:
    versions: [{version}]
    description: {description}
    runner: {runner}
    test_import: {module}
    env: {{X: {variable}}}
"""
HARMLESS = {
    "name": "demo",
    "version": '"1.0"',
    "description": "text",
    "runner": "ubuntu-24.04",
    "module": "demo",
    "variable": '"1"',
}
HOSTILE = ['"$(id)"', '"`id`"', '"${{ github.token }}"', r'"a\nrunner: x"', r'"a\r\n::set-output name=x::y"']


def config_with(folder: Path, **values: str) -> Path:
    (folder / "packages.yml").write_text(ENTRY.format(**HARMLESS | values))
    return folder


def test_the_entry_itself_is_right(tmp_path: Path) -> None:
    assert list(load_config(config_with(tmp_path)).packages) == ["demo"]


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("key", HARMLESS)
def test_what_a_shell_or_a_workflow_would_act_on_is_refused(key: str, hostile: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^packages\.yml:\d+:\d+: packages\."):
        load_config(config_with(tmp_path, **{key: hostile}))


@pytest.mark.parametrize("label", ["self-hosted", "gpu-builder", "Ubuntu-24.04", '"[self-hosted, gpu]"', '"x y"'])
def test_machines_that_are_not_those_of_github_are_refused(label: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"runner: expected one of GitHub's own machines"):
        load_config(config_with(tmp_path, runner=label))


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_config(config_with(tmp_path, name=HOSTILE[0], version=HOSTILE[1], runner="self-hosted"))
    assert len(refused.value.faults) == 3
