"""Putting a site into a folder that may hold another."""

import errno
import gzip
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest

from tests.files import modes_of, umask
from tests.kills import EACH_OF_SOME, killed_at_every_step
from tests.refusals import coded
from tests.unit.index.conftest import EVERY_KIND, Release, rendered
from wheelmill.errors import SiteError
from wheelmill.index import write
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.site.pages import site_pages
from wheelmill.index.write import Page, write_site

_, _, CUDA_128, NO_TORCH, UNLABELLED = EVERY_KIND

PAGES: list[Page] = [
    ("index.html", [b"ro", b"ot"]),
    ("simple/index.html", [b"list"]),
    ("simple/demo/index.html", [b"all wheels of demo"]),
    ("cu130/torch2.11/simple/demo/index.html", [b"demo"]),
    ("wheels.json", [b"{}"]),
]
WRITTEN = {path: b"".join(pieces) for path, pieces in PAGES}


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_pages_are_written_and_weighed(tmp_path: Path) -> None:
    size = write_site(PAGES, tmp_path / "site")
    assert files_in(tmp_path / "site") == WRITTEN
    assert (size.pages, size.bytes) == (5, 4 + 4 + 18 + 4 + 2)
    assert size.largest_detail == len(gzip.compress(b"demo"))
    assert str(size) == "5 pages, 32 bytes, at most 0.0 GB per million installs"


def test_a_site_without_narrow_trees_is_judged_by_its_widest(tmp_path: Path) -> None:
    assert write_site(PAGES[:3], tmp_path / "site").largest_detail == len(gzip.compress(b"all wheels of demo"))


def test_pages_that_did_not_change_keep_their_files(tmp_path: Path) -> None:
    write_site(PAGES, tmp_path / "site")
    before = {path: (tmp_path / "site" / path).stat() for path in WRITTEN}
    changed = {**WRITTEN, "wheels.json": b"{}\n", "simple/index.html": b"lost", "index.html": b"r"}
    write_site(({path: [content] for path, content in changed.items()} | {"new": [b"new"]}).items(), tmp_path / "site")
    assert files_in(tmp_path / "site") == {**changed, "new": b"new"}
    after = {path: (tmp_path / "site" / path).stat() for path in WRITTEN}
    same = {path for path in WRITTEN if (after[path].st_ino, after[path].st_mtime_ns) == _of(before[path])}
    assert same == {"simple/demo/index.html", "cu130/torch2.11/simple/demo/index.html"}
    assert all(found.st_nlink == 1 for found in after.values())
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def _of(found: os.stat_result) -> tuple[int, int]:
    return found.st_ino, found.st_mtime_ns


@pytest.mark.parametrize(
    "pieces",
    [[b"one", b"two"], [b"one", b"tw", b"o"], [b"one", b"twoo"], [b"one", b"xwo"], [b"o"], [], [b"onetwo", b""]],
)
def test_a_page_is_what_it_should_be_whatever_stood_there(tmp_path: Path, pieces: list[bytes]) -> None:
    write_site([("page", [b"one", b"two"]), *PAGES], tmp_path / "site")
    size = write_site([("page", pieces), *PAGES], tmp_path / "site")
    assert files_in(tmp_path / "site")["page"] == b"".join(pieces)
    assert size.bytes == sum(map(len, files_in(tmp_path / "site").values()))


def test_a_page_in_the_place_of_a_link_or_a_folder_is_written(tmp_path: Path) -> None:
    write_site(PAGES, tmp_path / "site")
    (tmp_path / "elsewhere").write_bytes(b"root")
    (tmp_path / "site" / "index.html").unlink()
    (tmp_path / "site" / "index.html").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "site" / "simple" / "index.html").unlink()
    (tmp_path / "site" / "simple" / "index.html").mkdir()
    write_site(PAGES, tmp_path / "site")
    assert files_in(tmp_path / "site") == WRITTEN
    assert not (tmp_path / "site" / "index.html").is_symlink()


def test_where_files_have_one_name_only_they_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(_source: Path, _destination: Path, *, follow_symlinks: bool) -> None:
        raise OSError(errno.EPERM, f"no second name, follow_symlinks={follow_symlinks}")

    write_site(PAGES, tmp_path / "site")
    monkeypatch.setattr(os, "link", cannot)
    write_site(PAGES, tmp_path / "site")
    assert files_in(tmp_path / "site") == WRITTEN


@pytest.mark.parametrize("mask", [0o002, 0o077])
def test_everybody_may_read_it_whatever_the_umask_is_or_was(tmp_path: Path, mask: int) -> None:
    site = tmp_path / "site"
    with umask(mask):
        for page, content in WRITTEN.items():  # an old site that only its owner may read
            (site / page).parent.mkdir(parents=True, exist_ok=True)
            (site / page).write_bytes(content)
        for _ in range(2):
            write_site(PAGES, site)
            assert modes_of(site, *(path for path in site.rglob("*") if path.is_dir())) == {0o755}
            assert modes_of(*(path for path in site.rglob("*") if path.is_file())) == {0o644}


def test_a_circle_of_links_in_the_place_of_a_site_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "site").symlink_to("site")
    with pytest.raises(SiteError, check=coded("site-not-writable", "site", "symbolic links")):
        write_site(PAGES, tmp_path / "site")


def test_a_name_that_no_folder_can_have_is_an_error_of_the_site(tmp_path: Path) -> None:
    with pytest.raises(SiteError, check=coded("site-not-writable", "aaa")):
        write_site(PAGES, tmp_path / ("a" * 300))


def test_the_old_site_stays_when_pages_cannot_be_made(tmp_path: Path) -> None:
    def breaking() -> Iterator[Page]:
        yield PAGES[0]
        raise KeyboardInterrupt

    write_site(PAGES, tmp_path / "site")
    with pytest.raises(KeyboardInterrupt):
        write_site(breaking(), tmp_path / "site")
    assert files_in(tmp_path) == {f"site/{path}": content for path, content in WRITTEN.items()}


def test_a_site_too_large_for_github_pages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "MAX_BYTES", 31)
    with pytest.raises(SiteError, check=coded("site-too-large", "31")):
        write_site(PAGES, tmp_path / "site", on_github_pages=True)
    assert list(tmp_path.iterdir()) == []
    write_site(PAGES, tmp_path / "site")
    monkeypatch.setattr(write, "MAX_BYTES", 32)
    write_site(PAGES, tmp_path / "site", on_github_pages=True)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SiteError, check=coded("site-not-writable", "/file/site")):
        write_site(PAGES, tmp_path / "file" / "site")


def test_nothing_is_left_beside_a_folder_that_cannot_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_first: Path, second: Path) -> bool:
        raise OSError(errno.EBUSY, "Device or resource busy", str(second))

    write_site(PAGES, tmp_path / "mounted")
    monkeypatch.setattr(write, "exchange", busy)
    with pytest.raises(SiteError, check=coded("site-not-writable", "/mounted")):
        write_site(PAGES, tmp_path / "mounted")
    assert files_in(tmp_path / "mounted") == WRITTEN
    assert [path.name for path in tmp_path.iterdir()] == ["mounted"]


@EACH_OF_SOME
@pytest.mark.parametrize("foreign", ["CNAME", "releases/v2026-11-21/x.whl"])
@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_kill_at_any_step_loses_neither_the_site_nor_what_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign: str, *, in_one_step: bool, stride: int
) -> None:
    if not in_one_step:
        monkeypatch.setattr(write, "exchange", lambda _first, _second: False)
    old: list[Page] = [("index.html", [b"old"]), ("simple/index.html", [b"old"]), ("wheels.json", [b"{}"])]
    new: list[Page] = [("index.html", [b"new"]), ("simple/index.html", [b"new"]), ("wheels.json", [b"{}"])]
    states = [{foreign: b"", **{path: b"".join(pieces) for path, pieces in pages}} for pages in (old, new)]

    def prepare(folder: Path) -> None:
        write_site(old, folder / "site")
        (folder / "site" / foreign).parent.mkdir(parents=True, exist_ok=True)
        (folder / "site" / foreign).touch()

    for folder in killed_at_every_step(tmp_path, prepare, lambda folder: write_site(new, folder / "site"), stride):
        left = files_in(folder / "site")
        if in_one_step and foreign == "CNAME":
            assert left in states
        if "/" in foreign:  # others may be writing to that folder: it never moves
            assert foreign in left
        write_site(old, folder / "site")
        assert files_in(folder) == {f"site/{path}": content for path, content in states[0].items()}


def test_a_site_with_more_wheels_is_the_same_beside_an_old_one_and_alone(release: Release, tmp_path: Path) -> None:
    def write(names: Sequence[str], store: str, folder: str) -> dict[str, bytes]:
        site = site_of_releases(release(*names, store=store), "")
        write_site(chain(pages_of(site), site_pages(site)), tmp_path / folder)
        return files_in(tmp_path / folder)

    fewer = write(EVERY_KIND[:2], "fewer", "site")
    more = write(EVERY_KIND, "more", "site")
    assert more == write(EVERY_KIND, "same", "alone")
    assert 10 < sum(fewer[path] == more[path] for path in fewer) < len(fewer)


def test_pages_of_what_is_gone_are_removed(release: Release, tmp_path: Path) -> None:
    write_site(pages_of(site_of_releases(release(*EVERY_KIND, store="old"), "")), tmp_path / "site")
    site = site_of_releases(release(CUDA_128, store="new"), "")
    write_site(pages_of(site), tmp_path / "site")
    assert files_in(tmp_path / "site") == rendered(site)


def test_aliases_that_an_entry_no_longer_has_are_removed(tmp_path: Path) -> None:
    alias = "aliases/demo-cu13/demo_cu13-1.0+cu130torch2.11-py3-none-any.whl"
    write_site([*PAGES, (alias, [b""])], tmp_path / "site")
    write_site(PAGES, tmp_path / "site")
    assert not (tmp_path / "site" / "aliases").exists()


def test_no_empty_folder_is_left_of_what_is_gone(release: Release, tmp_path: Path) -> None:
    write_site(pages_of(site_of_releases(release(NO_TORCH), "")), tmp_path / "site")
    write_site(pages_of(site_of_releases([], "")), tmp_path / "site")
    assert {path.name for path in (tmp_path / "site").iterdir() if path.is_dir()} == {"simple"}
    assert not (tmp_path / "site" / "simple" / "plain-cuda").exists()


def test_what_stands_beside_a_site_is_kept(release: Release, tmp_path: Path) -> None:
    foreign = {"CNAME", "docs/index.html", "releases/v2026-11-21/x.whl", "mirror/simple/index.html", "custom/a"}
    foreign |= {"aliases/bash"}
    for path in foreign:
        (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / path).touch()
    write_site(pages_of(site_of_releases(release(UNLABELLED, store="old"), "")), tmp_path / "site")
    site = site_of_releases([], "")
    write_site(pages_of(site), tmp_path / "site")
    assert set(files_in(tmp_path / "site")) == foreign | set(rendered(site))


def test_documents_take_the_place_of_older_ones_and_outlive_a_site_without_them(tmp_path: Path) -> None:
    def documents(name: str) -> Page:
        return f"docs/{name}", [b""]

    write_site([*PAGES, documents("objects.inv"), documents("old.html")], tmp_path / "site")
    write_site([*PAGES, documents("objects.inv"), documents("new.html")], tmp_path / "site")
    both = WRITTEN | {"docs/objects.inv": b"", "docs/new.html": b""}
    assert files_in(tmp_path / "site") == both
    write_site(PAGES, tmp_path / "site")
    assert files_in(tmp_path / "site") == both


def test_documents_of_others_are_not_written_over(tmp_path: Path) -> None:
    write_site(PAGES, tmp_path / "site")
    (tmp_path / "site" / "docs").mkdir()
    (tmp_path / "site" / "docs" / "own.md").touch()
    with pytest.raises(SiteError, check=coded("site-would-replace", "site/docs")):
        write_site([*PAGES, ("docs/objects.inv", [b""])], tmp_path / "site")
    assert files_in(tmp_path / "site") == WRITTEN | {"docs/own.md": b""}


def test_a_folder_that_is_no_site_keeps_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "README.md").touch()
    with pytest.raises(SiteError, check=coded("site-would-replace", "packages")):
        write_site(PAGES, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"packages", "README.md"}


def test_a_link_to_a_folder_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "site").symlink_to(tmp_path / "real")
    write_site(PAGES, tmp_path / "site")
    assert (tmp_path / "site").is_symlink()
    assert files_in(tmp_path / "real") == WRITTEN
