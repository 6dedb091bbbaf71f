"""The page of a release: names and texts of wheels are shown as they are, and never as markup."""

from dataclasses import replace
from pathlib import Path

from msgspec import structs

from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.names import ReleaseTag
from wheelmill.release.github.api import Repository
from wheelmill.release.github.drafts import body_of, title_of
from wheelmill.release.github.store import MAX_WHEELS
from wheelmill.release.manifest.record import Manifest, entry_of, manifest_of

REPOSITORY = Repository(full_name="octo/wheels")
TAG = ReleaseTag("v2026-11-21")


def manifest(folder: Path, *names: str, sass: str = "sm_90") -> Manifest:
    made = manifest_of(TAG, [entry_of(certified_wheel(folder / name)) for name in names], now=NOW)
    (entry, *others) = made.wheels
    evidence = replace(entry.certificate.evidence, sass=(sass,), ptx=("compute_120",))
    proven = structs.replace(entry, certificate=replace(entry.certificate, evidence=evidence))
    return structs.replace(made, wheels=(proven, *others))


def test_a_title_names_a_few_projects(tmp_path: Path) -> None:
    names = [f"{letter}-1.0+cu130torch2.{n}-py3-none-any.whl" for letter in "abcde" for n in (10, 11)]
    assert title_of(manifest(tmp_path, *names)) == "v2026-11-21: a 1.0, b 1.0, c 1.0 and 2 more"


def test_a_wheel_is_a_row_and_the_first_one_an_example(tmp_path: Path) -> None:
    name = "demo_x-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl"
    made = manifest(tmp_path, name)
    lines = body_of(made, REPOSITORY).splitlines()
    assert (
        "pip install https://github.com/octo/wheels/releases/download/v2026-11-21/demo_x-1.0%2Bcu130torch2.11-cp312-"
        "cp312-manylinux_2_28_x86_64.whl" in lines
    )
    sha256 = made.wheels[0].sha256
    assert f"| `{name}` | `13.0` | `2.11` | `sm_90 compute_120` | 0.0 | `{sha256}` |" in lines


def test_a_row_names_the_torches_that_one_wheel_is_for(tmp_path: Path) -> None:
    made = manifest(tmp_path, "demo-1.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl")
    (entry,) = made.wheels
    ranged = structs.replace(entry, requires_dist=("torch<2.16,>=2.10",))
    rows = body_of(structs.replace(made, wheels=(ranged,)), REPOSITORY)
    assert "| `13.0` | `>=2.10,<2.16` |" in rows


def test_nothing_of_a_wheel_is_markup(tmp_path: Path) -> None:
    body = body_of(manifest(tmp_path, "demo-1.0-py3-none-any.whl", sass="`| <script>\n# [x](y) @octo"), REPOSITORY)
    (row,) = (line for line in body.splitlines() if line.startswith("| `demo"))
    assert r"`'\| <script> # [x](y) @octo compute_120`" in row


def test_the_longest_body_fits(tmp_path: Path) -> None:
    name = (
        "{:a<150}-1.0+cu130torch2.11-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.manylinux_2_28_x86_64.whl"
    )
    one = manifest(tmp_path, name.format("x"), sass=" ".join(f"sm_{number}a" for number in range(75, 125, 5)))
    assert len(body_of(structs.replace(one, wheels=one.wheels * MAX_WHEELS), REPOSITORY)) < 125_000
