"""Which published wheels become which variants."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.github_server import GitHub, serving
from tests.refusals import coded
from tests.releases import NO_CODE, store_in
from tests.shared_objects import shared_object
from tests.unit.release.conftest import NOW
from tests.unit.release.github.conftest import FakeClock, store_on
from tests.wheels import packed_wheel, write_wheel
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.pipeline import variants
from wheelmill.pipeline.variants import publish_variants
from wheelmill.release.ledger.releases import published
from wheelmill.release.publish import publish
from wheelmill.release.store import Publication
from wheelmill.smoke.verdict import Certificate, TestedWheel
from wheelmill.system.progress import QUIET
from wheelmill.wheel.name import WheelFile

TAGS = "cp311-cp311-manylinux_2_28_x86_64"
Write = Callable[..., Path]


def wheel(folder: Path, name: str, *sass: str, write: Write = packed_wheel) -> TestedWheel:
    """A wheel of a name such as ``1.0+cu130``, which may have a build number, with code for some GPUs."""
    version = name.partition("-")[0]
    torch = version.partition("torch")[2]
    pin = torch if "rc" in torch else f"{torch}.*"
    requires = f"Requires-Dist: torch=={pin}\n" if torch else ""
    path = write(
        folder / "wheels" / f"demo-{name}-{TAGS}.whl",
        metadata=f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n{requires}",
        files={"demo/_C.so": shared_object(sm=90)},
    )
    file = WheelFile.at(path)
    evidence = replace(NO_CODE, cuda_major=13, sass=sass)
    certificate = Certificate(sha256=file.sha256, evidence=evidence, clean_rooms=(), provenance=None)
    return TestedWheel(file=file, certificate=certificate)


def made(folder: Path, *wheels: TestedWheel, project: str = "demo") -> tuple[list[str], Publication, list[str]]:
    """The variant wheels of some wheels by their plain names, what was published now, and what was warned of."""
    releases, to = (store_in(folder / name) for name in ("releases", "variants"))
    for each in wheels:
        publish(releases, [each], now=NOW)
    said: list[str] = []
    done = publish_variants(releases, to, {ProjectName(project)}, progress=QUIET, warn=said.append)
    names = (name.removesuffix(".whl").split(f"-{TAGS}-") for name in published(to, said.append).published)
    return sorted(f"{name} {label.partition('_')[0]}" for name, label in names), done, said


def test_the_oldest_cuda_is_the_null_variant_of_its_version_too(tmp_path: Path) -> None:
    names = ("1.0+cu130", "1.0+cu128", "1.0+cu130torch2.11", "2.0+cu126torch2.11", "2.0+cu130torch2.12")
    found, _, said = made(tmp_path, *(wheel(tmp_path, name) for name in names))
    assert found == [
        *("demo-1.0 cu128", "demo-1.0 cu130", "demo-1.0 null", "demo-1.0+torch2.11 cu130", "demo-1.0+torch2.11 null"),
        *("demo-2.0+torch2.11 cu126", "demo-2.0+torch2.11 null", "demo-2.0+torch2.12 cu130"),
        "demo-2.0+torch2.12 null",
    ]
    assert said == []


def test_wheels_made_at_once_share_a_release_up_to_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, done, _ = made(tmp_path, *(wheel(tmp_path, name) for name in ("1.0+cu126", "1.0+cu128", "1.0+cu130")))
    assert [len(release.wheels) for release in done.releases] == [4]

    monkeypatch.setattr(variants, "_TOGETHER", 3)
    wheels = [wheel(tmp_path, f"2.0+cu{cuda}") for cuda in (128, 130, 131)]
    _, done, _ = made(tmp_path, *wheels)
    assert [len(release.wheels) for release in done.releases] == [3, 1]


def test_the_newest_build_is_taken_and_candidates_and_foreign_labels_are_not(tmp_path: Path) -> None:
    names = ("1.0+cu130", "1.0+cu130-2", "1.0+cu130-10", "1.0", "1.0+cu12", "1.0+cu.13.0", "1.0+cu130torch2.16rc1")
    found, _, _ = made(tmp_path, *(wheel(tmp_path, name) for name in names))
    assert found == ["demo-1.0-10 cu130", "demo-1.0-10 null"]


def test_only_wanted_projects_have_variants(tmp_path: Path) -> None:
    assert made(tmp_path, wheel(tmp_path, "1.0+cu130"), project="other")[0] == []


def test_a_wheel_that_no_words_describe_is_told_and_is_the_null_variant_alone(tmp_path: Path) -> None:
    found, _, said = made(tmp_path, wheel(tmp_path, "1.0+cu130", "sm_100a"))
    assert found == ["demo-1.0 null"]
    assert said == [
        f"demo-1.0+cu130-{TAGS}.whl gets no variant of its own: no label can say which GPUs its code is for"
    ]


def test_a_wheel_of_another_packer_is_refused_and_holds_up_no_other(tmp_path: Path) -> None:
    foreign = wheel(tmp_path, "1.0+cu130", write=write_wheel)
    found, done, _ = made(tmp_path, foreign, wheel(tmp_path, "1.0+cu128"))
    assert found == ["demo-1.0 cu128", "demo-1.0 null"]
    (refused,) = done.refusals
    assert str(refused).startswith(f"demo-1.0+cu130-{TAGS}.whl becomes no variant: ")


def test_what_is_there_is_not_made_again_and_what_is_new_is(tmp_path: Path) -> None:
    _, first, _ = made(tmp_path, wheel(tmp_path, "1.0+cu130"))
    assert [len(release.wheels) for release in first.releases] == [2]
    _, again, _ = made(tmp_path)
    assert again.releases == ()
    found, more, _ = made(tmp_path, wheel(tmp_path, "1.0+cu128"))
    assert [len(release.wheels) for release in more.releases] == [1]  # the null variant stays what it was
    assert found == ["demo-1.0 cu128", "demo-1.0 cu130", "demo-1.0 null"]


def test_a_changed_wheel_becomes_no_variant(tmp_path: Path) -> None:
    publish(store_in(tmp_path / "releases"), [wheel(tmp_path, "1.0+cu130")], now=NOW)
    (path,) = tmp_path.glob("releases/*/*.whl")
    path.write_bytes(b"other")
    found, done, _ = made(tmp_path)
    assert found == []
    assert "its manifest says" in str(done.refusals)


def test_github_keeps_them_like_other_wheels(tmp_path: Path) -> None:
    clock = FakeClock()
    releases = store_in(tmp_path / "releases")
    publish(releases, [wheel(tmp_path, "1.0+cu130")], now=NOW)
    with serving(GitHub(now=clock.now)) as github:
        to = store_on(github, clock)
        done = publish_variants(releases, to, {ProjectName("demo")}, progress=QUIET, warn=print)
        (release,) = done.releases
        assert not done.refusals
        names = to.assets()[release.tag]
    assert len(release.wheels) == 2
    assert all(name in names for each in release.wheels for name in (each.filename, f"{each.filename}.metadata"))


def test_a_manifest_that_says_what_cannot_be_is_told(tmp_path: Path) -> None:
    publish(store_in(tmp_path / "releases"), [wheel(tmp_path, "1.0+cu130", "sm_90")], now=NOW)
    (manifest,) = tmp_path.glob("releases/*/manifest.json")
    manifest.write_text(manifest.read_text().replace('"sm_90"', '"sm_x"'))
    found, _, said = made(tmp_path)
    assert found == []
    assert f"demo-1.0+cu130-{TAGS}.whl: certificate.evidence.sass" in said[-1]


def test_a_store_of_plain_wheels_gets_none(tmp_path: Path) -> None:
    releases, link = tmp_path / "releases", tmp_path / "variants"
    publish(store_in(releases), [wheel(tmp_path, "1.0+cu130", "sm_90")], now=NOW)
    link.symlink_to(releases)
    before = sorted(releases.rglob("*"))
    with pytest.raises(UsageError, check=coded("store-of-another", "demo-1.0+cu130-", ".whl", TAGS)):
        made(tmp_path)
    assert sorted(releases.rglob("*")) == before
