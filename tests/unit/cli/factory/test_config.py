"""What keeps the facts up to date, where the packages are ahead of them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.torch_index import write_torch_index
from tests.unit.config.test_load import COMPATIBILITY
from wheelmill.cli.factory.config import app
from wheelmill.config.load import load_config
from wheelmill.errors import ConfigurationError, FindingsError
from wheelmill.index.serve import serve_folder

PACKAGES = 'packages: {demo: {versions: ["1.0"], extra_deps: [torch], torch: ">=2.12"}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration whose only package is for a torch that its facts lack."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "packages.yml").write_text(PACKAGES)
    (folder / "compatibility.yml").write_text(COMPATIBILITY)
    with pytest.raises(ConfigurationError):
        load_config(folder, check_ranges=True)
    return folder


def test_the_torch_of_a_range_can_be_added(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requires = ("cuda-toolkit==13.0.2",)
    wheels = {f"torch-{version}-cp312-cp312-manylinux_2_28_x86_64.whl": requires for version in ("2.11.0", "2.12.0")}
    write_torch_index(tmp_path / "index", wheels)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve_folder(tmp_path / "index") as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{url}simple/")
        done = CliRunner().invoke(app, ["drift", "--write", "--config", str(folder)])
    assert "torch 2.12: missing (release 2.12.0, Python 3.12, CUDA 13.0); written" in done.stdout
    assert list(load_config(folder).packages) == ["demo"]


def test_other_facts_are_listed(folder: Path) -> None:
    assert CliRunner().invoke(app, ["images", "--config", str(folder)]).exit_code == 0
    symbols = CliRunner().invoke(app, ["symbols", "--config", str(folder)])
    assert isinstance(symbols.exception, FindingsError)
    assert str(symbols.exception).endswith("lacks torch 2.11")


def test_the_check_names_the_range(folder: Path) -> None:
    checked = CliRunner().invoke(app, ["check", str(folder)])
    message = "packages.demo.torch: holds nothing of what compatibility.yml has: 2.11"
    assert str(checked.exception) == f"packages.yml:1:59: {message}"
