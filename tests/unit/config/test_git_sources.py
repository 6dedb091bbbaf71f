"""Locking commits of git repositories."""

from pathlib import Path

import pytest

from tests.git_repositories import Commit, Repository, repository
from tests.refusals import coded, faults_of
from tests.unit.config.locking import DEMO, V10, relocked, write_packages
from tests.wheels import write_wheel
from wheelmill.config.load import load_config
from wheelmill.config.model.files import LockedCommit
from wheelmill.config.model.package_parts import GitSource
from wheelmill.errors import ConfigurationError, UsageError

pytestmark = pytest.mark.usefixtures("wheels")


NINJA = '[build-system]\nrequires = ["ninja"]\n'


def upstream(*, tags: tuple[str, ...] = (), annotated_tags: tuple[str, ...] = ()) -> Repository:
    """A repository of two commits, whose project requires ninja. Tags are of the first, a branch v1.0 of the second."""
    first = Commit({"pyproject.toml": NINJA}, tags=tags, annotated_tags=annotated_tags, branches=("other/v1.0",))
    return repository(first, Commit({"README.md": ""}, branches=("v1.0",)))


def from_git(folder: Path, repository: Repository | Path, ref: str, arguments: str = "--no-build-isolation") -> None:
    path = repository.path if isinstance(repository, Repository) else repository
    source = f'source: {{git: "{path.as_uri()}", ref: "{ref}"}}, pypi: absent'
    write_packages(folder, f'packages: {{demo: {{versions: ["1.0"], {source}, build_args: "{arguments}"}}}}')


@pytest.mark.parametrize("tags", [{"tags": ("v1.0",)}, {"annotated_tags": ("v1.0",)}], ids=["light", "annotated"])
def test_a_tag_is_locked_as_the_commit_that_it_points_to(tags: dict[str, tuple[str]], tmp_path: Path) -> None:
    repository = upstream(**tags)
    from_git(tmp_path, repository, "v{version}")
    locked = relocked(tmp_path).commits[DEMO][V10]
    source = GitSource(git=repository.path.as_uri(), ref="v1.0", submodules=False)
    assert locked == LockedCommit(**vars(source), commit=repository.commits[0])


def test_a_branch_stays_where_it_was_until_it_is_upgraded(tmp_path: Path) -> None:
    repository = upstream()
    copy = repository.copy(tmp_path / "upstream")
    from_git(tmp_path, copy, "main")
    for commit, upgrade, expected in ((0, False, 0), (1, False, 0), (1, True, 1)):
        (copy / "refs" / "heads" / "main").write_text(f"{repository.commits[commit]}\n")
        assert relocked(tmp_path, upgrade=upgrade).commits[DEMO][V10].commit == repository.commits[expected]


def test_another_ref_in_packages_yml_is_locked_anew(tmp_path: Path) -> None:
    repository = upstream()
    for commit, ref in enumerate(("other/v1.0", "main")):
        from_git(tmp_path, repository, ref)
        config = load_config(tmp_path)
        assert config.lock.source_of(config.packages[DEMO], V10) is None
        assert relocked(tmp_path).commits[DEMO][V10].commit == repository.commits[commit]


def test_a_commit_needs_no_look_up(tmp_path: Path) -> None:
    from_git(tmp_path, tmp_path / "nowhere", "c0ffee" * 6 + "dead")
    assert relocked(tmp_path).commits[DEMO][V10].commit == "c0ffee" * 6 + "dead"


def test_build_isolation_locks_what_a_commit_requires(tmp_path: Path, wheels: Path) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    from_git(tmp_path, upstream(), "main", arguments="")
    locked = relocked(tmp_path)
    assert locked.commits[DEMO][V10].requires == ("ninja",)
    assert locked.requirements[DEMO].inputs == ("ninja", "setuptools", "wheel")


@pytest.mark.parametrize("subdirectory", ["python", "./python/"])
def test_a_folder_of_a_commit_is_written_one_way(subdirectory: str, tmp_path: Path) -> None:
    from_git(tmp_path, tmp_path, f'main", subdirectory: "{subdirectory}')
    source = load_config(tmp_path).packages[DEMO].source
    assert isinstance(source, GitSource)
    assert source.subdirectory == "python"


def test_what_a_folder_of_a_commit_requires_is_locked(tmp_path: Path, wheels: Path) -> None:
    write_wheel(wheels / "cmake-1.0-py3-none-any.whl")
    inner = '[build-system]\nrequires = ["cmake"]\n[project]\ndependencies = ["torch<2.14", "numpy"]\n'
    files = {"pyproject.toml": NINJA, "python/pyproject.toml": inner}
    from_git(tmp_path, repository(Commit(files)), 'main", subdirectory: "./python/', arguments="")
    locked = relocked(tmp_path).commits[DEMO][V10]
    assert (locked.subdirectory, locked.requires, locked.requires_dist) == ("python", ("cmake",), ("torch<2.14",))
    config = load_config(tmp_path)
    assert config.lock.source_of(config.packages[DEMO], V10) == locked


def test_another_subdirectory_is_locked_anew(tmp_path: Path) -> None:
    repository = upstream()
    commit = repository.commits[0]
    from_git(tmp_path, repository, commit)
    relocked(tmp_path)
    from_git(tmp_path, repository, f'{commit}", subdirectory: "python')
    config = load_config(tmp_path)
    assert config.lock.source_of(config.packages[DEMO], V10) is None
    from_git(tmp_path, repository, f'{commit}", subdirectory: "python', arguments="")
    with pytest.raises(UsageError, check=coded("subdirectory-invalid", "entry of demo: source.subdirectory")):
        relocked(tmp_path)


@pytest.mark.parametrize(("name", "code"), [("upstream", "ref-absent"), ("nowhere", "repository-silent")])
def test_a_ref_that_is_nowhere_is_named(name: str, code: str, tmp_path: Path) -> None:
    from_git(tmp_path, upstream().path.with_name(name), "v9")
    with pytest.raises(UsageError, check=coded(code, name)):
        relocked(tmp_path)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('{git: "http://example.org/a", ref: main}', "14: packages.demo.source.git: "),
        ('{git: "git@example.org:a", ref: main}', "14: packages.demo.source.git: "),
        ('{git: "https://me:pw@example.org/a", ref: a}', "14: packages.demo.source.git: "),
        ('{git: "https://example.org/a?b", ref: main}', "14: packages.demo.source.git: "),
        ('{git: "https://example.org/a"}', "5: packages.demo.source.ref: is required"),
        ('{git: "https://example.org/a", ref: "-x"}', "44: packages.demo.source.ref: "),
        ('{git: "https://example.org/a", ref: ""}', "44: packages.demo.source.ref: "),
        ('{git: "https://example.org/a", ref: "a..b"}', "44: packages.demo.source.ref: "),
        ('{git: "https://example.org/a", ref: "v{v}"}', "44: packages.demo.source.ref: "),
        ('{git: "https://example.org/a", ref: "*"}', "44: packages.demo.source.ref: "),
        *(
            (
                f'{{git: "https://example.org/a", ref: a, subdirectory: "{folder}"}}',
                "52: packages.demo.source.subdirectory: ",
            )
            for folder in ("../other", "python/../..", "/etc", ".", "", "a\\nb", "a$b")
        ),
        ('{git: "https://example.org/a", ref: a, tag: b}', "52: packages.demo.source.tag: "),
    ],
)
def test_a_fault_in_a_git_source_is_named(source: str, fault: str, tmp_path: Path) -> None:
    write_packages(tmp_path, f'packages:\n  demo:\n    versions: ["1.0"]\n    source: {source}\n')
    (found,) = faults_of(load_config, tmp_path)
    assert found.removeprefix("packages.yml:4:").startswith(fault), found


@pytest.mark.parametrize(
    ("versions", "fault"),
    [('["1.0"]', "packages.demo.pypi: is required"), ('">=1"', "packages.demo.source: a range of versions")],
)
def test_a_git_source_names_the_indexs_project_and_lists_versions(versions: str, fault: str, tmp_path: Path) -> None:
    source = '{git: "https://example.org/a", ref: b}'
    write_packages(tmp_path, f"packages: {{demo: {{versions: {versions}, source: {source}}}}}")
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", fault)):
        load_config(tmp_path)
