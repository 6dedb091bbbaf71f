"""Putting the source of a build in place."""

import hashlib
import io
import os
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.build.conftest import TARGET, package_in, target_of
from wheelmill.build.identity import identity_of, inputs_of
from wheelmill.build.source import apply_patches, fetch_source, sha256_of_tree
from wheelmill.config.model import GitSource, LockedCommit, LockedSdist
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


def test_a_folder_is_copied(folder: Path, tmp_path: Path) -> None:
    copy, _sha256 = fetch_source(target_of(folder), tmp_path / "copy")
    assert copy == tmp_path / "copy" / "demo-1.0"
    assert files_of(copy) == files_of(folder)


def test_what_earlier_builds_left_is_not_copied(folder: Path, tmp_path: Path) -> None:
    source_files = files_of(folder)
    for leftover in ("build/lib/a.py", "dist/a.whl", "demo.egg-info/PKG-INFO", "demo/__pycache__/a.pyc"):
        (folder / leftover).parent.mkdir(parents=True, exist_ok=True)
        (folder / leftover).touch()
    copy, _sha256 = fetch_source(target_of(folder), tmp_path / "copy")
    assert files_of(copy) == source_files


def test_a_package_may_have_a_part_named_dist(folder: Path, tmp_path: Path) -> None:
    (folder / "demo" / "dist").mkdir()
    (folder / "demo" / "dist" / "__init__.py").touch()
    copy, _sha256 = fetch_source(target_of(folder), tmp_path / "copy")
    assert "demo/dist/__init__.py" in files_of(copy)


def test_equal_folders_have_equal_hashes(folder: Path, tmp_path: Path) -> None:
    copy, sha256 = fetch_source(target_of(folder), tmp_path / "first")
    _second, again = fetch_source(target_of(copy), tmp_path / "second")
    assert again == sha256


@pytest.mark.parametrize("name", ["setup.cfg", "demo"])
def test_a_link_that_came_after_the_configuration_was_read_is_not_followed(
    name: str, folder: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = target_of(folder)
    key = tmp_path_factory.mktemp("home") / "id_ed25519"
    key.write_text("PRIVATE KEY")
    (folder / "demo" / "__init__.py").unlink()
    (folder / "demo").rmdir()
    (folder / name).symlink_to(key if name == "setup.cfg" else key.parent)
    with pytest.raises(BuildError, match=f"demo: 'project/{name}' leads out of"):
        fetch_source(target, tmp_path / "copy")
    with pytest.raises(BuildError, match="leads out of"):
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


def test_a_source_distribution_that_cannot_be_unpacked_is_a_build_error(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="not a tar archive"):
        fetch_source(cached(cache, b"PK"), tmp_path / "source")


def test_a_cached_file_that_lost_its_hash_is_not_built_from(cache: Path, tmp_path: Path) -> None:
    target = cached(cache, tar_of(SETUP))
    (damaged,) = cache.glob("*/*")
    damaged.write_bytes(tar_of(tarfile.TarInfo("demo-1.0/other.py")))
    with pytest.raises(BuildError):
        fetch_source(target, tmp_path / "source")


def test_a_source_that_is_nowhere_is_a_build_error(cache: Path, tmp_path: Path) -> None:
    target = cached(cache, tar_of(SETUP))
    (path,) = cache.glob("*/*")
    path.unlink()
    with pytest.raises(BuildError, match="does not answer"):
        fetch_source(target, tmp_path / "source")


def test_nothing_locked_is_a_build_error_that_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"packages\.lock has no demo 1\.0") as refusal:
        fetch_source(replace(TARGET, source=None), tmp_path / "source")
    assert refusal.value.hint == "run 'wheelmill config lock demo'"


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as somebody, and return what it printed."""
    somebody = ("-c", "user.name=tests", "-c", "user.email=tests@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", "-C", folder, *somebody, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def committed(
    repository: Path, files: dict[str, str], *, links: dict[str, str] | None = None, submodule: Path | None = None
) -> str:
    """Commit files to a repository, which is made if need be, and return the commit."""
    if not repository.exists():
        repository.mkdir()
        git(repository, "init", "--quiet")
    for name, content in files.items():
        (repository / name).write_text(content)
    for name, goal in (links or {}).items():
        (repository / name).symlink_to(goal)
    if submodule:
        git(repository, "submodule", "--quiet", "add", submodule.as_uri(), "third_party")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "a commit")
    return git(repository, "rev-parse", "HEAD")


def test_of_a_checkout_only_what_git_knows_is_copied_and_counts(folder: Path, tmp_path: Path) -> None:
    """Nobody wants the environment, or the wheels of the last build, that lie in it."""
    committed(tmp_path / "library", {"library.h": "int one;"})
    git(folder, "init", "--quiet")
    committed(folder, {".gitignore": "out/\n"}, links={"same.py": "setup.py"}, submodule=tmp_path / "library")
    (folder / "new.py").touch()
    source_files = {".gitignore", ".gitmodules", "demo/__init__.py", "new.py", "same.py", "setup.py"}
    _, before = fetch_source(target_of(folder), tmp_path / "before")
    (folder / "out").mkdir()
    (folder / "out" / "demo.whl").touch()
    copy, after = fetch_source(target_of(folder), tmp_path / "after")
    assert files_of(copy) == source_files | {"third_party/library.h"}
    assert before == after == sha256_of_tree(copy)


@pytest.mark.parametrize("name", [b"caf\xe9.h", b"caf\xc3\xa9.h", b'a "b" \\ \t\r\n.h', b'".h', b" .h"])
@pytest.mark.parametrize("tracked", [True, False])
def test_files_of_a_checkout_are_copied_whatever_their_names(
    name: bytes,
    tracked: bool,  # noqa: FBT001 - of the form that pytest wants
    folder: Path,
    tmp_path: Path,
) -> None:
    git(folder, "init", "--quiet")
    git(folder, "config", "core.quotePath", "false")
    (folder / os.fsdecode(name)).write_text("int one;")
    if tracked:
        committed(folder, {})
    copy, sha256 = fetch_source(target_of(folder), tmp_path / "copy")
    assert (copy / os.fsdecode(name)).read_text() == "int one;"
    assert sha256 == sha256_of_tree(copy)


def at(repository: Path, commit: str, *, submodules: bool = False, subdirectory: str | None = None) -> BuildTarget:
    source = GitSource(git=repository.as_uri(), ref="v1.0", submodules=submodules, subdirectory=subdirectory)
    return replace(TARGET, source=LockedCommit(**vars(source), commit=commit))


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    """A repository, and its first commit of two; a submodule of it has a submodule too."""
    committed(tmp_path / "inner", {"inner.h": ""})
    committed(tmp_path / "middle", {"middle.h": ""}, submodule=tmp_path / "inner")
    first = committed(tmp_path / "upstream", {"setup.py": "first"}, submodule=tmp_path / "middle")
    committed(tmp_path / "upstream", {"setup.py": "second", "new.py": ""})
    return tmp_path / "upstream", first


def test_exactly_the_locked_commit_is_fetched_without_anything_of_git(
    repository: tuple[Path, str], tmp_path: Path
) -> None:
    source, sha256 = fetch_source(at(*repository), tmp_path / "source")
    assert source == tmp_path / "source" / "demo-1.0"
    assert files_of(source) == {"setup.py", ".gitmodules"}
    assert (source / "setup.py").read_text() == "first"
    assert fetch_source(at(*repository), tmp_path / "again")[1] == sha256


def test_submodules_of_submodules_come_with_it(repository: tuple[Path, str], tmp_path: Path) -> None:
    source, sha256 = fetch_source(at(*repository, submodules=True), tmp_path / "source")
    assert {"setup.py", "third_party/middle.h", "third_party/third_party/inner.h"} < files_of(source)
    assert list(source.rglob(".git")) == []
    assert fetch_source(at(*repository), tmp_path / "without")[1] != sha256


def test_all_of_a_repository_is_the_source_of_what_lies_in_a_folder_of_it(tmp_path: Path) -> None:
    (tmp_path / "upstream" / "python").mkdir(parents=True)
    git(tmp_path / "upstream", "init", "--quiet")
    commit = committed(tmp_path / "upstream", {"README.md": "", "python/setup.py": ""}, links={"bindings": "python"})
    whole, sha256 = fetch_source(at(tmp_path / "upstream", commit), tmp_path / "whole")
    for subdirectory in ("python", "bindings"):
        target = at(tmp_path / "upstream", commit, subdirectory=subdirectory)
        source, same = fetch_source(target, tmp_path / subdirectory)
        assert (files_of(source), same) == (files_of(whole), sha256)
        assert (source / target.subdirectory / "setup.py").exists()


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("no/such", "has no folder 'no/such' at v1.0"),
        ("setup.py", "has no folder 'setup.py' at v1.0"),
        (".git", "has no folder '.git' at v1.0"),
        ("n" * 999, "has no folder 'n+' at v1.0"),
        ("circle", "has no folder 'circle' at v1.0"),
        ("root", "leads out of the repository"),
        ("root/etc", "leads out of the repository"),
        ("above", "leads out of the repository"),
    ],
    ids=lambda text: text[:9],
)
def test_a_subdirectory_that_a_commit_does_not_have_is_named_by_its_key(name: str, fault: str, tmp_path: Path) -> None:
    links = {"root": "/", "above": "..", "circle": "circle"}
    commit = committed(tmp_path / "upstream", {"setup.py": ""}, links=links)
    with pytest.raises(BuildError, match=rf"^the entry of demo: source\.subdirectory: .*{fault}"):
        fetch_source(at(tmp_path / "upstream", commit, subdirectory=name), tmp_path / "source")


def test_a_server_that_gives_out_no_single_commit_gives_out_all(
    repository: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, refused = process.run, []

    def refuse_single_commits(argv: list[str], **options: Any) -> str:
        if "--depth=1" in argv:
            refused.append(argv)
            raise ProcessError("not our ref", returncode=128, tail="not our ref")
        return run(argv, **options)

    monkeypatch.setattr(process, "run", refuse_single_commits)
    source, _sha256 = fetch_source(at(*repository), tmp_path / "source")
    assert (source / "setup.py").read_text() == "first"
    assert refused


def bare(repository: Path) -> Path:
    """A bare clone of a repository."""
    clone = repository.with_name(f"{repository.name}.git")
    git(repository, "clone", "--quiet", "--bare", ".", str(clone))
    return clone


def on_server(target: BuildTarget, name: str = "upstream.git") -> BuildTarget:
    """The same commit of a repository on a server that does not exist."""
    assert isinstance(target.source, LockedCommit)
    return replace(target, source=replace(target.source, git=f"https://127.0.0.1:9/{name}"))


def test_a_clone_gives_the_same_source_as_the_repository(repository: tuple[Path, str], tmp_path: Path) -> None:
    target = on_server(at(*repository))
    with use_clones(
        {"https://127.0.0.1:9/upstream": bare(repository[0]), "https://127.0.0.1:9/up": tmp_path}
    ) as unused:
        _source, sha256 = fetch_source(target, tmp_path / "source")
        assert unused == {"https://127.0.0.1:9/up"}
    assert sha256 == fetch_source(at(*repository), tmp_path / "without")[1]
    assert identity_of(inputs_of(target)) == identity_of(inputs_of(on_server(at(*repository))))
    with pytest.raises(BuildError, match="does not give"):
        fetch_source(target, tmp_path / "afterwards")


@pytest.mark.parametrize("address", ["../middle.git", "https://127.0.0.1:9/middle"])
def test_submodules_are_taken_from_clones_too(address: str, tmp_path: Path) -> None:
    committed(tmp_path / "middle", {"middle.h": ""})
    committed(tmp_path / "upstream", {"setup.py": ""}, submodule=tmp_path / "middle")
    git(tmp_path / "upstream", "config", "--file", ".gitmodules", "submodule.third_party.url", address)
    commit = committed(tmp_path / "upstream", {})
    target = on_server(at(tmp_path / "upstream", commit, submodules=True))
    clones = {f"https://127.0.0.1:9/{name}.git": tmp_path / name for name in ("upstream", "middle")}
    with use_clones(clones) as unused:
        source, _ = fetch_source(target, tmp_path / "source")
        assert unused == set()
    assert files_of(source) == {".gitmodules", "setup.py", "third_party/middle.h"}


@pytest.mark.parametrize("as_path", [False, True])
def test_a_repository_on_a_server_names_no_folder_of_this_machine_as_its_submodule(
    as_path: bool,  # noqa: FBT001 - of the form that pytest wants
    tmp_path: Path,
) -> None:
    committed(tmp_path / "private", {"key": "PRIVATE KEY"})
    committed(tmp_path / "upstream", {"setup.py": ""}, submodule=tmp_path / "private")
    if as_path:
        git(
            tmp_path / "upstream", "config", "--file", ".gitmodules", "submodule.third_party.url", f"{tmp_path}/private"
        )
    commit = committed(tmp_path / "upstream", {".gitignore": ""})
    target = on_server(at(tmp_path / "upstream", commit, submodules=True))
    with (
        use_clones({"https://127.0.0.1:9/upstream": tmp_path / "upstream"}),
        pytest.raises(BuildError, match="transport 'file' not allowed"),
    ):
        fetch_source(target, tmp_path / "source")
    assert not (tmp_path / "source" / "demo-1.0" / "third_party" / "key").exists()


def test_a_clone_without_the_commit_is_named(repository: tuple[Path, str], tmp_path: Path) -> None:
    target = on_server(at(repository[0], "0" * 40))
    with (
        use_clones({"https://127.0.0.1:9/upstream": repository[0]}),
        pytest.raises(BuildError, match=rf"(?s)does not give 0{{40}}.*{repository[0]}"),
    ):
        fetch_source(target, tmp_path / "source")


def test_a_commit_that_is_not_there_is_a_build_error(repository: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"upstream does not give 0{40} \(v1\.0\):"):
        fetch_source(at(repository[0], "0" * 40), tmp_path / "source")


def test_settings_and_hooks_of_this_machine_do_not_touch_the_source(
    repository: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = tmp_path / "home" / "hooks" / "post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    (tmp_path / "home" / ".gitconfig").write_text(f"[core]\nautocrlf = true\nhooksPath = {hook.parent}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (repository[0] / "setup.py").write_text("a\nb\n")
    source, _sha256 = fetch_source(at(repository[0], committed(repository[0], {})), tmp_path / "source")
    assert (source / "setup.py").read_bytes() == b"a\nb\n"
    assert not (source / "hooked").exists()


def test_nothing_but_https_and_files_is_fetched(repository: tuple[Path, str], tmp_path: Path) -> None:
    source = GitSource(git=f"ext::git-upload-pack {repository[0]}", ref="v1.0", submodules=False)
    target = replace(TARGET, source=LockedCommit(**vars(source), commit=repository[1]))
    with pytest.raises(BuildError, match="transport 'ext' not allowed"):
        fetch_source(target, tmp_path / "source")


def test_a_name_that_is_not_utf_8_is_hashed_as_it_is(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.h")).touch()
    assert sha256_of_tree(tmp_path) == hashlib.sha256(b"caf\xe9.h\x000\x00").hexdigest()


def test_a_link_is_hashed_by_where_it_leads(tmp_path: Path) -> None:
    hashes = set()
    for name, goal in (("first", "setup.py"), ("second", "/dev/zero"), ("third", "nowhere")):
        commit = committed(tmp_path / name, {"setup.py": "setup()"}, links={"link": goal})
        _folder, sha256 = fetch_source(at(tmp_path / name, commit), tmp_path / f"{name} out")
        hashes.add(sha256)
    assert len(hashes) == 3
