"""Putting the source of a build in place, and patching it."""

import difflib
import hashlib
import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.git_repositories import Commit, Repository, git, repository
from tests.programs import needs
from tests.refusals import coded
from tests.unit.build.conftest import TARGET, package_in, target_of
from wheelmill.build.provenance import identity_of, inputs_of
from wheelmill.build.source import apply_patches, fetch_source, sha256_of_tree
from wheelmill.config.model.files import LockedCommit, LockedSdist
from wheelmill.config.model.package_parts import GitSource
from wheelmill.errors import BuildError, ProcessError
from wheelmill.names import Sha256
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import process
from wheelmill.system.git import use_clones


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small project."""
    folder = tmp_path / "project"
    (folder / "demo").mkdir(parents=True)
    (folder / "setup.py").write_text("setup()")
    (folder / "demo" / "__init__.py").write_text("")
    return folder


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_copied_without_what_earlier_builds_left(folder: Path, tmp_path: Path) -> None:
    (folder / "demo" / "dist").mkdir()
    (folder / "demo" / "dist" / "__init__.py").touch()  # a part of the package, no output
    source_files = files_of(folder)
    for leftover in ("build/lib/a.py", "dist/a.whl", "demo.egg-info/PKG-INFO", "demo/__pycache__/a.pyc"):
        (folder / leftover).parent.mkdir(parents=True, exist_ok=True)
        (folder / leftover).touch()
    copy, _sha256 = fetch_source(target_of(folder), tmp_path / "copy")
    assert copy == tmp_path / "copy" / "demo-1.0"
    assert files_of(copy) == source_files


def test_equal_folders_have_equal_hashes(folder: Path, tmp_path: Path) -> None:
    copy, sha256 = fetch_source(target_of(folder), tmp_path / "first")
    _second, again = fetch_source(target_of(copy), tmp_path / "second")
    assert again == sha256


@pytest.mark.parametrize("name", ["setup.cfg", "demo"])
def test_a_link_made_later(name: str, folder: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    target = target_of(folder)
    key = tmp_path_factory.mktemp("home") / "id_ed25519"
    key.write_text("PRIVATE KEY")
    (folder / "demo" / "__init__.py").unlink()
    (folder / "demo").rmdir()
    (folder / name).symlink_to(key if name == "setup.cfg" else key.parent)
    with pytest.raises(BuildError, check=coded("source-unreadable", "demo: 'project/", name)):
        fetch_source(target, tmp_path / "copy")
    with pytest.raises(BuildError, check=coded("source-unreadable")):
        apply_patches(package_in(tmp_path, folder / name), folder, log=tmp_path / "log")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("change", ["content", "name", "more"])
def test_a_changed_folder_has_another_hash(change: str, folder: Path, tmp_path: Path) -> None:
    _first, sha256 = fetch_source(target_of(folder), tmp_path / "first")
    match change:
        case "content":
            (folder / "setup.py").write_text("setup(1)")
        case "name":
            (folder / "setup.py").rename(folder / "setup.cfg")
        case _:
            (folder / "demo" / "more.py").touch()
    _second, other = fetch_source(target_of(folder), tmp_path / "second")
    assert other != sha256


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of source distributions; the package index behind it does not answer."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    return tmp_path / "cache" / "wheelmill" / "sdists"


def tar_of(*members: tarfile.TarInfo) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member)
    return content.getvalue()


SETUP = tarfile.TarInfo("demo-1.0/setup.py")


def cached(cache: Path, content: bytes) -> BuildTarget:
    """A target whose locked source distribution is in the cache with this content."""
    sha256 = Sha256(hashlib.sha256(content).hexdigest())
    path = cache / sha256 / "demo-1.0.tar.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return replace(TARGET, source=LockedSdist(sdist=path.name, sha256=sha256))


def test_a_source_distribution_in_the_cache_is_unpacked(cache: Path, tmp_path: Path) -> None:
    content = tar_of(SETUP)
    source, sha256 = fetch_source(cached(cache, content), tmp_path / "source")
    assert files_of(source) == {"setup.py"}
    assert sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("locked", "on_disk"),
    [(b"PK", b"PK"), (tar_of(SETUP), tar_of(tarfile.TarInfo("demo-1.0/other.py"))), (tar_of(SETUP), None)],
    ids=["no archive", "other bytes", "nowhere"],
)
def test_another_sdist_than_the_locked_one(locked: bytes, on_disk: bytes | None, cache: Path, tmp_path: Path) -> None:
    target = cached(cache, locked)
    (path,) = cache.glob("*/*")
    path.unlink() if on_disk is None else path.write_bytes(on_disk)
    with pytest.raises(BuildError, check=coded("source-changed")):
        fetch_source(target, tmp_path / "source")


def test_no_lock_is_a_build_error_that_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("not-locked", "demo 1.0", "wheelmill config lock demo")):
        fetch_source(replace(TARGET, source=None), tmp_path / "source")


def test_of_a_checkout_only_what_git_knows_is_copied_and_counts(tmp_path: Path) -> None:
    """Nobody wants the environment, or the wheels of the last build, that lie in it."""
    files = {".gitignore": "out/\n", "setup.py": "setup()", "demo/__init__.py": ""}
    checkout = repository(Commit(files, links={"same.py": "setup.py"}), checkout=True).copy(tmp_path / "project")
    library = repository(Commit({"library.h": "int one;"}), name="library")
    git("-C", checkout, "submodule", "--quiet", "add", library.path.as_uri(), "third_party")
    (checkout / "new.py").touch()
    _, before = fetch_source(target_of(checkout), tmp_path / "before")
    (checkout / "out").mkdir()
    (checkout / "out" / "demo.whl").touch()
    copy, after = fetch_source(target_of(checkout), tmp_path / "after")
    assert files_of(copy) == {*files, ".gitmodules", "new.py", "same.py", "third_party/library.h"}
    assert before == after == sha256_of_tree(copy)


def test_files_of_a_checkout_are_copied_whatever_their_names(tmp_path: Path) -> None:
    checkout = repository(Commit({"setup.py": ""}), checkout=True).copy(tmp_path / "project")
    with (checkout / ".git" / "config").open("a") as settings:
        settings.write("[core]\n\tquotePath = false\n")
    tracked = [b"caf\xe9.h", b"caf\xc3\xa9.h", b'a "b" \\ \t\r\n.h', b'".h', b" .h"]
    new = [name + b"pp" for name in tracked]
    for name in tracked:
        (checkout / os.fsdecode(name)).write_text("int one;")
    git("-C", checkout, "add", ".")
    for name in new:
        (checkout / os.fsdecode(name)).write_text("int two;")
    copy, sha256 = fetch_source(target_of(checkout), tmp_path / "copy")
    contents = {os.fsencode(path.name): path.read_text() for path in copy.iterdir()}
    assert contents == {b"setup.py": "", **dict.fromkeys(tracked, "int one;"), **dict.fromkeys(new, "int two;")}
    assert sha256 == sha256_of_tree(copy)


def at(
    place: Repository | str, commit: str | None = None, *, submodules: bool = False, subdirectory: str | None = None
) -> BuildTarget:
    """A target whose source is a commit of a repository, the first one if none is named, or of one at an address."""
    if isinstance(place, Repository):
        commit = commit or place.commits[0]
    address = place.path.as_uri() if isinstance(place, Repository) else place
    source = GitSource(git=address, ref="v1.0", submodules=submodules, subdirectory=subdirectory)
    return replace(TARGET, source=LockedCommit(**vars(source), commit=commit or ""))


@pytest.fixture
def upstream() -> Repository:
    """A repository of two commits; a submodule of the first has a submodule too."""
    inner = repository(Commit({"inner.h": ""}), name="inner")
    middle = repository(Commit({"middle.h": ""}, submodules={"third_party": inner}), name="middle")
    first = Commit({"setup.py": "first"}, submodules={"third_party": middle})
    return repository(first, Commit({"setup.py": "second", "new.py": ""}))


def test_exactly_the_locked_commit_is_fetched_without_anything_of_git(upstream: Repository, tmp_path: Path) -> None:
    source, sha256 = fetch_source(at(upstream), tmp_path / "source")
    assert source == tmp_path / "source" / "demo-1.0"
    assert files_of(source) == {"setup.py", ".gitmodules"}
    assert (source / "setup.py").read_text() == "first"
    whole, other = fetch_source(at(upstream, submodules=True), tmp_path / "with its submodules")
    assert files_of(whole) == files_of(source) | {
        *("third_party/middle.h", "third_party/.gitmodules", "third_party/third_party/inner.h")
    }
    assert list(whole.rglob(".git")) == []
    assert other != sha256


def fan(width: int, depth: int) -> Repository:
    """A repository whose submodules have submodules: few commits, many checkouts."""
    made = repository(Commit({"leaf": ""}), name="leaf")
    for _ in range(depth):
        modules = {f"s{number}": made for number in range(width)}
        made = repository(Commit({"setup.py": ""}, submodules=modules), name="fan")
    return made


def fetches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Commands of git that fetch, as they are run."""
    run, seen = process.run, list[str]()

    def watched(argv: Any, **options: Any) -> str:
        seen.extend(word for word in argv if word == "fetch")
        return run(argv, **options)

    monkeypatch.setattr(process, "run", watched)
    return seen


@pytest.mark.parametrize(("width", "depth"), [(3, 3), (16, 1), (1, 16)])
def test_a_fan_of_submodules(width: int, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.system.git.MAX_SUBMODULES", 12)
    seen = fetches(monkeypatch)
    with pytest.raises(BuildError, check=coded("source-too-large", "fan", "more than 12 submodules")):
        fetch_source(at(fan(width, depth), submodules=True), tmp_path)
    assert len(seen) <= 14


def test_as_many_submodules_as_a_source_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.system.git.MAX_SUBMODULES", 12)
    source, _ = fetch_source(at(fan(3, 2), submodules=True), tmp_path)
    assert len(list(source.rglob("leaf"))) == 9


def test_a_submodule_that_is_small_until_it_is_checked_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = repository(Commit({f"zeros{number}": "0" * 1_000_000 for number in range(3)}), name="bomb")
    upstream = repository(Commit({"setup.py": ""}, submodules={"third_party": bomb}))
    monkeypatch.setattr("wheelmill.system.git.MAX_CHECKOUT", 2_999_999)
    with pytest.raises(BuildError, check=coded("source-too-large", "bomb")):
        fetch_source(at(upstream, submodules=True), tmp_path / "refused")
    assert not list(tmp_path.rglob("zeros*"))
    monkeypatch.setattr("wheelmill.system.git.MAX_CHECKOUT", 3_001_000)  # and .gitmodules
    fetch_source(at(upstream, submodules=True), tmp_path / "taken")


def test_all_of_a_repository_is_the_source_of_what_lies_in_a_folder_of_it(tmp_path: Path) -> None:
    upstream = repository(Commit({"README.md": "", "python/setup.py": ""}, links={"bindings": "python"}))
    for subdirectory in ("python", "bindings"):
        target = at(upstream, subdirectory=subdirectory)
        source, sha256 = fetch_source(target, tmp_path / subdirectory)
        assert files_of(source) == {"README.md", "python/setup.py"}
        assert (source / target.subdirectory / "setup.py").exists()
        assert sha256 == sha256_of_tree(source)
    with pytest.raises(BuildError, check=coded("subdirectory-invalid", "'.git'")):
        fetch_source(at(upstream, subdirectory=".git"), tmp_path / "of git")


@pytest.mark.parametrize(
    "name", ["no/such", "setup.py", "n" * 999, "circle", "root", "root/etc", "above"], ids=lambda text: text[:9]
)
def test_a_missing_subdirectory_is_named_by_its_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch_commit(_url: str, _commit: str, folder: Path, **_: object) -> None:
        folder.mkdir(parents=True)
        (folder / "setup.py").touch()
        for link, goal in (("root", "/"), ("above", ".."), ("circle", "circle")):
            (folder / link).symlink_to(goal)

    monkeypatch.setattr("wheelmill.build.source.fetch_commit", fetch_commit)
    with pytest.raises(BuildError, check=coded("subdirectory-invalid", "source.subdirectory")):
        fetch_source(at("https://git.example/demo", subdirectory=name), tmp_path / "source")


def test_a_plain_server_gives_everything(upstream: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, refused = process.run, []

    def refuse_single_commits(argv: list[str], **options: Any) -> str:
        if "--depth=1" in argv:
            refused.append(argv)
            raise ProcessError("program-failed", "not our ref", returncode=128, tail="not our ref")
        return run(argv, **options)

    monkeypatch.setattr(process, "run", refuse_single_commits)
    source, _sha256 = fetch_source(at(upstream), tmp_path / "source")
    assert (source / "setup.py").read_text() == "first"
    assert refused


SERVER = "https://127.0.0.1:9/"
"""It does not exist."""


def test_a_clone_gives_the_same_source_as_the_repository(upstream: Repository, tmp_path: Path) -> None:
    target = at(f"{SERVER}upstream.git", upstream.commits[0])
    before = identity_of(inputs_of(target))
    with use_clones({f"{SERVER}upstream": upstream.path, f"{SERVER}up": tmp_path}) as unused:
        _source, sha256 = fetch_source(target, tmp_path / "source")
        assert unused == {f"{SERVER}up"}
        assert identity_of(inputs_of(target)) == before
    assert sha256 == fetch_source(at(upstream), tmp_path / "without")[1]
    with pytest.raises(BuildError, check=coded("source-unavailable")):
        fetch_source(target, tmp_path / "afterwards")


def with_submodule(goal: Repository, address: str) -> Repository:
    """A checkout that has a repository as its submodule, by this address."""
    modules = f'[submodule "third_party"]\n\tpath = third_party\n\turl = {address}\n'
    commit = Commit({"setup.py": "", ".gitmodules": modules}, submodules={"third_party": goal})
    return repository(commit, checkout=True)


@pytest.mark.parametrize("address", ["../middle.git", f"{SERVER}middle"])
def test_submodules_are_taken_from_clones_too(address: str, tmp_path: Path) -> None:
    middle = repository(Commit({"middle.h": ""}), name="middle")
    upstream = with_submodule(middle, address)
    with use_clones({f"{SERVER}upstream.git": upstream.path, f"{SERVER}middle.git": middle.path}) as unused:
        target = at(f"{SERVER}upstream.git", upstream.commits[0], submodules=True)
        source, _ = fetch_source(target, tmp_path / "source")
        assert unused == set()
    assert files_of(source) == {".gitmodules", "setup.py", "third_party/middle.h"}


@pytest.mark.parametrize("form", ["path", "address"])
def test_a_repository_on_a_server_names_no_folder_of_this_machine_as_its_submodule(form: str, tmp_path: Path) -> None:
    private = repository(Commit({"key": "PRIVATE KEY"}), name="private")
    upstream = with_submodule(private, str(private.path) if form == "path" else private.path.as_uri())
    with (
        use_clones({f"{SERVER}upstream": upstream.path}),
        pytest.raises(BuildError, check=coded("source-unavailable", "transport 'file' not allowed")),
    ):
        fetch_source(at(f"{SERVER}upstream.git", upstream.commits[0], submodules=True), tmp_path / "source")
    assert not (tmp_path / "source" / "demo-1.0" / "third_party" / "key").exists()


def test_a_commit_that_is_not_there_is_a_build_error(upstream: Repository, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("source-unavailable", "(v1.0)")):
        fetch_source(at(upstream, "0" * 40), tmp_path / "source")
    with (
        use_clones({f"{SERVER}upstream": upstream.path}),
        pytest.raises(BuildError, check=coded("source-unavailable", upstream.path)),
    ):
        fetch_source(at(f"{SERVER}upstream", "0" * 40), tmp_path / "of a clone")


def test_local_settings_and_hooks_leave_the_source_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = tmp_path / "home" / "hooks" / "post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    (tmp_path / "home" / ".gitconfig").write_text(f"[core]\nautocrlf = true\nhooksPath = {hook.parent}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    source, _sha256 = fetch_source(at(repository(Commit({"setup.py": "a\nb\n"}))), tmp_path / "source")
    assert (source / "setup.py").read_bytes() == b"a\nb\n"
    assert not (source / "hooked").exists()


def test_nothing_but_https_and_files_is_fetched(upstream: Repository, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("source-unavailable", "transport 'ext' not allowed")):
        fetch_source(at(f"ext::git-upload-pack {upstream.path}", upstream.commits[0]), tmp_path / "source")


def test_a_name_that_is_not_utf_8_is_hashed_as_it_is(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.h")).touch()
    assert sha256_of_tree(tmp_path) == hashlib.sha256(b"caf\xe9.h\x000\x00").hexdigest()


def test_a_link_is_hashed_by_where_it_leads(tmp_path: Path) -> None:
    hashes: set[str] = set()
    for goal in ("setup.py", "/dev/zero", "nowhere"):
        folder = tmp_path / str(len(hashes))
        folder.mkdir()
        (folder / "setup.py").write_text("setup()")
        (folder / "link").symlink_to(goal)
        hashes.add(sha256_of_tree(folder))
    assert len(hashes) == 3


@pytest.fixture
def patched(tmp_path: Path) -> Path:
    """A source whose one file says which patches it has."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "setup.py").write_text("none\n")
    return tmp_path / "demo"


def patch(path: Path, before: str, after: str) -> Path:
    """A patch as git writes it, from one content of setup.py to another."""
    lines = difflib.unified_diff([before], [after], "a/setup.py", "b/setup.py")
    path.write_text("".join(lines))
    return path


@needs("patch")
def test_patches_are_applied_in_their_order(patched: Path, tmp_path: Path) -> None:
    first = patch(tmp_path / "z.patch", "none\n", "first\n")
    second = patch(tmp_path / "a.patch", "first\n", "second\n")
    apply_patches(package_in(tmp_path, first, second), patched, log=tmp_path / "log")
    assert (patched / "setup.py").read_text() == "second\n"


@needs("patch")
def test_a_patch_that_does_not_apply_is_a_build_error_that_names_it(patched: Path, tmp_path: Path) -> None:
    first = patch(tmp_path / "first.patch", "none\n", "first\n")
    with pytest.raises(BuildError, check=coded("patch-failed", "first.patch", "demo", "setup.py")):
        apply_patches(package_in(tmp_path, first, first), patched, log=tmp_path / "log")


@needs("patch")
def test_a_patch_changes_nothing_outside_the_source(patched: Path, tmp_path: Path) -> None:
    outside = tmp_path / "setup.py"
    outside.write_text("none\n")
    lines = difflib.unified_diff(["none\n"], ["changed\n"], "a/../setup.py", "b/../setup.py")
    (tmp_path / "out.patch").write_text("".join(lines))
    with pytest.raises(BuildError, check=coded("patch-failed", "out.patch")):
        apply_patches(package_in(tmp_path, tmp_path / "out.patch"), patched, log=tmp_path / "log")
    assert outside.read_text() == "none\n"
