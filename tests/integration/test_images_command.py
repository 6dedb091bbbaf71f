"""``wheelmill config images`` as a person meets it; registries are on this machine."""

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.reference.schemas import check_output
from tests.registry_server import Registry, serving
from wheelmill.cli.factory import config
from wheelmill.config.load import load_images
from wheelmill.config.maintenance.images import ImageRegistry
from wheelmill.errors import UsageError

NOW, LATER = "sha256:" + "a" * 64, "sha256:" + "b" * 64

COMPATIBILITY = """\
cuda:
  checked: 2026-11-21
  source: "https://example.org/cuda"
  releases:
    "12.8": {toolkit: "12.8.1", minimum_driver: "525.60.13", host_gcc: 14, architectures: ["9.0"]}
    "13.2": {toolkit: "13.2.2", minimum_driver: "580.65.06", host_gcc: 15, architectures: ["9.0"]}
torch: {checked: 2026-11-21, source: "https://example.org/torch", index: "https://example.org/cu{cuda}", releases: {}}
pythons: ["3.12"]
platforms: [linux_x86_64]
"""

Images = Callable[..., Result]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """A registry that has what the file pins."""
    tags = ["x:1", "plain:8", "cuda:12.8.1-devel-ubuntu22.04", "cuda:12.8.1-runtime-ubuntu22.04"]
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    registry = functools.partial(ImageRegistry, plain_http_on_loopback=True)
    monkeypatch.setattr(config, "ImageRegistry", registry)
    with serving(Registry(tags=dict.fromkeys(tags, NOW))) as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path, server: Registry) -> Path:
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    (tmp_path / "compatibility.yml").write_text(COMPATIBILITY)
    (tmp_path / "images.yml").write_text(f"""\
manylinux: {{checked: 2026-11-21, source: "by hand", images: {{linux_x86_64: "{server.host}/x:1@{NOW}"}}}}
plain: {{checked: 2026-11-21, source: "by hand", image: "{server.host}/plain:8@{NOW}"}}
cuda:
  checked: 2026-11-21
  source: "by hand"
  releases:
    "12.8":  # by hand
      toolkit: "12.8.1"
      devel: "{server.host}/cuda:12.8.1-devel-ubuntu22.04@{NOW}"
      runtime: "{server.host}/cuda:12.8.1-runtime-ubuntu22.04@{NOW}"
""")
    return tmp_path


@pytest.fixture
def images(folder: Path) -> Images:
    """Run the command on the folder."""
    app = typer.Typer()
    app.command()(config.images)

    def run(*options: str, exit_code: int) -> Result:
        result = CliRunner().invoke(app, ["--config", str(folder), *options])
        assert result.exit_code == exit_code, result.output
        check_output(result.stdout)
        return result

    return run


def test_what_is_pinned_is_listed_and_what_is_not_is_talk(images: Images, server: Registry) -> None:
    done = images(exit_code=0)
    for shown in ("linux_x86_64", f"{server.host}/plain:8", "12.8.1", "13.2"):
        assert shown in done.stdout
    assert "CUDA 13.2: run wheelmill config images --refresh --write\n" in done.stderr
    assert server.asked == []


def test_images_of_another_toolkit_are_talk(images: Images, folder: Path) -> None:
    facts = folder / "compatibility.yml"
    facts.write_text(COMPATIBILITY.replace("12.8.1", "12.8.2"))
    assert "CUDA 12.8: " in (line := images(exit_code=0).stderr.splitlines()[1])
    assert "12.8.1" in line
    assert "12.8.2" in line


def test_what_is_pinned_as_json(images: Images, server: Registry) -> None:
    assert json.loads(images("--json", exit_code=0).stdout) == {
        "schema": "wheelmill.config-images/1",
        "manylinux": {"linux_x86_64": f"{server.host}/x:1@{NOW}"},
        "plain": f"{server.host}/plain:8@{NOW}",
        "cuda": {
            "12.8": {
                "toolkit": "12.8.1",
                "devel": f"{server.host}/cuda:12.8.1-devel-ubuntu22.04@{NOW}",
                "runtime": f"{server.host}/cuda:12.8.1-runtime-ubuntu22.04@{NOW}",
            }
        },
        "missing": ["13.2"],
    }


def test_a_toolkit_that_no_registry_has_is_talk(images: Images, server: Registry) -> None:
    done = images("--refresh", exit_code=0)
    assert done.stdout == ""
    assert f"{server.host}/cuda:13.2.2-devel-ubuntu22.04\n" in done.stderr


def test_a_tag_with_another_digest_is_a_finding(images: Images, server: Registry, folder: Path) -> None:
    before = (folder / "images.yml").read_text()
    server.tags["plain:8"] = LATER
    done = images("--refresh", exit_code=9)
    assert done.stdout.startswith(f"plain.image: {server.host}/plain:8@{NOW}, ")
    assert LATER in done.stdout
    assert (folder / "images.yml").read_text() == before


def test_findings_as_json(images: Images, server: Registry) -> None:
    server.tags["plain:8"] = LATER
    del server.tags["x:1"]
    assert json.loads(images("--refresh", "--json", exit_code=9).stdout) == {
        "schema": "wheelmill.config-images-refresh/1",
        "differences": [
            {"key": "manylinux.images.linux_x86_64", "file": f"{server.host}/x:1@{NOW}", "registry": None},
            {
                "key": "plain.image",
                "file": f"{server.host}/plain:8@{NOW}",
                "registry": f"{server.host}/plain:8@{LATER}",
            },
        ],
        "unknown": [f"CUDA 13.2: the registry has no {server.host}/cuda:13.2.2-devel-ubuntu22.04"],
    }


def test_what_was_written_is_no_finding_any_more(images: Images, server: Registry, folder: Path) -> None:
    server.tags["plain:8"] = LATER
    server.tags |= {f"cuda:13.2.2-{kind}-ubuntu22.04": LATER for kind in ("devel", "runtime")}
    lines = images("--refresh", "--write", exit_code=0).stdout.splitlines()
    assert [(line.partition(":")[0], line.rpartition("; ")[2]) for line in lines] == [
        ("plain.image", "written"),
        ("cuda.releases.13.2", "written"),
    ]
    assert images("--refresh", exit_code=0).output == ""
    assert '"12.8":  # by hand\n' in (folder / "images.yml").read_text()
    assert load_images(folder).plain.image.digest == LATER


def test_a_tag_that_is_gone_stays_a_finding(images: Images, server: Registry, folder: Path) -> None:
    before = (folder / "images.yml").read_text()
    del server.tags["x:1"]
    for options in (("--refresh",), ("--refresh", "--write")):
        done = images(*options, exit_code=9)
        assert done.stdout.startswith(f"manylinux.images.linux_x86_64: {server.host}/x:1@{NOW}, ")
    assert (folder / "images.yml").read_text() == before


def test_nothing_is_written_without_asking(images: Images) -> None:
    assert isinstance(images("--write", exit_code=1).exception, UsageError)


def test_the_file_that_ships_with_wheelmill_is_not_written(images: Images, folder: Path) -> None:
    (folder / "images.yml").unlink()
    error = images("--refresh", "--write", exit_code=1).exception
    assert isinstance(error, UsageError)
    assert error.hint == "copy the one that ships with wheelmill"
