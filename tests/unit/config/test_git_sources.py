"""Locking commits of git repositories."""

import subprocess
from pathlib import Path

import pytest

from tests.unit.config.locking import DEMO, V10, relocked, write_packages
from tests.wheels import write_wheel
from wheelmill.config.load import load_config
from wheelmill.config.model import GitSource, LockedCommit
from wheelmill.errors import ConfigurationError, UsageError

pytestmark = pytest.mark.usefixtures("wheels")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as somebody, and return what it printed."""
    somebody = ("-c", "user.name=tests", "-c", "user.email=tests@example.org")
    done = subprocess.run(["git", "-C", folder, *somebody, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def committed(repository: Path, message: str) -> str:
    git(repository, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose project requires ninja."""
    repository = tmp_path / "upstream"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main")
    (repository / "pyproject.toml").write_text('[build-system]\nrequires = ["ninja"]\n')
    git(repository, "add", ".")
    return repository


def from_git(folder: Path, repository: Path, ref: str, arguments: str = "--no-build-isolation") -> None:
    source = f'source: {{git: "{repository.as_uri()}", ref: "{ref}"}}, pypi: absent'
    write_packages(folder, f'packages: {{demo: {{versions: ["1.0"], {source}, build_args: "{arguments}"}}}}')


@pytest.mark.parametrize("options", [[], ["-a", "-m", "annotated"]], ids=["light", "annotated"])
def test_a_tag_is_locked_as_the_commit_that_it_points_to(options: list[str], repository: Path, tmp_path: Path) -> None:
    commit = committed(repository, "first")
    git(repository, "tag", *options, "v1.0")
    git(repository, "branch", "other/v1.0")
    git(repository, "branch", "v1.0", committed(repository, "second"))
    from_git(tmp_path, repository, "v{version}")
    locked = relocked(tmp_path).commits[DEMO][V10]
    source = GitSource(git=repository.as_uri(), ref="v1.0", submodules=False)
    assert locked == LockedCommit(**vars(source), commit=commit)


def test_a_branch_stays_where_it_was_until_it_is_upgraded(repository: Path, tmp_path: Path) -> None:
    first = committed(repository, "first")
    from_git(tmp_path, repository, "main")
    relocked(tmp_path)
    second = committed(repository, "second")
    assert relocked(tmp_path).commits[DEMO][V10].commit == first
    assert relocked(tmp_path, upgrade=True).commits[DEMO][V10].commit == second


def test_another_ref_in_packages_yml_is_locked_anew(repository: Path, tmp_path: Path) -> None:
    first = committed(repository, "first")
    git(repository, "tag", "v1.0")
    second = committed(repository, "second")
    from_git(tmp_path, repository, "v1.0")
    assert relocked(tmp_path).commits[DEMO][V10].commit == first
    from_git(tmp_path, repository, "main")
    config = load_config(tmp_path)
    assert config.lock.source_of(config.packages[DEMO], V10) is None
    assert relocked(tmp_path).commits[DEMO][V10].commit == second


def test_a_commit_needs_no_look_up(repository: Path, tmp_path: Path) -> None:
    from_git(tmp_path, tmp_path / "nowhere", commit := committed(repository, "first"))
    assert relocked(tmp_path).commits[DEMO][V10].commit == commit


def test_build_isolation_locks_what_a_commit_requires(repository: Path, tmp_path: Path, wheels: Path) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    committed(repository, "first")
    from_git(tmp_path, repository, "main", arguments="")
    locked = relocked(tmp_path)
    assert locked.commits[DEMO][V10].requires == ("ninja",)
    assert locked.requirements[DEMO].inputs == ("ninja", "setuptools", "wheel")


@pytest.mark.parametrize("subdirectory", ["python", "./python/"])
def test_what_a_folder_of_a_commit_requires_is_locked(
    subdirectory: str, repository: Path, tmp_path: Path, wheels: Path
) -> None:
    write_wheel(wheels / "cmake-1.0-py3-none-any.whl")
    (repository / "python").mkdir()
    (repository / "python" / "pyproject.toml").write_text('[build-system]\nrequires = ["cmake"]\n')
    git(repository, "add", ".")
    committed(repository, "first")
    from_git(tmp_path, repository, f'main", subdirectory: "{subdirectory}', arguments="")
    locked = relocked(tmp_path).commits[DEMO][V10]
    assert (locked.subdirectory, locked.requires) == ("python", ("cmake",))
    config = load_config(tmp_path)
    assert config.lock.source_of(config.packages[DEMO], V10) == locked


def test_another_subdirectory_is_locked_anew(repository: Path, tmp_path: Path) -> None:
    commit = committed(repository, "first")
    from_git(tmp_path, repository, commit)
    relocked(tmp_path)
    from_git(tmp_path, repository, f'{commit}", subdirectory: "python')
    config = load_config(tmp_path)
    assert config.lock.source_of(config.packages[DEMO], V10) is None
    from_git(tmp_path, repository, f'{commit}", subdirectory: "python', arguments="")
    with pytest.raises(UsageError, match=r"^the entry of demo: source\.subdirectory: .* has no folder"):
        relocked(tmp_path)


@pytest.mark.parametrize(("name", "message"), [("upstream", "has no tag or branch v9"), ("nowhere", "does not answer")])
def test_a_ref_that_is_nowhere_is_named(name: str, message: str, repository: Path, tmp_path: Path) -> None:
    committed(repository, "first")
    from_git(tmp_path, tmp_path / name, "v9")
    with pytest.raises(UsageError, match=message):
        relocked(tmp_path)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('{git: "http://example.org/a", ref: main}', "14: packages.demo.source.git: expected the https:// or file://"),
        ('{git: "git@example.org:a", ref: main}', "14: packages.demo.source.git: expected the https:// or file://"),
        ('{git: "https://me:pw@example.org/a", ref: a}', "14: packages.demo.source.git: expected the https:// or"),
        ('{git: "https://example.org/a?b", ref: main}', "14: packages.demo.source.git: expected the https:// or"),
        ('{git: "https://example.org/a"}', "5: packages.demo.source.ref: is required"),
        ('{git: "https://example.org/a", ref: "-x"}', "44: packages.demo.source.ref: expected a git tag or branch"),
        ('{git: "https://example.org/a", ref: ""}', "44: packages.demo.source.ref: expected a git tag or branch"),
        ('{git: "https://example.org/a", ref: "a..b"}', "44: packages.demo.source.ref: expected a git tag or branch"),
        ('{git: "https://example.org/a", ref: "v{v}"}', "44: packages.demo.source.ref: expected a git tag or branch"),
        ('{git: "https://example.org/a", ref: "*"}', "44: packages.demo.source.ref: expected a git tag or branch"),
        *(
            (
                f'{{git: "https://example.org/a", ref: a, subdirectory: "{folder}"}}',
                "52: packages.demo.source.subdirectory: expected " + expected,
            )
            for folder, expected in (
                ("../other", "a folder of the repository"),
                ("python/../..", "a folder of the repository"),
                ("/etc", "a folder of the repository"),
                (".", "a folder of the repository"),
                ("", "a folder of the repository"),
                ("a\\nb", "one line"),
                ("a$b", "plain text"),
            )
        ),
        ('{git: "https://example.org/a", ref: a, tag: b}', "52: packages.demo.source.tag: is not a key here"),
    ],
)
def test_a_fault_in_a_git_source_is_named(source: str, fault: str, tmp_path: Path) -> None:
    write_packages(tmp_path, f'packages:\n  demo:\n    versions: ["1.0"]\n    source: {source}\n')
    with pytest.raises(ConfigurationError) as caught:
        load_config(tmp_path)
    (found,) = caught.value.faults
    assert found.removeprefix("packages.yml:4:").startswith(fault), found


def test_a_git_source_says_what_the_package_index_has_under_its_name(tmp_path: Path) -> None:
    write_packages(tmp_path, 'packages: {demo: {versions: ["1.0"], source: {git: "https://example.org/a", ref: b}}}')
    with pytest.raises(ConfigurationError, match=r"packages\.demo\.pypi: is required .* 'same', 'other' or 'absent'$"):
        load_config(tmp_path)


def test_a_range_of_versions_needs_the_package_index(tmp_path: Path) -> None:
    write_packages(tmp_path, 'packages: {demo: {versions: ">=1", source: {git: "https://example.org/a", ref: b}}}')
    with pytest.raises(ConfigurationError, match=r"packages\.demo\.source: a range of versions is looked up"):
        load_config(tmp_path)
