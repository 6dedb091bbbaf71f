"""Putting a site into a folder that may hold another."""

from pathlib import Path

from tests.unit.index.conftest import EVERY_KIND, Release
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.write import write_site

_, _, CUDA_128, NO_TORCH, UNLABELLED = EVERY_KIND


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_pages_are_written_whole(tmp_path: Path) -> None:
    pages = {"index.html": b"root", "simple/index.html": b"list", "simple/demo/index.html": b"demo"}
    write_site(pages, tmp_path)
    assert {path: (tmp_path / path).read_bytes() for path in files_in(tmp_path)} == pages


def test_pages_of_what_is_gone_are_removed(release: Release, tmp_path: Path) -> None:
    write_site(pages_of(site_of_releases(release(*EVERY_KIND, store="old"), "")), tmp_path / "site")
    pages = pages_of(site_of_releases(release(CUDA_128, store="new"), ""))
    write_site(pages, tmp_path / "site")
    assert files_in(tmp_path / "site") == set(pages)


def test_no_empty_folder_is_left_of_what_is_gone(release: Release, tmp_path: Path) -> None:
    write_site(pages_of(site_of_releases(release(NO_TORCH), "")), tmp_path / "site")
    write_site(pages_of(site_of_releases([], "")), tmp_path / "site")
    assert not (tmp_path / "site" / "simple" / "plain-cuda").exists()
    assert not (tmp_path / "site" / "cu130" / "simple").exists()


def test_foreign_files_are_kept(release: Release, tmp_path: Path) -> None:
    foreign = {"CNAME", "simple/robots.txt", "simple/unlabelled/notes.txt", "docs/index.html"}
    for path in foreign:
        (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / path).touch()
    write_site(pages_of(site_of_releases(release(UNLABELLED, store="old"), "")), tmp_path / "site")
    pages = pages_of(site_of_releases([], ""))
    write_site(pages, tmp_path / "site")
    assert files_in(tmp_path / "site") == foreign | set(pages)


def test_another_site_below_is_kept(tmp_path: Path) -> None:
    pages = pages_of(site_of_releases([], ""))
    write_site(pages, tmp_path / "mirror")
    write_site(pages, tmp_path)
    assert files_in(tmp_path / "mirror") == set(pages)
