"""The small CUDA package of the tests, with the real compiler, clean environment and installers."""

import json
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from pypi_simple import ProjectPage

from tests.github_server import REPOSITORY, GitHub, serving
from tests.real.conftest import DEMO, SHORT_PAUSES, Command, another_person, divisible_demo, portable_demo, sampled
from tests.real.github_description import Description
from wheelmill.system.files import sha256_of
from wheelmill.wheel.metadata import dist_info_of
from wheelmill.wheel.record import check_record

pytestmark = pytest.mark.real

TARGET = ("wheelmill-demo", "--config", DEMO, "--python", "3.12", "--cuda", "13.0")


OF_TORCH = ("wheelmill-demo-torch", "--config", DEMO.with_name("torch_demo"), *TARGET[3:], "--torch", "2.11")


@sampled("target", [TARGET, OF_TORCH], TARGET)
def test_two_people_build_one_hash(target: tuple[str | Path, ...], wheelmill: Command, tmp_path: Path) -> None:
    """In the sandbox each finds the workspace at the same path, whatever their home and their cache are called."""
    for folder in ("first", "second"):
        wheelmill("build", *target, "--output", tmp_path / folder, env=another_person(tmp_path / f"home of {folder}"))
    (first,) = tmp_path.glob("first/*.whl")
    assert sha256_of(first) == sha256_of(tmp_path / "second" / first.name)
    with zipfile.ZipFile(first) as archive:
        dist_info = dist_info_of(archive)
        assert list(check_record(archive, dist_info)) == []
        bill = archive.read(f"{dist_info}/sboms/wheelmill.cdx.json").decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    shown = json.loads(wheelmill("show", first, "--json").stdout)
    assert shown["built"]["source"]["kind"] == "folder"
    assert shown["built"]["toolkit"].startswith("13.0.")
    assert (shown["built"]["torch"] or "").startswith("2.11." if "--torch" in target else "")
    assert any(text.startswith("GCC: ") for text in shown["built"]["compilers"])
    (sbom,) = shown["sboms"]
    assert {"cpython", "cuda-toolkit", "GCC"} <= {each["name"] for each in sbom["components"]}
    assert "pkg:pypi/wheelmill-demo" not in bill


@pytest.mark.nightly
def test_one_hash_is_built_by_one_job_and_by_three(wheelmill: Command, tmp_path: Path) -> None:
    """Each job is a machine of its own; the last one has what the others compiled."""
    build = ("build", "wheelmill-demo", "--config", divisible_demo(tmp_path / "config"), *TARGET[3:])
    caches = []
    for number in (1, 2):
        home, output = tmp_path / f"home {number}", tmp_path / f"part {number}"
        part = wheelmill(*build, "--part", f"{number}/2", "--output", output, env=another_person(home))
        assert f"part {number}/2 compiled: 3 units, {number} of them ours" in part.stderr.replace("\n", "")
        assert [path.suffix for path in output.iterdir()] == [".log"]
        caches += ["--cache-from", home / "cache" / "wheelmill" / "compiled"]
    last = wheelmill(*build, *caches, "--output", tmp_path / "last", env=another_person(tmp_path / "home 3"))
    assert "3 objects from the compiler cache, 0 compiled" in last.stderr.replace("\n", "")
    wheelmill(*build, "--output", tmp_path / "alone", env=another_person(tmp_path / "home 4"))
    (wheel,) = tmp_path.glob("last/*.whl")
    assert sha256_of(wheel) == sha256_of(tmp_path / "alone" / wheel.name)


def test_a_policy_that_the_symbols_do_not_allow_is_refused_by_name(wheelmill: Command, tmp_path: Path) -> None:
    refused = wheelmill("build", *TARGET, "--policy", "manylinux_2_5", "--output", tmp_path, exit_code=4)
    assert "2.5" in refused.stderr
    assert "@GLIBC_2." in refused.stderr
    assert list(tmp_path.glob("*.whl")) == []


def test_run_is_a_no_op_when_everything_is_published(wheelmill: Command, tmp_path: Path) -> None:
    config = portable_demo(tmp_path / "demo")
    run = ("run", *TARGET, "--config", config, "--store", f"github:{REPOSITORY}", "--output", tmp_path, "--json")
    with serving(GitHub()) as github:
        variables = github.environment | SHORT_PAUSES
        first = json.loads(wheelmill(*run, env=variables).stdout)
        assert [wheel["ok"] for wheel in first["wheels"]] == [True]
        assert len(first["releases"]) == 1
        forced = json.loads(wheelmill(*run, "--force", env=variables).stdout)
        assert forced["counts"]["wheels"] == 1
        assert (forced["wheels"], forced["releases"]) == ([], [])  # built again, and the bytes were the published ones
        again = json.loads(wheelmill(*run, env=variables).stdout)
        assert again["counts"] == {"cells": 1, "wheels": 0, "skips": 1}
        assert "already published" in again["skips"][0]["reason"]
    (release,) = github.releases
    (wheel,) = (asset.name for asset in release.assets if asset.name.endswith(".whl"))
    site = tmp_path / "site"
    page = (site / "cu130" / "simple" / "wheelmill-demo" / "index.html").read_bytes()
    (package,) = ProjectPage.from_html("wheelmill-demo", page, base_url="https://index.test/").packages
    assert unquote(package.url) == f"{github.origin}/{REPOSITORY}/releases/download/{release.tag}/{wheel}"
    assert Description().all_faults(github) == []


def test_an_abi3_wheel_is_built_once_and_tried_on_every_python_for_real(wheelmill: Command, tmp_path: Path) -> None:
    """It imports a package that its METADATA does not name."""
    both = ("wheelmill-demo-average", *TARGET[1:3], "--python", "3.11,3.12", "--cuda", "13.0")
    alone = wheelmill("run", *both, "--output", tmp_path, exit_code=4)
    assert "wheelmill-demo" in alone.stderr
    report = json.loads(wheelmill("run", "wheelmill-demo", *both, "--output", tmp_path, "--json").stdout)
    assert report["counts"] == {"cells": 4, "wheels": 3, "skips": 1}
    assert [wheel["ok"] for wheel in report["wheels"]] == [True, True, True]
    (manifest,) = tmp_path.glob("releases/v*/manifest.json")
    (abi3,) = [wheel for wheel in json.loads(manifest.read_bytes())["wheels"] if "-abi3-" in wheel["filename"]]
    assert abi3["external"]["dependencies"][0] == "dep:generic/nvidia-driver@>=580.65.06"
    assert abi3["certificate"]["provenance"]["source"]["kind"] == "folder"
    rooms = abi3["certificate"]["clean_rooms"]
    assert [room["python"].rpartition(".")[0] for room in rooms] == ["3.11", "3.12"]
    assert all(room["installed"]["wheelmill-demo"] == "1.0.0+cu130" for room in rooms)
    without_gpu = ["smoke script: this machine has no GPU"]
    assert [room["skipped"] for room in rooms] in ([without_gpu] * 2, [[]] * 2)


def test_a_sample_is_tried_for_one_architecture_and_never_released(wheelmill: Command, tmp_path: Path) -> None:
    report = json.loads(wheelmill("run", *TARGET[:3], "--sample", "--output", tmp_path, "--json").stdout)
    assert [(wheel["ok"], wheel["evidence"]["sass"]) for wheel in report["wheels"]] == [(True, ["sm_120"])]
    assert (report["counts"]["wheels"], report["releases"]) == (1, [])
    (wheel,) = tmp_path.glob("sample/wheels/*.whl")
    refused = wheelmill("release", wheel.parent, "--store", f"dir:{tmp_path / 'releases'}", exit_code=6)
    assert "is a sample" in refused.stderr
    assert not (tmp_path / "releases").exists()
