"""Files that people write keep their comments and their layout when a program changes a value."""

import functools
from pathlib import Path
from typing import Any

import pytest

from tests.git_repositories import Commit, git, repository
from tests.refusals import coded
from wheelmill.config.fields import KeyPath, Unquoted
from wheelmill.config.load import load_config
from wheelmill.config.maintenance.amend import added_torches, amend, changed_since, keep_packages, without_defaults
from wheelmill.errors import ConfigurationError, UsageError
from wheelmill.names import TorchVersion, project_name
from wheelmill.system import own_installation

TEXT = """\
# At the head.
checked: 2026-11-21   # a date
releases:
  "2.9":   # an old one
    release: "2.9.0"
    python: ["3.10",   "3.11"]   # without 3.12
  "2.10":  {release: "2.10.0", python: ["3.10"]} # on one line

# Behind the releases.
platforms: [linux_x86_64]
"""
NEW: dict[str, Any] = {"release": "2.11.0", "cuda": {"linux_x86_64": ["13.0"]}, "python": ["3.11", "3.12"]}


ENTRIES = """\
# At the head.
packages:
  # attention
  one:
    versions: ["1.0"]   # the first
  Two: {versions: ["2.0"]} # on one line

  # state space
  three:
    versions:
      - "3.0"
# Behind all.
defaults: {python: ">=3.11"}
"""
STATE_SPACE = '\n  # state space\n  three:\n    versions:\n      - "3.0"\n'


@pytest.mark.parametrize(
    ("kept", "removed"),
    [
        (("one", "two", "three"), ()),
        (("two", "three"), ("  # attention\n", "  one:\n", '    versions: ["1.0"]   # the first\n')),
        (("one",), ('  Two: {versions: ["2.0"]} # on one line\n', STATE_SPACE)),
    ],
)
def test_the_entries_that_stay_are_unchanged(tmp_path: Path, kept: tuple[str, ...], removed: tuple[str, ...]) -> None:
    path = tmp_path / "packages.yml"
    path.write_text(ENTRIES)
    keep_packages(path, {project_name(name) for name in kept})
    assert path.read_text() == functools.reduce(lambda text, lines: text.replace(lines, ""), removed, ENTRIES)


@pytest.mark.parametrize("text", ['packages: {one: {versions: ["1.0"]}, two: {}}\n', "packages: *name\n"])
def test_entries_that_cannot_be_taken_out_leave_the_file_as_it_was(tmp_path: Path, text: str) -> None:
    path = tmp_path / "packages.yml"
    path.write_text(text)
    with pytest.raises(ConfigurationError):
        keep_packages(path, {project_name("one")})
    assert path.read_text() == text


def amended(folder: Path, text: str, changes: dict[KeyPath, Any]) -> str:
    """A file of this text after changes."""
    (folder / "facts.yml").write_text(text)
    amend(folder / "facts.yml", changes)
    return (folder / "facts.yml").read_text()


@pytest.mark.parametrize(
    ("key_path", "value", "line", "changed"),
    [
        (("checked",), "2026-11-28", "checked: 2026-11-21   # a date", "checked: 2026-11-28   # a date"),
        (("releases", "2.9", "release"), "2.9.1", '    release: "2.9.0"', '    release: "2.9.1"'),
        (("releases", "2.9", "python"), ["3.12"], '["3.10",   "3.11"]   # without 3.12', '["3.12"]   # without 3.12'),
        (("releases", "2.10", "python"), ["3.10", "3.14t"], '["3.10"]} # on one', '["3.10", "3.14t"]} # on one'),
    ],
)
def test_a_value_changes_alone(tmp_path: Path, key_path: KeyPath, value: Any, line: str, changed: str) -> None:
    assert TEXT.count(line) == 1
    assert amended(tmp_path, TEXT, {key_path: value}) == TEXT.replace(line, changed)


def test_new_keys_follow_the_last_of_their_mapping(tmp_path: Path) -> None:
    changes: dict[KeyPath, Any] = {
        ("checked",): "2026-11-28",
        ("releases", "2.11"): NEW,
        ("releases", "2.12"): {"release": "2.12.0"},
    }
    added = """\
  "2.11":
    release: "2.11.0"
    cuda: {linux_x86_64: ["13.0"]}
    python: ["3.11", "3.12"]
  "2.12":
    release: "2.12.0"
"""
    expected = TEXT.replace("11-21", "11-28").replace("# on one line\n", f"# on one line\n{added}")
    assert amended(tmp_path, TEXT, changes) == expected


LIST_BELOW = "a:\n  b:\n    - {c: d} # 1\n    - e # 2\n"
SECONDS: dict[KeyPath, Any] = {("a", "seconds"): Unquoted("280")}


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        (
            "releases:\n    a: {b: c}",
            {("releases", "d"): {"e": "f"}},
            'releases:\n    a: {b: c}\n    "d":\n      e: "f"',
        ),
        ("a:\n  b: c # 1\n\n# end\n", SECONDS, "a:\n  b: c # 1\n  seconds: 280\n\n# end\n"),
        (f"{LIST_BELOW}\n# end\nf: g\n", SECONDS, f"{LIST_BELOW}  seconds: 280\n\n# end\nf: g\n"),
        ("a: {b: c} # 1\n", SECONDS, "a: {b: c, seconds: 280} # 1\n"),
        ("a: # 0\n  seconds: 7 # 1\n  b: c\n", SECONDS, "a: # 0\n  seconds: 280 # 1\n  b: c\n"),
        ("a: {} # none\nb: c\n", {("a", "d"): {"e": "f"}}, 'a:\n  "d":\n    e: "f" # none\nb: c\n'),
        ("a:\n  b: {}\n", {("a", "b", "c"): {"e": "f"}}, 'a:\n  b:\n    "c":\n      e: "f"\n'),
        ("a: {}", {("a", key): {"e": "f"} for key in "bc"}, 'a:\n  "b":\n    e: "f"\n  "c":\n    e: "f"'),
    ],
    ids=[
        *("no newline at the end", "below", "below a list", "in brackets", "in its place"),
        *("into nothing", "into nothing below", "two into nothing"),
    ],
)
def test_a_key_is_added_or_replaced(tmp_path: Path, text: str, changes: dict[KeyPath, Any], expected: str) -> None:
    assert amended(tmp_path, text, changes) == expected


@pytest.mark.parametrize(
    ("text", "key_path", "value"),
    [
        ("a:\n  - b\n  - c\nd: e\n", ("a",), ["f"]),
        ("a: {b: {c: d}}\n", ("a", "e"), {"f": "g"}),
        ("a: b\n", ("a",), "c: d"),
        ("a: b\n", ("a",), "13.0"),
    ],
    ids=["a list in lines", "a new key in brackets", "text that needs quotes", "text that would be a number"],
)
def test_an_edit_that_changes_more_is_refused(tmp_path: Path, text: str, key_path: KeyPath, value: Any) -> None:
    path = tmp_path / "facts.yml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "facts.yml:1:1: ")):
        amend(path, {key_path: value})
    assert path.read_text() == text


PACKAGES = """packages:
  one: {versions: ["1.0"], patches: [patches/größe.patch]}
  two: {versions: ["1.0"], source: two}
  three: {versions: ["1.0"]}
  four: {versions: ["1.0"], smoke_script: ./smoke.py}
  five: {versions: ["1.0"]}
  six: {versions: ["1.0"]}
"""
FIRST = {"packages.yml": PACKAGES, "patches/größe.patch": "one", "smoke.py": "one", "two/setup.py": "two"}


def folder_of(checkout: Path, *commits: dict[str, str], branches: tuple[str, ...] = ()) -> Path:
    """A configuration folder below the root of a git checkout, after a first commit with these branches and others."""
    first, *others = [{f"config/{name}": content for name, content in files.items()} for files in (FIRST, *commits)]
    history = (Commit(first, branches=branches), *map(Commit, others))
    return repository(*history, checkout=True).copy(checkout) / "config"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path)


def test_nothing_changed(folder: Path) -> None:
    assert changed_since(load_config(folder), "HEAD") == set()


def test_a_package_changes_with_its_entry_its_lock_and_what_it_names_and_with_nothing_else(folder: Path) -> None:
    (folder / "patches" / "größe.patch").write_text("other")
    (folder / "two" / "setup.py").write_text("other")
    (folder / "smoke.py").write_text("other")
    lock = f"sdists:\n  five:\n    '1.0': {{sdist: five-1.0.tar.gz, sha256: {'a' * 64}}}\n"
    (folder / "packages.lock").write_text(lock)
    entries = PACKAGES.replace('three: {versions: ["1.0"]}', 'three:\n    versions: ["1.0", "1.1"]')
    layout = entries.replace('six: {versions: ["1.0"]}', "six:\n    versions:\n    - '1.0'")
    (folder / "packages.yml").write_text(f"# a comment\n{layout}  seven: {{versions: ['1.0']}}\n")
    assert changed_since(load_config(folder), "HEAD") == {"one", "two", "three", "four", "five", "seven"}


ALL_BUT_SIX = {"one", "two", "three", "four", "five"}
OWN_ARGUMENTS = PACKAGES.replace('six: {versions: ["1.0"]', 'six: {versions: ["1.0"], build_args: ""')


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (PACKAGES, OWN_ARGUMENTS, set()),
        (PACKAGES, PACKAGES + 'defaults: {build_args: ""}\n', set()),
        (OWN_ARGUMENTS, OWN_ARGUMENTS + 'defaults: {build_args: "--no-build-isolation"}\n', ALL_BUT_SIX),
        (
            PACKAGES.replace("six: {", 'six: {architectures: ["9.0"], ') + 'defaults: {architectures: ["8.0"]}\n',
            PACKAGES + 'defaults: {architectures: ["9.0"]}\n',
            ALL_BUT_SIX,
        ),
        (PACKAGES + 'defaults: {python: ">=3.11"}\n', PACKAGES + 'defaults: {python: ">=3.12"}\n', set()),
        (PACKAGES + "defaults: [a, list]\n", PACKAGES, set()),
    ],
)
def test_build_defaults_change_packages_with_them(before: str, after: str, changed: set[str], tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"packages.yml": before})
    (folder / "packages.yml").write_text(after)
    assert changed_since(load_config(folder), "HEAD") == changed


@pytest.mark.parametrize(
    ("defaults", "entry", "written"),
    [
        ("", {"versions": ["1.0"]}, {"versions": ["1.0"]}),
        ("", {"build_args": "--no-build-isolation"}, {"build_args": "--no-build-isolation"}),
        ('build_args: "--no-build-isolation"', {"build_args": "--no-build-isolation"}, {}),
        ('build_args: "--no-build-isolation"', {"toolkit": ["curand"]}, {"toolkit": ["curand"], "build_args": ""}),
        ('architectures: ["9.0"]', {"architectures": ["9.0"], "python": ">=3.11"}, {"python": ">=3.11"}),
        ('architectures: ["9.0"]', {"architectures": ["9.0a"]}, {"architectures": ["9.0a"]}),
        ('python: ">=3.11"', {"python": ">=3.11"}, {"python": ">=3.11"}),  # it may be built for others, too
    ],
)
def test_no_default_is_repeated(defaults: str, entry: dict[str, Any], written: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "packages.yml"
    path.write_text(f"defaults: {{{defaults}}}\npackages: {{}}\n")
    assert without_defaults(path, entry) == written


def git_shows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git show this of each file, as it was, and no difference."""
    shown = {"show": text}
    monkeypatch.setattr(
        "wheelmill.config.maintenance.amend.run_git", lambda _folder, command, *_: shown.get(command, "")
    )


@pytest.mark.parametrize("before", ["- a list", "packages: [a, list]", "packages: {one: *nobody}"])
def test_in_a_file_without_packages_all_are_new(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git_shows(before, monkeypatch)
    (tmp_path / "packages.yml").write_text('packages: {one: {versions: ["1.0"]}, two: {versions: ["1.0"]}}')
    assert changed_since(load_config(tmp_path), "HEAD") == {"one", "two"}


@pytest.mark.parametrize("reference", ["no-such-branch", "--output=x", ""])
def test_a_reference_that_git_does_not_know_is_a_usage_error(folder: Path, reference: str) -> None:
    with pytest.raises(UsageError, check=coded("ref-unknown")):
        changed_since(load_config(folder), reference)


def test_what_another_branch_did_since_is_no_change(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"smoke.py": "of the main branch"}, branches=("ours",))
    git("-C", folder, "checkout", "--quiet", "ours")
    (folder / "two" / "setup.py").write_text("ours")
    assert changed_since(load_config(folder), "main") == {"two"}


def test_after_a_force_push_the_last_commit_is_compared_and_that_is_said(tmp_path: Path) -> None:
    """The commit before it is in no branch, so a fresh checkout lacks it."""
    folder = folder_of(tmp_path, {"two/setup.py": "two again"}, {"patches/größe.patch": "one again"})
    said: list[str] = []
    assert changed_since(load_config(folder), "c0ffee" * 6 + "dead", said.append) == {"one"}
    assert len(said) == 1
    assert "as after a force push: only the last commit is compared" in said[0]


def test_a_commit_that_is_not_there_and_none_before_ours_is_a_usage_error(folder: Path) -> None:
    with pytest.raises(UsageError, check=coded("no-parent-commit")):
        changed_since(load_config(folder), "0" * 40)


def test_a_torch_that_is_new_in_the_facts_is_added_and_a_patch_release_is_not(tmp_path: Path) -> None:
    """A candidate counts as a release does."""
    shipped = (own_installation.CONFIG / "compatibility.yml").read_text()
    with_patch = shipped.replace('release: "2.11.0"', 'release: "2.11.9"')
    folder = folder_of(tmp_path, {"compatibility.yml": shipped})
    facts = folder / "compatibility.yml"
    assert added_torches(load_config(folder), "HEAD^") == (), "there was no file to add it to"
    facts.write_text(with_patch)
    assert added_torches(load_config(folder), "HEAD") == ()
    added = '    "9.1": ' + '{release: "9.1.0", cuda: {}, python: ["3.12"], default_cuda: "13.0", glibc: "2.28"}\n'
    candidate = "  candidates:\n" + added.replace("9.1", "9.2rc1", 1).replace("9.1.0", "9.2.0")
    facts.write_text(with_patch.replace("\npythons:", f"{added}{candidate}\npythons:"))
    assert added_torches(load_config(folder), "HEAD") == (TorchVersion(9, 1), TorchVersion(9, 2, 1))


def test_facts_that_could_not_be_read_add_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(own_installation.CONFIG)
    for before in ("- a list", "torch: []", "torch: {releases: {two: {}}}", "torch: {releases: *nobody}"):
        git_shows(before, monkeypatch)
        assert added_torches(config, "HEAD") == (), before
    git_shows('torch: {releases: {"2.11": {}}}', monkeypatch)
    assert TorchVersion(2, 11) not in added_torches(config, "HEAD") != ()
