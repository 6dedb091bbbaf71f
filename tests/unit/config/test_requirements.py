"""Locking what builds require."""

from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.config.locking import DEMO, V10, archive_of, file, pin, relocked, write_packages
from tests.wheels import write_wheel
from wheelmill.config import lock
from wheelmill.errors import UsageError
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
def test_sdist_requirements_are_plain(
    pyproject: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
