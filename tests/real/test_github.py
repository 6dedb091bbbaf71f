"""Releases and an index from them, on an emulator of GitHub that is not ours; requests as GitHub describes them."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from pypi_simple import ProjectPage

from tests.github_server import REPOSITORY, Call
from tests.real.conftest import Command, portable_demo
from tests.real.github_emulator import Description, Front, emulator, npm_packages
from tests.unit.release.conftest import certified_wheel
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system.record_files import write_record

pytestmark = pytest.mark.real

NAMES = tuple(f"demo-1.{number}-cp311-cp311-manylinux_2_28_x86_64.whl" for number in range(3))
STORE = f"github:{REPOSITORY}"


@pytest.fixture(scope="module")
def modules() -> Path:
    return npm_packages()


@pytest.fixture
def front(modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Front]:
    with emulator(modules, tmp_path) as state:
        for name, value in state.environment.items():
            monkeypatch.setenv(name, value)
        yield state


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder of tested wheels."""
    for name in NAMES:
        wheel = certified_wheel(tmp_path / "wheels" / name)
        write_record(certificate_path(wheel.file.path), wheel.certificate)
    return tmp_path / "wheels"


def test_from_tested_wheels_to_an_index(
    wheelmill: Command, front: Front, modules: Path, wheels: Path, tmp_path: Path
) -> None:
    first = [wheels / NAMES[2], certificate_path(wheels / NAMES[2])]
    apart = tmp_path / "apart"
    apart.mkdir()
    for path in first:
        path.rename(apart / path.name)

    assert "released as v" in wheelmill("release", wheels, "--store", STORE).stderr
    assert "nothing to release" in wheelmill("release", wheels, "--store", STORE).stderr
    assert "released as v" in wheelmill("release", apart, "--store", STORE).stderr
    second, published = front.releases()
    assert second["tag_name"] == f"{published['tag_name']}.2"
    for release, names in ((published, NAMES[:2]), (second, NAMES[2:])):
        assert not release["draft"]
        assert {asset["name"]: asset["size"] for asset in release["assets"]}.keys() == {
            *names,
            *(f"{name}{suffix}" for name in names for suffix in (".metadata", ".cdx.json")),
            "manifest.json",
        }
        assert all(f"`{name}`" in release["body"] for name in names)

    site = tmp_path / "site"
    wheelmill("index", "build", "--store", STORE, "--output", site)
    page = (site / "simple" / "demo" / "index.html").read_bytes()
    packages = ProjectPage.from_html("demo", page, base_url="https://index.test/").packages
    assert {package.filename for package in packages} == {*NAMES}
    for package in packages:
        tag = second["tag_name"] if package.filename == NAMES[2] else published["tag_name"]
        assert unquote(package.url) == f"{front.origin}/{REPOSITORY}/releases/download/{tag}/{package.filename}"
        with zipfile.ZipFile((apart if package.filename == NAMES[2] else wheels) / package.filename) as archive:
            assert archive.testzip() is None

    planned = json.loads(wheelmill("plan", "torch-spline-conv", "--cuda", "13.0", "--store", STORE, "--json").stdout)
    assert planned["counts"]["cells"] > 0

    description = Description(modules)
    assert [fault for call in front.calls for fault in description.faults(call)] == []
    assert {call.method for call in front.calls} == {"GET", "POST", "PATCH"}


def test_the_whole_way_ends_in_a_release_and_goes_there_once(
    wheelmill: Command, front: Front, modules: Path, tmp_path: Path
) -> None:
    demo = portable_demo(tmp_path / "demo")
    axes = ("--config", demo, "--python", "3.12", "--cuda", "13.0")
    arguments = ("run", "wheelmill-demo", *axes, "--store", STORE, "--output", tmp_path / "out")
    assert "released as v" in wheelmill(*arguments).stderr
    (release,) = front.releases()
    (wheel,) = (asset["name"] for asset in release["assets"] if asset["name"].endswith(".whl"))
    page = (tmp_path / "out" / "site" / "cu130" / "simple" / "wheelmill-demo" / "index.html").read_bytes()
    (package,) = ProjectPage.from_html("wheelmill-demo", page, base_url="https://index.test/").packages
    assert unquote(package.url) == f"{front.origin}/{REPOSITORY}/releases/download/{release['tag_name']}/{wheel}"
    assert "findings: 0; read: 2 of 2 project pages, 1 of 1 file" in (
        wheelmill("index", "check", tmp_path / "out" / "site").stderr
    )

    assert "wheels examined: 0" in wheelmill(*arguments).stderr
    assert [each["tag_name"] for each in front.releases()] == [release["tag_name"]]
    description = Description(modules)
    assert [fault for call in front.calls for fault in description.faults(call)] == []


@pytest.mark.parametrize(
    "call",
    [
        Call("POST", "/repos/o/r/git/refs", {}, "application/json", b'{"ref": "refs/tags/x"}'),
        Call("POST", "/repos/o/r/git/refs", {}, "application/json", b'{"ref": 7, "sha": "5"}'),
        Call("PATCH", "/repos/o/r/releases/1", {}, "application/json", b'{"drafts": false}'),
        Call("POST", "/repos/o/r/releases/1/assets", {}, "application/octet-stream", b"x"),
        Call("GET", "/repos/o/r/releases/tagged/x/y", {}, None, b""),
    ],
    ids=str,
)
def test_the_description_finds_faults(call: Call, modules: Path) -> None:
    assert Description(modules).faults(call)
