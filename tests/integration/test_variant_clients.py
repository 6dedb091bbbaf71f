"""Published wheels as variant wheels, from the command to what uv takes for a machine; nothing of them is elsewhere."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from variantlib.variant_dist_info import VariantDistInfo
from variantlib.variants_json import VariantsJson

from tests.gpu_wheels import TAG, gpu_wheel
from tests.integration.conftest import Command
from tests.releases import store_in
from tests.unit.release.conftest import NOW
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.release.publish import publish
from wheelmill.system.files import sha256_of
from wheelmill.wheel.variant import unmake_variant

LABELS = {"cu128torch2.11": (90,), "cu130torch2.11": (90, 120)}
ONE_EACH = {"cu128": (90,), "cu130": (120,)}
"""What two packages have machine code for: one for torch, and one that has each GPU in another wheel."""


@pytest.fixture(scope="module")
def folder(python: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two packages, one of variant wheels of them, and the site of both."""
    folder = tmp_path_factory.mktemp("variants")
    wheels = [
        gpu_wheel(folder / "wheels", project, label, gpus)
        for project, labels in (("demo", LABELS), ("split", ONE_EACH))
        for label, gpus in labels.items()
    ]
    publish(store_in(folder / "releases"), wheels, now=NOW)
    make(python, folder)
    build(python, folder, "site", "--variants", f"dir:{folder / 'variants'}=../variants")
    return folder


def make(python: Command, folder: Path) -> str:
    stores = ("--store", f"dir:{folder / 'releases'}", "--to", f"dir:{folder / 'variants'}")
    return python("-m", "wheelmill", "release", "variants", "demo", "split", *stores, exit_code=0).stderr


def build(python: Command, folder: Path, output: str, *options: str, exit_code: int = 0) -> str:
    (folder / "config").mkdir(exist_ok=True)
    place = ("--output", folder / output, "--base-url", "../releases", "--config", folder / "config")
    store = ("--store", f"dir:{folder / 'releases'}")
    return python("-m", "wheelmill", "index", "build", *store, *place, *options, exit_code=exit_code).stderr


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    with serve_folder(folder, negotiate=True) as url:
        yield f"{url}site/"


def install(
    index: str, target: Path, project: str, *, driver: str | None, sm: str | None, preview: bool = True
) -> subprocess.CompletedProcess[str]:
    """Have uv install for a machine with such a driver and such a GPU."""
    machine = {"CUDA_DRIVER_VERSION": driver, "SM_ARCH": sm}
    forced = {f"NV_VARIANT_PROVIDER_FORCE_{name}": value for name, value in machine.items() if value}
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "NV_"))}
    into = ["--python", sys.executable, "--target", str(target), "--no-cache", "--no-deps"]
    wanted = ["--preview-features", "wheel-variants"] if preview else []
    return subprocess.run(
        [str(own_uv()), "pip", "install", *wanted, *into, "--index-url", index, project],
        env=ours | forced | {"UV_NO_CONFIG": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("driver", "sm", "label"),
    [
        ("13.0", "9.0", "cu130"),
        ("13.0", "12.0", "cu130"),
        ("12.8", "9.0", "cu128"),
        ("12.8", "12.0", "null"),  # of CUDA 12.8 there is nothing for it
        ("12.4", "9.0", "null"),
        (None, None, "null"),
    ],
)
def test_uv_takes_the_variant_of_the_driver_and_the_gpu(
    site: str, tmp_path: Path, driver: str | None, sm: str | None, label: str
) -> None:
    done = install(f"{site}torch2.11/variants/simple/", tmp_path, "demo", driver=driver, sm=sm)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    (dist_info,) = tmp_path.glob("*.dist-info")
    assert dist_info.name == "demo-1.0+torch2.11.dist-info"
    (installed,) = json.loads((dist_info / "variant.json").read_bytes())["variants"]
    assert installed.partition("_")[0] == label
    made_of = json.loads((dist_info / "wheelmill-plain.json").read_bytes())["filename"]
    oldest = "cu128" if label == "null" else label
    assert made_of == f"demo-1.0+{oldest}torch2.11-{TAG}-{TAG}-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("driver", "sm", "label"), [("13.0", "9.0", "cu130"), ("12.8", "9.0", "cu128"), (None, None, "null")]
)
def test_the_client_names_what_uv_takes(
    site: str, wheelmill: Command, driver: str | None, sm: str | None, label: str
) -> None:
    machine = {"CUDA_DRIVER_VERSION": driver, "SM_ARCH": sm}
    forced = {f"NV_VARIANT_PROVIDER_FORCE_{name}": value for name, value in machine.items() if value}
    target = ("--python-path", sys.executable, "--torch", "2.11", "--cuda", "12.8")
    place = ("--source", f"simple:{site}torch2.11/variants/simple/", "--no-cache", "--json")
    content = json.loads(wheelmill("explain", "--variants", "demo", *target, *place, **forced).stdout)
    assert content["gets"] == content["uv_takes"]
    (best,) = (each for each in content["wheels"] if each["filename"] == content["gets"])
    assert best["variant"].partition("_")[0] == label
    assert any("CUDA 12.8" in note for note in best["notes"]) == (label == "cu130")
    other = json.loads(wheelmill("explain", "--variants", "demo", *target, "--torch", "2.10", *place, **forced).stdout)
    assert other["gets"] is None
    assert other["uv_takes"] == content["uv_takes"]


@pytest.mark.parametrize(("driver", "sm"), [("12.8", "12.0"), ("11.8", "9.0"), ("13.0", "7.5")])
def test_a_null_variant_the_gpu_cannot_run_is_not_named(site: str, wheelmill: Command, driver: str, sm: str) -> None:
    forced = {"NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": driver, "NV_VARIANT_PROVIDER_FORCE_SM_ARCH": sm}
    target = ("--python-path", sys.executable, "--torch", "2.11", "--cuda", "12.8")
    place = ("--source", f"simple:{site}torch2.11/variants/simple/", "--no-cache")
    content = json.loads(wheelmill("explain", "--variants", "demo", *target, *place, "--json", **forced).stdout)
    (taken,) = (each for each in content["wheels"] if each["filename"] == content["uv_takes"])
    assert (taken["variant"], content["gets"], content["command"]) == ("null", None, None)
    assert [refusal["stage"] for refusal in taken["refusals"]] == ["gpu"]
    printed = wheelmill("explain", "--variants", "demo", *target, *place, **forced).stdout
    assert "this machine gets none of them" in printed
    assert f"uv takes {taken['filename']}" in printed


@pytest.mark.parametrize(("sm", "label"), [("9.0", "cu128"), ("12.0", "cu130")])
def test_a_gpu_gets_the_wheel_with_its_code(site: str, tmp_path: Path, sm: str, label: str) -> None:
    done = install(f"{site}variants/simple/", tmp_path, "split", driver="13.0", sm=sm)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "split" / "__init__.py").read_text() == f"label = {label!r}\n"


def test_without_the_preview_a_plain_tree_stays_and_one_of_variants_is_empty(site: str, tmp_path: Path) -> None:
    plain = install(f"{site}cu128/torch2.11/simple/", tmp_path / "a", "demo", driver="13.0", sm="9.0", preview=False)
    assert plain.returncode == 0, plain.stderr
    assert (tmp_path / "a" / "demo" / "__init__.py").read_text() == "label = 'cu128torch2.11'\n"
    none = install(f"{site}torch2.11/variants/simple/", tmp_path / "b", "demo", driver="13.0", sm="9.0", preview=False)
    assert none.returncode != 0


def test_no_other_page_knows_of_variants(python: Command, folder: Path) -> None:
    build(python, folder, "without")
    names = {path.relative_to(folder / "site") for path in (folder / "site").rglob("*")}
    others = {path.relative_to(folder / "without") for path in (folder / "without").rglob("*")}
    assert others < names
    assert {path.parts[0] for path in names - others} == {"variants", "torch2.11"}
    files = [path for path in others if (folder / "site" / path).is_file()]
    assert all((folder / "site" / path).read_bytes() == (folder / "without" / path).read_bytes() for path in files)


def test_index_check_finds_nothing(python: Command, site: str) -> None:
    for tree, pages, files in (
        ("variants", "1 of 1 project page", 4),
        ("torch2.11/variants", "2 of 2 project pages", 8),
    ):
        done = python("-m", "wheelmill", "index", "check", "--rate=1000", f"{site}{tree}/simple/", exit_code=0)
        assert f"{pages}, {files} of {files} files" in done.stderr


def test_variantlib_accepts_all_of_it(folder: Path) -> None:
    lists = sorted(folder.glob("site/variants/*/*-variants.json"))
    assert [path.name for path in lists] == ["demo-1.0+torch2.11-variants.json", "split-1.0-variants.json"]
    listed = {path.name.removesuffix("-variants.json"): VariantsJson(json.loads(path.read_bytes())) for path in lists}
    wheels = sorted(folder.glob("variants/*/*.whl"))
    assert len(wheels) == 6
    for wheel in wheels:
        stem, _, label = wheel.stem.rpartition("-")
        version = "-".join(stem.split("-")[:2])
        with zipfile.ZipFile(wheel) as archive:
            said = VariantDistInfo(archive.read(f"{version}.dist-info/variant.json"), label)
        assert said.variant_desc == listed[version].variants[label]


def test_every_variant_wheel_gives_its_plain_wheel_again(folder: Path, tmp_path: Path) -> None:
    for wheel in folder.glob("variants/*/*.whl"):
        plain = unmake_variant(wheel, tmp_path)
        assert plain.sha256 == sha256_of(folder / "wheels" / plain.filename)


def test_what_is_published_is_not_made_again(python: Command, folder: Path) -> None:
    assert make(python, folder) == "nothing to release: there is no unpublished wheel\n"


def test_variants_are_yanked_or_removed_with_their_wheel(python: Command, folder: Path, tmp_path: Path) -> None:
    for name in ("releases", "variants"):
        (tmp_path / name).symlink_to(folder / name)
    (tmp_path / "config").mkdir()
    yanked, removed = (f"split-1.0+{label}-{TAG}-{TAG}-linux_x86_64.whl" for label in ("cu128", "cu130"))
    (tmp_path / "config" / "yanked.yml").write_text(f'wheels: {{{yanked}: "it crashes"}}\n')
    (tmp_path / "config" / "removed.yml").write_text(f'wheels: {{{removed}: "its licence"}}\n')
    build(python, tmp_path, "site", "--variants", f"dir:{folder / 'variants'}=../variants")
    page = json.loads((tmp_path / "site" / "variants" / "simple" / "split" / "index.json").read_bytes())
    wheels = {file["filename"]: file.get("yanked") for file in page["files"] if file["filename"].endswith(".whl")}
    assert set(wheels.values()) == {"it crashes"}
    assert sorted(name.rpartition("-")[2].partition("_")[0] for name in wheels) == ["cu128", "null.whl"]


def test_a_store_of_variants_of_other_wheels_is_refused(python: Command, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "releases").symlink_to(folder / "releases")
    shutil.copytree(folder / "variants", tmp_path / "variants")
    for path in tmp_path.glob("variants/*/manifest.json"):
        manifest = json.loads(path.read_bytes())
        for wheel in manifest["wheels"]:
            if "-cu130_" in wheel["filename"]:
                wheel["certificate"]["evidence"]["sass"] = ["sm_70"]
            elif wheel["filename"].startswith("split"):
                wheel["plain"] = sha256_of(next(folder.glob("wheels/demo-*")))
        path.write_text(json.dumps(manifest))
    said = build(python, tmp_path, "site", "--variants", f"dir:{tmp_path / 'variants'}=../variants", exit_code=7)
    assert "-cu130_" in said
    assert "split-1.0" in said
    assert not (tmp_path / "site").exists()


def test_no_variants_where_cudas_differ_in_requirements(python: Command, folder: Path, tmp_path: Path) -> None:
    """uv would read what one of them requires for all."""
    for name in ("releases", "variants"):
        shutil.copytree(folder / name, tmp_path / name)
    for path in tmp_path.glob("*/*/manifest.json"):
        manifest = json.loads(path.read_bytes())
        for wheel in manifest["wheels"]:
            if wheel["filename"].startswith("split-") and "cu130" in wheel["filename"]:
                wheel["requires_dist"] = ["of-cuda-13"]
        path.write_text(json.dumps(manifest))
    said = build(python, tmp_path, "site", "--variants", f"dir:{tmp_path / 'variants'}=../variants")
    assert "warning: split 1.0 " in said
    assert not (tmp_path / "site" / "variants").joinpath("split").exists()
    assert (tmp_path / "site" / "torch2.11" / "variants" / "simple" / "demo" / "index.html").exists()


def test_show_reads_a_variant_wheel(python: Command, folder: Path, site: str) -> None:
    (wheel,) = folder.glob("variants/*/split-*-cu130_*.whl")
    url = f"{site.removesuffix('site/')}{wheel.relative_to(folder).as_posix()}"
    for place in (str(wheel), url):
        shown = python("-m", "wheelmill", "show", place, exit_code=0).stdout
        assert "nvidia :: cuda_version_lower_bound :: 13.0; nvidia :: sm_arch :: 120_real" in shown
    said = json.loads(python("-m", "wheelmill", "show", wheel, "--json", exit_code=0).stdout)
    assert [*said["variants"]] == [wheel.stem.rpartition("-")[2]]


def test_a_store_in_the_place_of_the_trees_is_not_written_over(python: Command, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "releases", tmp_path / "releases")
    build(python, tmp_path, "site")
    shutil.copytree(folder / "variants", tmp_path / "site" / "variants")
    store = f"dir:{tmp_path / 'site' / 'variants'}"
    said = build(python, tmp_path, "site", "--variants", store, exit_code=7)
    assert "variants" in said
    assert [*tmp_path.glob("site/variants/*/*.whl")]
