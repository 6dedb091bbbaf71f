"""What is said of a difference, and what becomes of the file."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from wheelmill.config.load import load_config
from wheelmill.config.maintenance.drift import TorchDifference, find_drift, find_python_differences, write_differences
from wheelmill.config.maintenance.published import PublishedTorch
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.container_builder import ContainerBuilder, identifier_of
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_version
from wheelmill.system import own_installation

CHECKED = dt.date(2027, 1, 2)
X86, ARM = Platform.parse("linux_x86_64"), Platform.parse("linux_aarch64")
T25, NEWEST = TorchVersion(2, 5), TorchVersion(2, 15)
NEWER = TorchVersion(3, 0)

Published = dict[TorchVersion, PublishedTorch]


@pytest.fixture(scope="module")
def facts() -> Compatibility:
    return load_config(own_installation.CONFIG).compatibility


@pytest.fixture
def published(facts: Compatibility) -> Published:
    """An index that says what the file says."""
    return {
        torch: PublishedTorch(
            release=project_version(known.release),
            python=known.python,
            glibc=Version(known.glibc),
            default_cuda=known.default_cuda,
        )
        for torch, known in facts.torch.items()
    }


def release(version: str, *pythons: str, cuda: str | None) -> PublishedTorch:
    return PublishedTorch(
        release=project_version(version),
        python={X86: frozenset(map(PythonVersion.parse, pythons))},
        glibc=Version("2.28"),
        default_cuda=CudaVersion.parse(cuda) if cuda else None,
    )


def test_equal_facts_are_no_drift(facts: Compatibility, published: Published) -> None:
    found = find_drift(facts, published)
    assert (found.differences, found.unknown) == ((), ())


def test_every_difference_is_one_line(facts: Compatibility, published: Published) -> None:
    first, second, *_ = sorted(published)
    published[first] = release("2.0.9", "3.9", "3.10", "3.12", "3.12t", cuda="11.8")
    published[second] = replace(published[second], default_cuda=CudaVersion(12, 9))
    published[NEWER] = release("3.0.0", "3.11", "3.12", "3.13", "3.13t", cuda="14.0")
    assert list(map(str, find_drift(facts, published).differences)) == [
        "torch 2.0: release 2.0.1, the index has 2.0.9",
        "torch 2.0: python 3.8-3.11, the index has 3.9-3.10, 3.12, 3.12t",
        "torch 2.0: default_cuda 11.7, the index has 11.8",
        "torch 2.1: default_cuda 12.1, the index has 12.9",
        "torch 3.0: missing (release 3.0.0, Python 3.11-3.13, 3.13t, CUDA 14.0)",
    ]


def test_what_the_index_does_not_tell_is_no_difference(facts: Compatibility, published: Published) -> None:
    first, second, *_ = sorted(published)
    published[first] = replace(published[first], default_cuda=None)
    del published[second]
    found = find_drift(facts, published)
    assert found.differences == ()
    assert found.unknown == (
        "torch 2.0: the index does not tell the CUDA of 2.0.1",
        "torch 2.1: the index has no wheels of it for linux x86_64",
    )


def test_pythons_may_differ_by_platform(facts: Compatibility, published: Published, tmp_path: Path) -> None:
    pythons = {X86: frozenset({PythonVersion(3, 12), PythonVersion(3, 13)}), ARM: frozenset({PythonVersion(3, 12)})}
    published[T25] = replace(published[T25], python=dict.fromkeys(pythons, pythons[X86]))
    published[NEWEST] = replace(published[NEWEST], python=pythons)
    one, other = find_drift(facts, published).differences
    assert str(one) == (
        "torch 2.5: python 3.9-3.13 on linux_x86_64 and 3.9-3.12 on linux_aarch64, the index has 3.12-3.13"
    )
    assert str(other).endswith("the index has 3.12-3.13 on linux_x86_64 and 3.12 on linux_aarch64")

    path = tmp_path / "compatibility.yml"
    path.write_bytes((own_installation.CONFIG / path.name).read_bytes())
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    write_differences(path, [one, other], checked=CHECKED)
    now = load_config(tmp_path).compatibility
    assert now.torch[T25].python == {X86: pythons[X86], ARM: pythons[X86]}
    assert now.torch[NEWEST].python == pythons


def test_a_platform_without_wheels_on_the_index_is_unknown(facts: Compatibility, published: Published) -> None:
    published[NEWEST] = replace(published[NEWEST], python={X86: published[NEWEST].python[X86]})
    found = find_drift(facts, published)
    assert found.differences == ()
    release = published[NEWEST].release
    assert found.unknown == (f"torch {NEWEST}: the index has no wheels of {release} for linux_aarch64",)


def test_a_missing_release_without_its_cuda_cannot_be_written(facts: Compatibility, published: Published) -> None:
    published[NEWER] = release("3.0.0", "3.12", cuda=None)
    found = find_drift(facts, published)
    (difference,) = found.differences
    assert str(difference) == "torch 3.0: missing (release 3.0.0, Python 3.12, CUDA unknown)"
    assert not difference.writable
    assert found.unknown == ("torch 3.0: the index does not tell the CUDA of 3.0.0",)


def test_a_file_brought_up_to_date_has_no_drift(facts: Compatibility, published: Published, tmp_path: Path) -> None:
    first, *_ = sorted(published)
    published[first] = release("2.0.9", "3.9", "3.9t", cuda="11.8")
    published[NEWER] = release("3.0.0", "3.12", "3.12t", cuda="14.0")
    path = tmp_path / "compatibility.yml"
    before = (own_installation.CONFIG / path.name).read_text()
    path.write_text(before)
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    write_differences(path, find_drift(facts, published).differences, checked=CHECKED)

    now = load_config(tmp_path).compatibility
    assert find_drift(now, published).differences == ()
    assert now.torch[first] == replace(
        facts.torch[first], release="2.0.9", python=published[first].python, default_cuda=CudaVersion(11, 8)
    )
    assert now.torch[NEWER].cuda == {Platform.parse("linux_x86_64"): {CudaVersion(14, 0)}}
    assert now.torch[NEWER].glibc == "2.28"
    releases = {**facts.torch, first: now.torch[first], NEWER: now.torch[NEWER]}
    assert now == replace(facts, torch=replace(facts.torch, checked=CHECKED, releases=releases))
    changed = set(path.read_text().splitlines()) - set(before.splitlines())
    assert sorted(line.strip() for line in changed) == [
        *('"3.0":', "checked: 2027-01-02", 'cuda: {linux_x86_64: ["14.0"]}', 'default_cuda: "11.8"'),
        *('default_cuda: "14.0"', 'python: ["3.12", "3.12t"]', 'python: ["3.9", "3.9t"]', 'release: "2.0.9"'),
        'release: "3.0.0"',
    ]


def test_a_release_is_found_under_another_spelling(tmp_path: Path) -> None:
    path = tmp_path / "compatibility.yml"
    path.write_text('torch:\n  checked: 2026-01-01\n  releases:\n    "2.11.0": {release: "2.11.0"} # spelled out\n')
    difference = TorchDifference(torch=TorchVersion(2, 11), fact="release", file="2.11.0", index="2.11.1")
    write_differences(path, [difference], checked=CHECKED)
    assert path.read_text() == (
        'torch:\n  checked: 2027-01-02\n  releases:\n    "2.11.0": {release: "2.11.1"} # spelled out\n'
    )


def test_a_second_candidate_is_added_with_a_note(facts: Compatibility, published: Published, tmp_path: Path) -> None:
    path = tmp_path / "compatibility.yml"
    path.write_text((own_installation.CONFIG / path.name).read_text())
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    first, second = TorchVersion(9, 1, 1), TorchVersion(9, 1, 2)
    cudas = {Platform("linux", "aarch64"): frozenset({CudaVersion(13, 0)})}
    new = replace(release("9.1.0", "3.12", cuda="13.0"), cuda=cudas)
    write_differences(path, find_drift(facts, published, {first: new}).differences, checked=CHECKED)
    now = load_config(tmp_path).compatibility
    assert now.torch.keys() == facts.torch.keys()
    found = find_drift(now, published, {second: new})
    assert found.unknown == ("torch 9.1rc1: no candidate any more; its entry can go",)
    write_differences(path, found.differences, checked=CHECKED)
    assert load_config(tmp_path).compatibility.torch.candidates.keys() == {first, second}
    assert find_drift(now, published).unknown == (), "where nobody could ask, nothing is over"


def test_pythons_are_compared_with_those_of_the_builder(facts: Compatibility) -> None:
    listed = [identifier_of(python, platform) for python in facts.pythons for platform in facts.platforms]
    builder = ContainerBuilder(name="builder 1", identifiers=frozenset(listed))
    assert list(find_python_differences(facts, builder)) == []
    new, gone = PythonVersion(3, 99), min(facts.pythons)
    names = {*listed, *(identifier_of(new, platform) for platform in facts.platforms)} - {identifier_of(gone, ARM)}
    found = find_python_differences(facts, replace(builder, identifiers=frozenset(names)))
    assert [str(each) for each in found] == [
        f"Python {gone}: {gone}, builder 1 has none",
        "Python 3.99: missing, builder 1 has 3.99",
    ]


def test_a_python_older_than_all_that_are_listed_may_stay_away(facts: Compatibility) -> None:
    listed = [identifier_of(python, platform) for python in facts.pythons for platform in facts.platforms]
    older = [identifier_of(PythonVersion(3, 8), platform) for platform in facts.platforms]
    builder = ContainerBuilder(name="builder 1", identifiers=frozenset([*listed, *older]))
    assert list(find_python_differences(facts, builder)) == []
