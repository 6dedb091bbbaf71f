"""Which packages a change touches."""

import subprocess
from pathlib import Path

import pytest

from wheelmill.config.load import load_config
from wheelmill.config.upkeep.changes import added_torches, changed_since
from wheelmill.errors import UsageError
from wheelmill.names import TorchVersion
from wheelmill.system import resources

PACKAGES = """packages:
  one: {versions: ["1.0"], patches: [patches/größe.patch], smoke_script: ./smoke.py}
  two: {versions: ["1.0"], source: two}
  three: {versions: ["1.0"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration folder below the root of a git checkout, committed."""
    folder = tmp_path / "config"
    for name in ("patches", "two/dist"):
        (folder / name).mkdir(parents=True)
    (folder / "packages.yml").write_text(PACKAGES)
    (folder / "patches" / "größe.patch").write_text("one")
    (folder / "smoke.py").write_text("one")
    (folder / "two" / "setup.py").write_text("two")
    git(tmp_path, "init", "-q")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True)


def commit(folder: Path) -> None:
    """Commit the folder as it is."""
    git(folder, "add", ".")
    git(folder, "-c", "user.name=tests", "-c", "user.email=tests@example.org", "commit", "-q", "-m", "a change")


def changed(folder: Path) -> set[str]:
    return set(changed_since(load_config(folder), "HEAD"))


def test_nothing_changed(folder: Path) -> None:
    assert changed(folder) == set()


def test_an_entry_that_changed_is_named_and_the_layout_does_not_matter(folder: Path) -> None:
    text = PACKAGES.replace('three: {versions: ["1.0"]}', 'three:\n    versions: ["1.0", "1.1"]')
    (folder / "packages.yml").write_text("# a comment\n" + text + "  four: {versions: ['1.0']}\n")
    assert changed(folder) == {"three", "four"}


def test_a_lock_entry_that_is_new_is_a_change(folder: Path) -> None:
    lock = f"sdists:\n  three:\n    '1.0': {{sdist: three-1.0.tar.gz, sha256: {'a' * 64}}}\n"
    (folder / "packages.lock").write_text(lock)
    assert changed(folder) == {"three"}


@pytest.mark.parametrize("file", ["patches/größe.patch", "smoke.py"])
def test_a_file_that_changed_is_a_change_of_the_package_that_names_it(folder: Path, file: str) -> None:
    (folder / file).write_text("other")
    assert changed(folder) == {"one"}


def test_a_source_folder_that_changed_is_a_change_of_its_package(folder: Path) -> None:
    (folder / "two" / "setup.py").write_text("other")
    assert changed(folder) == {"two"}


@pytest.mark.parametrize("before", ["- a list", "packages: [a, list]", "packages: {one: *nobody}"])
def test_a_file_that_said_nothing_of_packages_makes_all_of_them_new(folder: Path, before: str) -> None:
    (folder / "packages.yml").write_text(before)
    commit(folder)
    (folder / "packages.yml").write_text(PACKAGES)
    assert changed(folder) == {"one", "two", "three"}


@pytest.mark.parametrize("reference", ["no-such-branch", "--output=x", ""])
def test_a_reference_that_git_does_not_know_is_a_usage_error(folder: Path, reference: str) -> None:
    with pytest.raises(UsageError, match="--changed-since: git does not know"):
        changed_since(load_config(folder), reference)


def test_what_another_branch_did_since_is_no_change(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "other")
    (folder / "smoke.py").write_text("of the other branch")
    commit(folder)
    git(folder, "checkout", "-q", "-")
    (folder / "two" / "setup.py").write_text("ours")
    commit(folder)
    assert changed_since(load_config(folder), "other") == {"two"}


def test_after_a_force_push_the_last_commit_is_compared_and_that_is_said(folder: Path) -> None:
    """The commit before it is in no branch, so a fresh checkout lacks it."""
    (folder / "two" / "setup.py").write_text("two again")
    commit(folder)
    (folder / "smoke.py").write_text("one again")
    commit(folder)
    said: list[str] = []
    assert changed_since(load_config(folder), "c0ffee" * 6 + "dead", said.append) == {"one"}
    assert len(said) == 1
    assert "as after a force push: only the last commit is compared" in said[0]


def test_a_commit_that_is_not_there_and_none_before_ours_is_a_usage_error(folder: Path) -> None:
    with pytest.raises(UsageError, match="there is no commit before this one"):
        changed_since(load_config(folder), "0" * 40)


def test_a_torch_that_is_new_in_the_facts_is_added_and_a_patch_release_is_not(folder: Path) -> None:
    """A candidate counts as a release does."""
    shipped = (resources.CONFIG / "compatibility.yml").read_text()
    facts = folder / "compatibility.yml"
    added = '    "9.1": ' + '{release: "9.1.0", cuda: {}, python: ["3.12"], default_cuda: "13.0", glibc: "2.28"}\n'
    facts.write_text(shipped)
    assert added_torches(load_config(folder), "HEAD") == (), "there was no file to add it to"
    commit(folder)
    with_patch = shipped.replace('release: "2.11.0"', 'release: "2.11.9"')
    facts.write_text(with_patch)
    assert added_torches(load_config(folder), "HEAD") == ()
    candidate = "  candidates:\n" + added.replace("9.1", "9.2rc1", 1).replace("9.1.0", "9.2.0")
    facts.write_text(with_patch.replace("\npythons:", f"{added}{candidate}\npythons:"))
    assert added_torches(load_config(folder), "HEAD") == (TorchVersion(9, 1), TorchVersion(9, 2, 1))
    commit(folder)
    assert added_torches(load_config(folder), "HEAD") == ()


def test_facts_that_could_not_be_read_add_no_torch(folder: Path) -> None:
    facts = folder / "compatibility.yml"
    for before in ("- a list", "torch: []", "torch: {releases: {two: {}}}", "torch: {releases: *nobody}"):
        facts.write_text(before)
        commit(folder)
        facts.write_text((resources.CONFIG / "compatibility.yml").read_text())
        assert added_torches(load_config(folder), "HEAD") == ()
