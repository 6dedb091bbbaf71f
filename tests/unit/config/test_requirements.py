"""Locking what builds require. Locking commits of git repositories."""

from pathlib import Path

import pytest

from tests.git_repositories import Commit, Repository, repository
from tests.refusals import coded, faults_of
from tests.unit.config.locking import DEMO, V10, archive_of, file, pin, relocked, write_packages
from tests.wheels import write_wheel
from wheelmill.config import lock
from wheelmill.config.load import load_config
from wheelmill.config.model.files import LockedCommit
from wheelmill.config.model.package_parts import GitSource
from wheelmill.errors import ConfigurationError, UsageError
from wheelmill.system.files import sha256_of_bytes

pytestmark = pytest.mark.usefixtures("wheels")


def project(folder: Path, extra_deps: str = "[]", arguments: str = "--no-build-isolation") -> None:
    """A package with its source in a folder."""
    (folder / "demo").mkdir(exist_ok=True)
    entry = f'{{versions: ["1.0"], source: demo, extra_deps: {extra_deps}, build_args: "{arguments}"}}'
    write_packages(folder, f"packages:\n  demo: {entry}\n")


def test_requirements_are_pinned_with_their_hashes(tmp_path: Path, wheels: Path) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    project(tmp_path, '["ninja>=1", torch]')
    locked = relocked(tmp_path).requirements[DEMO]
    assert locked.inputs == ("ninja>=1", "setuptools", "wheel")
    assert locked.pinned == tuple(pin(wheel) for wheel in sorted(wheels.glob("*.whl")))


def test_what_differs_between_pythons_keeps_its_markers(tmp_path: Path, wheels: Path) -> None:
    newer = "Metadata-Version: 2.1\nName: ninja\nVersion: 2.0\nRequires-Python: >=3.11\n"
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    write_wheel(wheels / "ninja-2.0-py3-none-any.whl", metadata=newer)
    project(tmp_path, '["ninja>=1"]')
    assert [found.requirement for found in relocked(tmp_path).requirements[DEMO].pinned][:2] == [
        'ninja==1.0; python_full_version < "3.11"',
        'ninja==2.0; python_full_version >= "3.11"',
    ]


def test_torch_and_what_it_needs_are_left_out_whatever_depends_on_it(tmp_path: Path, wheels: Path) -> None:
    needs = "Metadata-Version: 2.1\nName: vision\nVersion: 1.0\nRequires-Dist: torch==2.11.0\n"
    write_wheel(wheels / "vision-1.0-py3-none-any.whl", metadata=needs)
    project(tmp_path, "[vision]")
    pinned = relocked(tmp_path).requirements[DEMO].pinned
    assert [found.requirement for found in pinned] == ["setuptools==99.0", "vision==1.0", "wheel==99.0"]


def test_only_requirements_that_changed_are_locked_anew(tmp_path: Path, wheels: Path) -> None:
    old = write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    project(tmp_path, "[ninja]")
    relocked(tmp_path)
    new = write_wheel(wheels / "ninja-2.0-py3-none-any.whl")
    assert pin(old) in relocked(tmp_path).requirements[DEMO].pinned
    project(tmp_path, '["ninja>=1"]')
    assert pin(new) in relocked(tmp_path).requirements[DEMO].pinned


def test_requirements_that_are_nowhere_are_named_in_the_words_of_uv(tmp_path: Path) -> None:
    project(tmp_path, "[cmake]")
    with pytest.raises(UsageError, check=coded("requirements-unknown", "(cmake, setuptools, wheel)", "cmake was not")):
        relocked(tmp_path)


def sdist_in_cache(content: str, cache: Path, monkeypatch: pytest.MonkeyPatch, python: str | None = None) -> None:
    """Let the package index have one source distribution, which this machine downloaded before."""
    archive = archive_of({"pyproject.toml": content})
    sha256 = sha256_of_bytes(archive)
    path = cache / "wheelmill" / "sdists" / sha256 / "demo-1.0.tar.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(archive)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    offered = file("demo-1.0.tar.gz")._replace(sha256=sha256, requires_python=python)
    monkeypatch.setattr(lock, "sdists_of", lambda _: (offered,))


ISOLATED = 'packages: {demo: {versions: ["1.0"]}}'


def test_isolation_locks_what_the_sdist_requires(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    pyproject = '[build-system]\nrequires = ["torch==2.5", "ninja >= 1", "setuptools"]\n'
    sdist_in_cache(pyproject, tmp_path / "cache", monkeypatch)
    write_packages(tmp_path, ISOLATED)
    locked = relocked(tmp_path)
    assert locked.sdists[DEMO][V10].requires == ("ninja>=1", "setuptools", "torch==2.5")
    assert locked.requirements[DEMO].inputs == ("ninja>=1", "setuptools", "wheel")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    assert relocked(tmp_path) == locked


@pytest.mark.parametrize(
    ("python", "locked"), [(">=3.12", True), (">=3.12,<4", True), (">=3.8", False), (None, False), ("<3.9", False)]
)
def test_pythons_that_a_source_is_not_for_need_not_resolve(
    *, python: str | None, locked: bool, tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = "Metadata-Version: 2.1\nName: nanobind\nVersion: 3.0\nRequires-Python: >=3.12\n"
    write_wheel(wheels / "nanobind-3.0-py3-none-any.whl", metadata=newer)
    sdist_in_cache('[build-system]\nrequires = ["nanobind"]\n', tmp_path / "cache", monkeypatch, python)
    write_packages(tmp_path, ISOLATED)
    if locked:
        assert relocked(tmp_path).requirements[DEMO].pinned[0].requirement == "nanobind==3.0"
    else:
        with pytest.raises(UsageError, check=coded("requirements-unknown", "demo", "nanobind")):
            relocked(tmp_path)


@pytest.mark.parametrize(
    ("pyproject", "code"),
    [
        ("[build-system", "not-toml"),
        ("build-system = 1", "pyproject-invalid"),
        ('[build-system]\nrequires = "ninja"', "pyproject-invalid"),
        ('[build-system]\nrequires = ["ninja @ https://example.org/ninja.whl"]', "pyproject-invalid"),
        ('[build-system]\nrequires = ["--index-url=x"]', "pyproject-invalid"),
        (f"requires = {'[' * 9999}", "not-toml"),
    ],
    ids=["no TOML", "no table", "text", "URL", "option", "deep"],
)
def test_sdist_requirements(pyproject: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sdist_in_cache(pyproject, tmp_path / "cache", monkeypatch)
    write_packages(tmp_path, ISOLATED)
    with pytest.raises(UsageError, check=coded(code, "demo-1.0")):
        relocked(tmp_path)


def test_build_isolation_locks_what_a_folder_requires(tmp_path: Path, wheels: Path) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    project(tmp_path, arguments="")
    assert relocked(tmp_path).requirements[DEMO].inputs == ("setuptools", "wheel")
    (tmp_path / "demo" / "pyproject.toml").write_text('[build-system]\nrequires = ["ninja"]\n')
    assert relocked(tmp_path).requirements[DEMO].inputs == ("ninja", "setuptools", "wheel")


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
