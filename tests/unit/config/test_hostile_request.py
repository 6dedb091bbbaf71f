"""What a hostile pull request may write is refused, and each file of tests/data/broken has the faults beside it."""

import cProfile
import shutil
from pathlib import Path

import pytest

from tests.refusals import check_places, coded, faults_of
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
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "packages.yml", "packages.")):
        load_config(config_with(tmp_path, **{key: hostile}))


@pytest.mark.parametrize("label", ["self-hosted", "gpu-builder", "Ubuntu-24.04", '"[self-hosted, gpu]"', '"x y"'])
def test_machines_that_are_not_those_of_github_are_refused(label: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "runner: ")):
        load_config(config_with(tmp_path, runner=label))


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    config = config_with(tmp_path, name=HOSTILE[0], version=HOSTILE[1], runner="self-hosted")
    assert len(faults_of(load_config, config)) == 3


NESTED = "(" * 5000 + "os_name == 'posix'" + ")" * 5000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("extra_deps", f'["ninja; {NESTED}"]'),
        ("extra_deps", f'["ninja; {NESTED[4000:-4000]}"]'),
        ("extra_deps", f'["ninja>={"1" * 5000}"]'),
        ("versions", f'["{"1" * 5000}"]'),
        ("torch", f'">={"1" * 5000}"'),
        ("architectures", f'["{"1" * 5000}.0"]'),
    ],
)
def test_what_would_exhaust_a_parser_is_a_short_fault_at_its_key(key: str, value: str, tmp_path: Path) -> None:
    lines = {"versions": '["1.0"]'} | {key: value}
    entry = "".join(f"    {name}: {text}\n" for name, text in lines.items())
    (tmp_path / "packages.yml").write_text(f"packages:\n  demo:\n{entry}")
    (fault,) = faults_of(load_config, tmp_path)
    assert fault.startswith(f"packages.yml:{3 + list(lines).index(key)}:")
    assert f"packages.demo.{key}" in fault
    assert len(fault) < 200


@pytest.mark.parametrize("bracket", ["[", "{a: ", "- ", "? "])
def test_yaml_nested_5000_deep_is_a_fault(bracket: str, tmp_path: Path) -> None:
    (tmp_path / "packages.yml").write_text("packages:\n  " + bracket * 5000)
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "packages.yml:2", "16 levels")):
        load_config(tmp_path)


def test_the_work_grows_as_the_number_of_packages_does(tmp_path: Path) -> None:
    entry = '  demo-{}: {{versions: ["1.0"], extra_deps: ["torch", "ninja>=1.11"], cuda: ">=12.4", env: {{X: "{}"}}}}\n'
    calls: dict[int, int] = {}
    for count in (10, 100, 400):  # the first makes what is made once
        lines = (entry.format(number, number) for number in range(count))
        (tmp_path / "packages.yml").write_text("".join(("packages:\n", *lines)))
        with cProfile.Profile() as profile:
            assert len(load_config(tmp_path).packages) == count
        calls[count] = sum(function.callcount for function in profile.getstats())
    assert calls[400] < 4.2 * calls[100]


BROKEN = Path(__file__).parents[2] / "data" / "broken"
FILES = sorted(BROKEN.glob("*.yml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_fault_is_named(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "packages.yml")
    check_places(
        faults_of(load_config, tmp_path, check_ranges=True), path.with_suffix(".expected").read_text().splitlines()
    )


def test_there_are_enough_of_them_and_each_has_its_faults_beside_it() -> None:
    assert len(FILES) >= 40
    assert {path.stem for path in FILES} == {path.stem for path in BROKEN.glob("*.expected")}
