"""``packages.lock``: written one way, and never changed behind a person's back."""

import hashlib
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypi_simple import DistributionPackage, parse_filename

from tests.unit.build.conftest import package_index_of
from tests.wheels import write_wheel
from wheelmill import resources
from wheelmill.config import lock
from wheelmill.config.load import load_config
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.records import (
    Config,
    GitSource,
    Lock,
    LockedCommit,
    LockedRequirement,
    LockedRequirements,
    LockedSdist,
)
from wheelmill.errors import ConfigurationError, UsageError
from wheelmill.files import sha256_of
from wheelmill.names import ProjectName, Sha256, project_name, project_version

DEMO, OTHER = project_name("demo"), project_name("other")
V10, V20, V210 = project_version("1.0"), project_version("2.0"), project_version("2.10")

PACKAGES = """
packages:
  other: {versions: ["2.10"], build_args: "--no-build-isolation"}
  demo: {versions: ["1.0", "2.0"], build_args: "--no-build-isolation"}
"""
RANGE = 'packages: {demo: {versions: "%s", build_args: "--no-build-isolation"}}'
LOCKED = LockedSdist(filename="demo-1.0.tar.gz", sha256=Sha256("1" * 64))

Offer = Callable[..., list[ProjectName]]


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path) -> Iterator[Path]:
    """The folder whose wheels are all that requirements resolve to."""
    with package_index_of(tmp_path / "wheels") as wheels:
        for name in ("setuptools", "wheel"):
            write_wheel(wheels / f"{name}-99.0-py3-none-any.whl")
        yield wheels


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Set which files the package index has; the list that comes back fills with the projects it is asked for."""

    def offered(*filenames: str) -> list[ProjectName]:
        asked: list[ProjectName] = []

        def sdists_of(project: ProjectName) -> tuple[DistributionPackage, ...]:
            asked.append(project)
            return tuple(file(name) for name in filenames if parse_filename(name)[0] == project)

        monkeypatch.setattr(lock, "sdists_of", sdists_of)
        return asked

    return offered


def file(name: str) -> DistributionPackage:
    project, version, package_type = parse_filename(name)
    return DistributionPackage(
        filename=name,
        url=f"https://example.org/{name}",
        project=project,
        version=version,
        package_type=package_type,
        digests={"sha256": "f" * 64},
        requires_python=None,
        has_sig=None,
    )


def sdist(name: str) -> LockedSdist:
    return LockedSdist(filename=name, sha256=Sha256("f" * 64))


def write_packages(folder: Path, text: str) -> None:
    (folder / "packages.yml").write_text(text)


def relocked(folder: Path, *projects: ProjectName, upgrade: bool = False) -> Lock:
    """Lock as the command does: what is in the file now is what the next one finds."""
    write_lock(lock_packages(load_config(folder), projects, upgrade=upgrade), folder)
    return load_config(folder).lock


def pin(wheel: Path) -> LockedRequirement:
    return LockedRequirement(requirement="==".join(wheel.name.split("-")[:2]), sha256=(sha256_of(wheel),))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A folder whose lock has the first version of the two of ``demo``, and nothing of ``other``."""
    (tmp_path / "packages.yml").write_text(PACKAGES)
    write_lock(Lock(sdists={(DEMO, V10): LOCKED}), tmp_path)
    return load_config(tmp_path)


def test_equal_locks_give_equal_bytes_that_read_back(tmp_path: Path) -> None:
    names = {(DEMO, V210): sdist("demo-2.10.tar.gz"), (DEMO, V10): LOCKED, (OTHER, V20): sdist("other-2.0.tar.gz")}
    written = []
    for sdists in (names, dict(reversed(names.items()))):
        write_lock(Lock(sdists=sdists), tmp_path)
        written.append((tmp_path / "packages.lock").read_bytes())
    assert written[0] == written[1]
    (tmp_path / "packages.yml").write_text(PACKAGES)
    assert load_config(tmp_path).lock == Lock(sdists=names)


hexadecimal = st.text("0123456789abcdef", min_size=64, max_size=64)
names = st.sampled_from([DEMO, OTHER])
versions = st.sampled_from([V10, V20, V210])
texts = st.lists(st.sampled_from(["ninja>=1.11", 'numpy; python_version < "3.10"', "wheel"]), unique=True).map(tuple)
requires = st.none() | texts
sources = st.builds(
    GitSource,
    url=st.sampled_from(["https://example.org/demo.git", "file:///srv/demo"]),
    ref=st.sampled_from(["v1.0", "main", "release/1.0"]),
    submodules=st.booleans(),
)
pins = st.builds(
    LockedRequirement,
    requirement=st.sampled_from(["ninja==1.13.2", 'numpy==2.0.2; python_full_version < "3.10"']),
    sha256=st.lists(hexadecimal, min_size=1, max_size=3, unique=True).map(tuple),
)
locks = st.builds(
    Lock,
    sdists=st.dictionaries(
        st.tuples(names, versions),
        st.builds(LockedSdist, filename=st.just("demo-1.0.tar.gz"), sha256=hexadecimal, requires=requires),
    ),
    commits=st.dictionaries(
        st.tuples(names, versions),
        st.builds(LockedCommit, source=sources, commit=hexadecimal.map(lambda text: text[:40]), requires=requires),
    ),
    requirements=st.dictionaries(
        names, st.builds(LockedRequirements, inputs=texts, pinned=st.lists(pins, max_size=3).map(tuple))
    ),
)


@settings(max_examples=30, deadline=None)
@given(locks)
def test_every_lock_that_is_written_reads_back(locked: Lock) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "packages.yml").write_text(PACKAGES)
        write_lock(locked, Path(folder))
        assert load_config(Path(folder)).lock == locked


def test_the_lock_that_ships_was_written_this_way(tmp_path: Path) -> None:
    write_lock(load_config(resources.CONFIG).lock, tmp_path)
    assert (tmp_path / "packages.lock").read_text() == (resources.CONFIG / "packages.lock").read_text()


def test_what_is_locked_stays_and_what_is_missing_is_added(config: Config, offer: Offer) -> None:
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz", "other-2.10.tar.gz", "other-2.1.tar.gz")
    assert lock_packages(config, ()).sdists == {
        (DEMO, V10): LOCKED,
        (DEMO, V20): sdist("demo-2.0.tar.gz"),
        (OTHER, V210): sdist("other-2.10.tar.gz"),
    }


def test_only_the_projects_that_were_named_are_looked_up(config: Config, offer: Offer) -> None:
    asked = offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    assert lock_packages(config, [OTHER]).sdists.keys() == {(DEMO, V10), (OTHER, V210)}
    assert asked == [OTHER]


@pytest.mark.usefixtures("config")
def test_a_whole_lock_asks_nobody(offer: Offer, tmp_path: Path, wheels: Path) -> None:
    offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    whole = relocked(tmp_path)
    written = (tmp_path / "packages.lock").read_bytes()
    asked = offer()
    for wheel in wheels.glob("*.whl"):
        wheel.unlink()
    assert relocked(tmp_path) == whole
    assert (tmp_path / "packages.lock").read_bytes() == written
    assert asked == []


@pytest.mark.usefixtures("config")
def test_an_upgrade_looks_everything_up_anew(offer: Offer, tmp_path: Path, wheels: Path) -> None:
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz", "other-2.10.tar.gz")
    relocked(tmp_path)
    newer = write_wheel(wheels / "wheel-100.0-py3-none-any.whl")
    after = relocked(tmp_path, DEMO, upgrade=True)
    assert after.sdists[DEMO, V10] == sdist("demo-1.0.tar.gz")
    assert pin(newer) in after.requirements[DEMO].pinned
    assert pin(newer) not in after.requirements[OTHER].pinned


def test_what_packages_yml_no_longer_lists_is_dropped(config: Config, offer: Offer, tmp_path: Path) -> None:
    offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    relocked(tmp_path)
    write_packages(tmp_path, 'packages: {demo: {versions: ["2.0"], build_args: "--no-build-isolation"}}\n')
    after = relocked(tmp_path)
    assert (DEMO, V10) in config.lock.sdists
    assert after.sdists == {(DEMO, V20): sdist("demo-2.0.tar.gz")}
    assert after.requirements.keys() == {DEMO}


def test_a_package_with_its_source_in_a_folder_is_not_looked_up(tmp_path: Path, offer: Offer) -> None:
    (tmp_path / "demo").mkdir()
    write_packages(tmp_path, 'packages: {demo: {versions: ["1.0"], source: demo}}\n')
    asked = offer("demo-1.0.tar.gz")
    assert lock_packages(load_config(tmp_path), ()).sdists == {}
    assert asked == []


def test_files_with_names_from_before_the_rules_are_passed_over(config: Config, offer: Offer) -> None:
    offer("demo-0.1.tar.bz2", "demo-1.0-final.tar.gz", "demo-2.0.tar.gz")
    assert lock_packages(config, [DEMO]).sdists[DEMO, V20] == sdist("demo-2.0.tar.gz")


def test_the_archive_that_builds_can_unpack_is_locked(config: Config, offer: Offer) -> None:
    offer("demo-2.0.tar.gz", "demo-2.0.zip")
    assert lock_packages(config, [DEMO]).sdists[DEMO, V20] == sdist("demo-2.0.tar.gz")


@pytest.mark.parametrize(
    ("filename", "sha256"),
    [
        ("demo-2.0.tar.gz", "f" * 63),
        ("demo-2.0.tar.gz", "../" * 21 + "f"),
        ("demo-2.0.tar.gz", None),
        ("../../demo-2.0.tar.gz", "f" * 64),
        ("other-2.0.tar.gz", "f" * 64),
    ],
    ids=["short hash", "folders for a hash", "no hash", "folders", "another project's"],
)
def test_what_the_lock_may_not_have_is_passed_over(
    filename: str, sha256: str | None, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {"sha256": sha256} if sha256 else {}
    offered = replace(file("demo-2.0.tar.gz"), filename=filename, digests=digests)
    monkeypatch.setattr(lock, "sdists_of", lambda _: (offered,))
    with pytest.raises(UsageError, match=r"has no source distribution of demo 2\.0$"):
        lock_packages(config, [DEMO])


def test_a_version_that_the_index_lacks_is_named(config: Config, offer: Offer) -> None:
    offer("demo-1.0.tar.gz")
    with pytest.raises(UsageError, match=r"^the package index has no source distribution of demo 2\.0$"):
        lock_packages(config, [DEMO])


def test_an_unknown_project_is_refused_before_anything_is_looked_up(config: Config, offer: Offer) -> None:
    asked = offer()
    with pytest.raises(UsageError, match=r"^demoo: not in packages\.yml$"):
        lock_packages(config, [DEMO, project_name("demoo")])
    assert asked == []


@pytest.mark.parametrize(
    ("versions", "locked"),
    [
        (">=1,<2", ["1.0", "1.5.post1"]),
        (">=1.5rc1", ["1.5rc1", "1.5.post1", "2.0"]),
        ("==2.*", ["2.0"]),
    ],
    ids=["final releases", "a pre-release that is named", "a prefix"],
)
def test_a_range_takes_every_release_in_it(versions: str, locked: list[str], offer: Offer, tmp_path: Path) -> None:
    offer("demo-1.0.tar.gz", "demo-1.5rc1.tar.gz", "demo-1.5.post1.tar.gz", "demo-2.0.tar.gz", "demo-2.1.zip")
    write_packages(tmp_path, RANGE % versions)
    relocked(tmp_path)
    assert list(load_config(tmp_path).packages[DEMO].versions) == locked


def test_a_range_keeps_what_it_has_until_it_is_upgraded(offer: Offer, tmp_path: Path) -> None:
    write_packages(tmp_path, RANGE % ">=1")
    offer("demo-1.0.tar.gz")
    relocked(tmp_path)
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz")
    assert relocked(tmp_path).sdists.keys() == {(DEMO, V10)}
    assert relocked(tmp_path, upgrade=True).sdists.keys() == {(DEMO, V10), (DEMO, V20)}


def test_a_range_without_a_release_is_named(offer: Offer, tmp_path: Path) -> None:
    offer("demo-1.0.tar.gz", "demo-2.0rc1.tar.gz")
    write_packages(tmp_path, RANGE % ">=2.0")
    with pytest.raises(UsageError, match=r"^the package index has no source distribution of demo >=2\.0$"):
        relocked(tmp_path)


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
    with pytest.raises(
        UsageError, match=r"(?s)^the build requirements of demo \(cmake, setuptools, wheel\).*cmake was not"
    ):
        relocked(tmp_path)


def sdist_in_cache(content: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package index have one source distribution, which this machine downloaded before."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("demo-1.0/pyproject.toml")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content.encode()))
    sha256 = hashlib.sha256(archive.getvalue()).hexdigest()
    path = cache / "wheelmill" / "sdists" / sha256 / "demo-1.0.tar.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(archive.getvalue())
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    offered = replace(file("demo-1.0.tar.gz"), digests={"sha256": sha256})
    monkeypatch.setattr(lock, "sdists_of", lambda _: (offered,))


ISOLATED = 'packages: {demo: {versions: ["1.0"]}}'


def test_build_isolation_locks_what_the_source_distribution_requires(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    pyproject = '[build-system]\nrequires = ["torch==2.5", "ninja >= 1", "setuptools"]\n'
    sdist_in_cache(pyproject, tmp_path / "cache", monkeypatch)
    write_packages(tmp_path, ISOLATED)
    locked = relocked(tmp_path)
    assert locked.sdists[DEMO, V10].requires == ("ninja>=1", "setuptools", "torch==2.5")
    assert locked.requirements[DEMO].inputs == ("ninja>=1", "setuptools", "wheel")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    assert relocked(tmp_path) == locked


@pytest.mark.parametrize(
    "pyproject",
    [
        "[build-system",
        "build-system = 1",
        '[build-system]\nrequires = "ninja"',
        '[build-system]\nrequires = ["ninja @ https://example.org/ninja.whl"]',
        '[build-system]\nrequires = ["--index-url=x"]',
        f"requires = {'[' * 9999}",
    ],
    ids=["no TOML", "no table", "text", "URL", "option", "deep"],
)
def test_what_a_source_distribution_requires_must_be_plain(
    pyproject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdist_in_cache(pyproject, tmp_path / "cache", monkeypatch)
    write_packages(tmp_path, ISOLATED)
    with pytest.raises(UsageError, match=r"^the pyproject\.toml of demo-1\.0\.tar\.gz does not say what"):
        relocked(tmp_path)


def test_build_isolation_locks_what_a_folder_requires(tmp_path: Path, wheels: Path) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    project(tmp_path, arguments="")
    assert relocked(tmp_path).requirements[DEMO].inputs == ("setuptools", "wheel")
    (tmp_path / "demo" / "pyproject.toml").write_text('[build-system]\nrequires = ["ninja"]\n')
    assert relocked(tmp_path).requirements[DEMO].inputs == ("ninja", "setuptools", "wheel")


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
    entry = f'versions: ["1.0"], source: {{git: "{repository.as_uri()}", ref: "{ref}"}}, build_args: "{arguments}"'
    write_packages(folder, f"packages: {{demo: {{{entry}}}}}")


@pytest.mark.parametrize("options", [[], ["-a", "-m", "annotated"]], ids=["light", "annotated"])
def test_a_tag_is_locked_as_the_commit_that_it_points_to(options: list[str], repository: Path, tmp_path: Path) -> None:
    commit = committed(repository, "first")
    git(repository, "tag", *options, "v1.0")
    git(repository, "branch", "other/v1.0")
    git(repository, "branch", "v1.0", committed(repository, "second"))
    from_git(tmp_path, repository, "v{version}")
    locked = relocked(tmp_path).commits[DEMO, V10]
    source = GitSource(url=repository.as_uri(), ref="v1.0", submodules=False)
    assert locked == LockedCommit(source=source, commit=commit)


def test_a_branch_stays_where_it_was_until_it_is_upgraded(repository: Path, tmp_path: Path) -> None:
    first = committed(repository, "first")
    from_git(tmp_path, repository, "main")
    relocked(tmp_path)
    second = committed(repository, "second")
    assert relocked(tmp_path).commits[DEMO, V10].commit == first
    assert relocked(tmp_path, upgrade=True).commits[DEMO, V10].commit == second


def test_another_ref_in_packages_yml_is_locked_anew(repository: Path, tmp_path: Path) -> None:
    first = committed(repository, "first")
    git(repository, "tag", "v1.0")
    second = committed(repository, "second")
    from_git(tmp_path, repository, "v1.0")
    assert relocked(tmp_path).commits[DEMO, V10].commit == first
    from_git(tmp_path, repository, "main")
    config = load_config(tmp_path)
    assert config.lock.source_of(config.packages[DEMO], V10) is None
    assert relocked(tmp_path).commits[DEMO, V10].commit == second


def test_a_commit_needs_no_look_up(repository: Path, tmp_path: Path) -> None:
    from_git(tmp_path, tmp_path / "nowhere", commit := committed(repository, "first"))
    assert relocked(tmp_path).commits[DEMO, V10].commit == commit


def test_build_isolation_locks_what_a_commit_requires(repository: Path, tmp_path: Path, wheels: Path) -> None:
    write_wheel(wheels / "ninja-1.0-py3-none-any.whl")
    committed(repository, "first")
    from_git(tmp_path, repository, "main", arguments="")
    locked = relocked(tmp_path)
    assert locked.commits[DEMO, V10].requires == ("ninja",)
    assert locked.requirements[DEMO].inputs == ("ninja", "setuptools", "wheel")


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
        ('{git: "https://example.org/a", ref: a, tag: b}', "52: packages.demo.source.tag: is not a key here"),
    ],
)
def test_a_fault_in_a_git_source_is_named(source: str, fault: str, tmp_path: Path) -> None:
    write_packages(tmp_path, f'packages:\n  demo:\n    versions: ["1.0"]\n    source: {source}\n')
    with pytest.raises(ConfigurationError) as caught:
        load_config(tmp_path)
    (found,) = caught.value.faults
    assert found.removeprefix("packages.yml:4:").startswith(fault), found


def test_a_range_of_versions_needs_the_package_index(tmp_path: Path) -> None:
    write_packages(tmp_path, 'packages: {demo: {versions: ">=1", source: {git: "https://example.org/a", ref: b}}}')
    with pytest.raises(ConfigurationError, match=r"packages\.demo\.source: a range of versions is looked up"):
        load_config(tmp_path)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("{inputs: [ninja], pinned: [{requirement: ninja>=1, sha256: [%s]}]}", "0.requirement: expected a pinned"),
        ("{inputs: [ninja], pinned: [{requirement: ninja==1.*, sha256: [%s]}]}", "0.requirement: expected a pinned"),
        ("{inputs: [ninja], pinned: [{requirement: 'x[y]==1', sha256: [%s]}]}", "0.requirement: expected a pinned"),
        ("{inputs: [ninja], pinned: [{requirement: ninja==1, sha256: []}]}", "0.sha256: expected at least one item"),
        ("{inputs: [ninja], pinned: [{requirement: ninja==1, sha256: [%sff]}]}", "0.sha256.0: expected 64 lower-case"),
    ],
)
def test_a_fault_in_locked_requirements_is_named(written: str, fault: str, tmp_path: Path) -> None:
    write_packages(tmp_path, PACKAGES)
    (tmp_path / "packages.lock").write_text(f"sdists: {{}}\nrequirements:\n  demo: {written.replace('%s', 'a' * 64)}\n")
    with pytest.raises(ConfigurationError) as caught:
        load_config(tmp_path)
    (found,) = caught.value.faults
    assert found.startswith("packages.lock:3:")
    assert f"requirements.demo.pinned.{fault}" in found
