"""The true main job: an extension of torch, from its source distribution into a clean environment beside torch."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from pypi_simple import ProjectPage

from tests.real.conftest import ROOT, Command
from wheelmill.system.files import sha256_of
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.record import check_record

pytestmark = pytest.mark.real

TARGET = ("torch-spline-conv", "--python", "3.12", "--cuda", "13.0", "--torch", "2.11", "--config")
LABELLED = "1.2.2+cu130torch2.11"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped configuration, but for one architecture in the place of five: each is compiled for by itself."""
    folder = tmp_path_factory.mktemp("shipped") / "config"
    shutil.copytree(ROOT / "config", folder)
    packages = folder / "packages.yml"
    packages.write_text(packages.read_text().replace('["7.5", "8.0", "9.0", "10.0", "12.0+PTX"]', '["12.0+PTX"]'))
    return folder


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory, config: Path, wheelmill: Command) -> Path:
    """What `wheelmill run` made: wheels, releases and site."""
    folder = tmp_path_factory.mktemp("spline")
    wheelmill("run", *TARGET, config, "--output", folder)
    return folder


@pytest.fixture(scope="module")
def wheel(output: Path) -> Path:
    (wheel,) = output.glob("wheels/*.whl")
    return wheel


def test_the_label_stands_in_file_name_metadata_and_record(wheel: Path) -> None:
    name = WheelName.parse(wheel.name)
    assert str(name.version) == LABELLED
    assert {(tag.interpreter, tag.abi) for tag in name.tags} == {("cp312", "cp312")}
    assert name.platforms[0].startswith("manylinux_2_")
    with zipfile.ZipFile(wheel) as archive:
        metadata = Metadata.from_email(archive.read(f"torch_spline_conv-{LABELLED}.dist-info/METADATA"))
        assert list(check_record(archive, f"torch_spline_conv-{LABELLED}.dist-info")) == []
    assert str(metadata.version) == LABELLED
    assert "torch==2.11.*" in {str(requirement) for requirement in metadata.requires_dist or ()}


def test_the_manifest_tells_what_the_wheel_is(output: Path, wheel: Path) -> None:
    (release,) = output.glob("releases/v*")
    (entry,) = json.loads((release / "manifest.json").read_bytes())["wheels"]
    assert entry["sha256"] == sha256_of(wheel) == sha256_of(release / wheel.name)
    assert entry["metadata_sha256"] == sha256_of(release / f"{wheel.name}.metadata")
    evidence, (room,) = entry["certificate"]["evidence"], entry["certificate"]["clean_rooms"]
    assert evidence["cuda_major"] == 13
    assert evidence["sass"] == ["sm_120"]
    assert evidence["ptx"] == ["compute_120"]
    assert evidence["policy"] == WheelName.parse(wheel.name).platforms[0]
    assert room["installed"]["torch"] == "2.11.0"


@pytest.mark.parametrize("tree", ["", "cu130/", "cu130/torch2.11/"])
def test_every_level_of_pages_leads_to_the_wheel(output: Path, wheel: Path, tree: str) -> None:
    page = output / "site" / tree / "simple" / "torch-spline-conv" / "index.html"
    (link,) = ProjectPage.from_html("torch-spline-conv", page.read_text(), base_url=page.as_uri()).packages
    assert link.filename == wheel.name
    assert link.digests == {"sha256": sha256_of(wheel)}
    assert link.has_metadata


def test_a_second_run_builds_nothing_and_says_why(output: Path, config: Path, wheelmill: Command) -> None:
    again = wheelmill("run", *TARGET, config, "--output", output)
    assert "already published in v" in again.stderr
    assert "nothing to build" in again.stderr


def test_the_readme_installs_from_the_served_index(output: Path, tmp_path: Path) -> None:
    serve = [sys.executable, "-m", "wheelmill", "index", "serve", str(output), "--port", "0"]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            index = next(line.strip() for line in server.stderr if line.endswith("/cu130/torch2.11/simple/\n"))
            pip = [sys.executable, "-m", "pip", "install", "--extra-index-url", index]
            wanted = ["--only-binary", "torch-spline-conv", "torch-spline-conv"]
            # Into a folder and for the wheel's Python: the interpreter of the tests is another one.
            aside = ["--no-deps", "--target", str(tmp_path), "--python-version", "3.12", "--only-binary", ":all:"]
            subprocess.run([*pip, *wanted, *aside], check=True)
        finally:
            server.terminate()
    assert (tmp_path / f"torch_spline_conv-{LABELLED}.dist-info").is_dir()
