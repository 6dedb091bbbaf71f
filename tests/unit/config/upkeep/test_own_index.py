"""What torch's own indexes tell: for which CUDAs a release is built, and which release candidates there are."""

from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.version import Version

from tests.git_repositories import Commit, repository
from tests.torch_index import write_torch_index
from tests.unit.plan.examples import ARM, CUDA_12, CUDA_13, FACTS, TORCH_9, TORCH_11, X86
from wheelmill.config.model import TorchFacts
from wheelmill.config.upkeep.own_index import candidates_among, own_builds, with_pythons
from wheelmill.config.upkeep.published import PublishedTorch, published_torch
from wheelmill.errors import NetworkError
from wheelmill.index.serve import serve_folder
from wheelmill.names import CudaVersion, PythonVersion, TorchVersion, project_version
from wheelmill.web.client import Web

PY_12, PY_13 = PythonVersion(3, 12), PythonVersion(3, 13)


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the indexes in the folder, one for each CUDA."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve_folder(tmp_path) as url:
        yield f"{url}cu{{cuda}}/simple/"


def write(folder: Path, cuda: str, *builds: str) -> None:
    """Write the index of a CUDA: builds are versions with the tags of one wheel."""
    names = [f"torch-{build}.whl" for build in builds]
    write_torch_index(folder / cuda, dict.fromkeys(names))


def tagged(*tags: str) -> str:
    """The address of a repository with these tags."""
    return repository(Commit({"README.md": ""}, tags=tags)).path.as_uri()


def test_builds_are_for_the_cuda_of_their_label(template: str, tmp_path: Path) -> None:
    write(
        tmp_path,
        "cu130",
        "2.16.0+cu130-cp312-cp312-manylinux_2_28_x86_64",
        "2.16.0+cu130-cp313-cp313-manylinux_2_28_aarch64",
        "2.16.0+cu130-cp312-cp312-win_amd64",
        "2.16.0+cu126-cp310-cp310-manylinux_2_28_x86_64",
        "2.17.0.dev20261122+cu130-cp312-cp312-manylinux_2_28_x86_64",
        "2.14.0+cu130-cp312-cp312-manylinux_2_28_aarch64",
    )
    write(tmp_path, "cu128", "2.16.0+cu128-cp313-cp313-manylinux_2_31_x86_64")
    builds = own_builds(template, [CUDA_13, CUDA_12, CudaVersion(12, 6)])
    assert list(builds) == [Version("2.16.0")]
    assert builds[Version("2.16.0")].cuda == {X86: {CUDA_12, CUDA_13}, ARM: {CUDA_13}}


@pytest.mark.parametrize("named", ["2.12.0", "2.12.0rc1"])
def test_a_candidate_is_known_by_its_tag_or_by_its_version(named: str, template: str, tmp_path: Path) -> None:
    """Upstream gives the wheels of a candidate the version of the release to come."""
    repository = tagged("v2.12.0-rc1", "v2.12.0-rc10", "v2.12.0-rc9", "v2.12.0-rc", "v2.11.0-rc12")
    write(
        tmp_path,
        "cu130",
        f"{named}+cu130-cp312-cp312-manylinux_2_28_x86_64",
        f"{named}+cu130-cp313-cp313-manylinux_2_28_x86_64",
        "2.11.0+cu130-cp312-cp312-manylinux_2_28_x86_64",
        "2.12.1rc1+cu130-cp312-cp312-manylinux_2_28_x86_64",
    )
    torch = replace(FACTS.torch, repository=repository)
    found, unknown = candidates_among(own_builds(template, [CUDA_13]), torch, [TORCH_11])
    candidate = TorchVersion(2, 12, 10 if named == "2.12.0" else 1)
    assert (list(found), unknown) == ([candidate], ())
    facts = found[candidate]
    assert facts.release == named
    assert facts.python == {X86: {PY_12, PY_13}}
    assert facts.cuda == {X86: {CUDA_13}}
    assert (str(facts.glibc), facts.default_cuda) == ("2.28", CUDA_13)


def test_of_several_candidates_the_newest_counts(template: str, tmp_path: Path) -> None:
    builds = (f"2.12.0rc{number}+cu130-cp312-cp312-manylinux_2_28_x86_64" for number in (2, 10, 9))
    write(tmp_path, "cu130", *builds, "2.13.0rc1+cu130-cp312-cp312-manylinux_2_28_x86_64")
    found, _ = candidates_among(own_builds(template, [CUDA_13]), FACTS.torch, [TORCH_11])
    assert list(found) == [TorchVersion(2, 12, 10), TorchVersion(2, 13, 1)]


def test_what_the_facts_have_is_no_candidate_where_the_package_index_lags_behind(template: str, tmp_path: Path) -> None:
    write(tmp_path, "cu130", "2.11.0+cu130-cp312-cp312-manylinux_2_28_x86_64")
    assert candidates_among(own_builds(template, [CUDA_13]), FACTS.torch, [TORCH_9]) == ({}, ())


@pytest.mark.parametrize("repository", [None, "without a tag"])
def test_a_candidate_without_a_number_is_told_and_not_guessed(
    repository: str | None, template: str, tmp_path: Path
) -> None:
    write(tmp_path, "cu130", "2.12.0+cu130-cp312-cp312-manylinux_2_28_x86_64")
    torch: TorchFacts = replace(FACTS.torch, repository=tagged() if repository else None)
    found, unknown = candidates_among(own_builds(template, [CUDA_13]), torch, [TORCH_11])
    assert found == {}
    assert unknown == ("torch 2.12: 2.12.0 is a release candidate, and no tag tells its number",)


def test_an_object_store_forbids_what_it_does_not_have(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """download.pytorch.org answers so for a CUDA without an index; the package index must not."""
    forbidden = SimpleNamespace(status=HTTPStatus.FORBIDDEN, ok=False, outcome="403 Forbidden")
    monkeypatch.setattr(Web, "get", lambda *_, **__: forbidden)
    assert own_builds(template, [CUDA_13]) == {}
    with pytest.raises(NetworkError, match="the package index answers with no page of torch: 403 Forbidden"):
        published_torch(since=TORCH_11)


def test_of_the_pythons_of_the_file_those_that_nobody_has_go(template: str, tmp_path: Path) -> None:
    write(tmp_path, "cu130", "2.11.0+cu130-cp313-cp313-manylinux_2_28_x86_64")
    published = PublishedTorch(
        release=project_version("2.11.0"), python={X86: frozenset({PY_12})}, glibc=None, default_cuda=CUDA_13
    )
    known = {X86: frozenset({PythonVersion(3, 9), PY_12, PY_13}), ARM: frozenset({PY_12})}
    builds = own_builds(template, [CUDA_13])
    assert with_pythons(published, known, builds).python == {X86: {PY_12, PY_13}}
    assert with_pythons(published, known, {}).python == {X86: {PY_12}}
    assert with_pythons(published, known, None).python == {X86: known[X86]}
