"""Which settings of this machine's pip and uv reach the environments of builds and tests."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.wheels import write_wheel
from wheelmill.errors import UsageError
from wheelmill.installers.index_settings import (
    configured_index,
    index_only_variables,
    pip_configuration,
    uv_index_settings,
)
from wheelmill.installers.uv import compile_requirements, installer_environment, own_uv
from wheelmill.system import process

CONSTRAINT = "demo<2\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a machine's configuration: its index is a folder with demo 1.0 and 2.0, and it has nothing else."""
    for version in ("1.0", "2.0"):
        write_wheel(tmp_path / "wheels" / f"demo-{version}-py3-none-any.whl")
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "system"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for folder in ("user/uv", "user/pip", "system/uv", "system/pip"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "constraints.txt").write_text(CONSTRAINT)
    wheels = json.dumps(str(tmp_path / "wheels"))
    (tmp_path / "user/uv/uv.toml").write_text(f"no-index = true\nfind-links = [{wheels}]\n")
    (tmp_path / "user/pip/pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {tmp_path / 'wheels'}\n")
    pip_configuration.cache_clear()
    yield tmp_path
    pip_configuration.cache_clear()


@pytest.fixture
def no_pip(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip is not asked for its settings, which takes it half a second."""
    assert machine.exists()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def locked_by_uv() -> str:
    return compile_requirements(["demo"], "--python", sys.executable, "--no-annotate", output="requirements.txt")


@pytest.mark.usefixtures("no_pip")
@pytest.mark.parametrize(
    "place",
    [
        *("UV_CONSTRAINT", "UV_CONFIG_FILE"),
        *(pytest.param(f"{folder}/uv/uv.toml", marks=pytest.mark.nightly) for folder in ("user", "system")),
    ],
)
def test_no_constraint_of_uv_chooses_a_version(place: str, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if place.startswith("user"):
        with (machine / place).open("a") as file:
            file.write('constraint-dependencies = ["demo<2"]\n')
    elif place.startswith("system"):
        (machine / place).write_text('constraint-dependencies = ["demo<2"]\n')
    elif place == "UV_CONSTRAINT":
        monkeypatch.setenv(place, str(machine / "constraints.txt"))
    else:
        own = (machine / "user/uv/uv.toml").read_text()
        (machine / "own.toml").write_text(f'{own}constraint-dependencies = ["demo<2"]\n')
        (machine / "user/uv/uv.toml").unlink()
        monkeypatch.setenv("UV_CONFIG_FILE", str(machine / "own.toml"))
    with installer_environment() as variables:  # it is one for the user's own environments
        argv = [str(own_uv()), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "demo.in"]
        (machine / "demo.in").write_text("demo\n")
        assert process.run(argv, env=variables) == "demo==1.0\n"
    assert locked_by_uv() == "demo==2.0\n"


@pytest.mark.parametrize(
    "places",
    [
        ("PIP_CONSTRAINT", "user/pip/pip.conf"),
        *(pytest.param((place,), marks=pytest.mark.nightly) for place in ("PIP_CONSTRAINT", "user/pip/pip.conf")),
    ],
)
def test_pip_constraints_do_not_count(places: tuple[str, ...], machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "PIP_CONSTRAINT" in places:
        monkeypatch.setenv("PIP_CONSTRAINT", str(machine / "constraints.txt"))
    if "user/pip/pip.conf" in places:
        with (machine / "user/pip/pip.conf").open("a") as file:
            file.write(f"constraint = {machine / 'constraints.txt'}\n")

    def downloaded(variables: dict[str, str], folder: Path) -> list[str]:
        argv = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--dest", str(folder), "demo"]
        process.run(argv, env=variables)
        return [wheel.name for wheel in folder.glob("*.whl")]

    assert downloaded(dict(os.environ), machine / "by user") == ["demo-1.0-py3-none-any.whl"]
    assert downloaded(index_only_variables(), machine / "by wheelmill") == ["demo-2.0-py3-none-any.whl"]


@pytest.mark.usefixtures("no_pip")
def test_of_the_variables_of_pip_and_uv_those_of_the_index_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {
        *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT"),
        *("UV_INDEX", "UV_INDEX_CORP_PASSWORD", "UV_HTTP_TIMEOUT", "PIPELINE"),
    }
    dropped = {
        *("PIP_PRE", "PIP_TARGET", "PIP_NO_BINARY", "PIP_CONSTRAINT"),
        *("UV_OVERRIDE", "UV_EXCLUDE_NEWER", "UV_RESOLUTION", "UV_CONSTRAINT", "UV_A_SETTING_OF_NEXT_YEAR"),
    }
    for name in kept | dropped:
        monkeypatch.setenv(name, "value")
    assert {name for name, value in index_only_variables().items() if value == "value"} == kept


def test_the_files_of_uv_are_combined_as_uv_does(machine: Path) -> None:
    (machine / "user/uv/uv.toml").write_text(
        'index-strategy = "first-index"\n[[index]]\nname = "a"\nurl = "https://a/"\n'
    )
    (machine / "system/uv/uv.toml").write_text(
        'index-strategy = "unsafe-best-match"\noffline = true\nprerelease = "allow"\n'
        '[[index]]\nname = "b"\nurl = "https://b/"\n[[index]]\nurl = "mirror"\n'
        '[pip]\nno-binary = ["demo"]\nfind-links = ["wheels"]\n'
    )
    system = machine / "system" / "uv"
    assert uv_index_settings() == {
        "index-strategy": "first-index",
        "offline": True,
        "index": [
            {"name": "a", "url": "https://a/"},
            {"name": "b", "url": "https://b/"},
            {"url": str(system / "mirror")},
        ],
        "pip": {"find-links": [str(system / "wheels")]},
    }


def test_a_broken_file_of_uv_is_named(machine: Path) -> None:
    (machine / "user/uv/uv.toml").write_text("index = [\n")
    with pytest.raises(UsageError, check=coded("settings-unreadable", "uv.toml")):
        locked_by_uv()


@pytest.mark.usefixtures("machine")
def test_a_machine_may_forbid_configuration_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    assert uv_index_settings() == {}


def test_the_index_of_uv_comes_before_that_of_pip(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def index_at(host: str) -> str:
        return f"https://{host}.example.org/simple"

    (machine / "user/pip/pip.conf").write_text(f"[global]\nindex-url = {index_at('pip')}\n")
    assert configured_index() == index_at("pip")
    (machine / "system/uv/uv.toml").write_text(f'index-url = "{index_at("system")}"\n')
    assert configured_index() == index_at("system")
    (machine / "user/uv/uv.toml").write_text(
        f'[[index]]\nurl = "{index_at("beside")}"\n[[index]]\nurl = "{index_at("user")}"\ndefault = true\n'
    )
    assert configured_index() == index_at("user")
    with (machine / "user/uv/uv.toml").open("a") as file:
        file.write(f'[pip]\nindex-url = "{index_at("uv-pip")}"\n')
    assert configured_index() == index_at("uv-pip")
    for place, host in {"PIP_INDEX_URL": "variable", "UV_DEFAULT_INDEX": "first"}.items():
        monkeypatch.setenv(place, index_at(host))
        assert configured_index() == index_at(host)


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ("[global]\ntimeout = 5\nindex-url = https://a.org/\nextra-index-url = https://b.org/\n", "https://a.org/"),
        (
            "[install]\nindex-url = https://b.org/?a=1&b='2'\n[global]\nindex-url = https://a.org/\n",
            "https://b.org/?a=1&b='2'",
        ),
        pytest.param("", None, marks=pytest.mark.nightly),
        pytest.param("[install]\nindex-url = https://b.org/\n", "https://b.org/", marks=pytest.mark.nightly),
        pytest.param("[global]\ntimeout = 5\nextra-index-url = https://a.org/\n", None, marks=pytest.mark.nightly),
    ],
    ids=["global", "install before global", "nothing", "install", "something else"],
)
def test_the_index_of_pip_stands_in_its_settings(settings: str, url: str | None, machine: Path) -> None:
    (machine / "user/pip/pip.conf").write_text(settings)
    assert configured_index() == url
