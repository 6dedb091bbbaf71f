"""Wheels, sorted as people look for them."""

import pytest
from packaging.tags import Tag

from tests.unit.index.conftest import Release
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.wheels import Pythons, WheelGroup, pythons_of, wheel_groups
from wheelmill.names import PythonVersion
from wheelmill.release.manifest.record import ListedRelease
from wheelmill.wheel.name import read_tags


def groups(manifests: tuple[ListedRelease, ...]) -> tuple[WheelGroup, ...]:
    (files,) = site_of_releases(manifests, "").trees[0].projects.values()
    return wheel_groups(files)


@pytest.mark.parametrize(
    ("tag", "lets_in", "keeps_out", "text"),
    [
        (("cp312", "cp312"), ["3.12"], ["3.11", "3.13", "3.12t"], "3.12"),
        (("cp313", "cp313t"), ["3.13t"], ["3.13", "3.14t"], "3.13t"),
        (("cp39", "abi3"), ["3.9", "3.14"], ["3.8", "3.14t"], "3.9+"),
        (("cp315", "abi3t"), ["3.15t", "3.16t"], ["3.15", "3.16", "3.14t"], "3.15t+"),
        (("cp312", "none"), ["3.12"], ["3.13"], "3.12"),
        (("py310", "none"), ["3.10", "3.13"], ["3.9"], "3.10+"),
        (("py3", "none"), ["3.8", "3.14t"], [], "any"),
    ],
)
def test_tags_let_pythons_in(tag: tuple[str, str], lets_in: list[str], keeps_out: list[str], text: str) -> None:
    pythons = Pythons.of(Tag(*tag, "linux_x86_64"))
    assert [each for each in (*lets_in, *keeps_out) if pythons.allows(PythonVersion.parse(each))] == lets_in
    assert str(pythons) == text


@pytest.mark.parametrize("python", ["3.15", "3.15t", "3.16", "3.16t"])
def test_a_wheel_of_both_stable_abis_is_for_pythons_with_and_without_a_gil(python: str) -> None:
    pythons = pythons_of(read_tags("cp315-abi3.abi3t-linux_x86_64"))
    assert pythons
    assert pythons.allows(PythonVersion.parse(python))
    assert not any(pythons.allows(PythonVersion.parse(older)) for older in ("3.14", "3.14t"))
    assert str(pythons) == "3.15+, 3.15t+"


def test_a_wheel_for_another_interpreter_is_left_out(release: Release) -> None:
    assert groups(release("demo-1.0+cu130-pp310-pypy310_pp73-linux_x86_64.whl")) == ()


def test_wheels_that_differ_in_python_only_stand_together(release: Release) -> None:
    names = [f"demo-1.0+cu130torch2.11-cp3{minor}-cp3{minor}-manylinux_2_28_x86_64.whl" for minor in (9, 10, 12)]
    (group,) = groups(release(*names))
    assert [str(wheel.pythons) for wheel in group.wheels] == ["3.9", "3.10", "3.12"]
    assert (group.kind.version, group.kind.exact_version) == ("1.0", "1.0+cu130torch2.11")
    assert (group.kind.platform, group.kind.glibc, group.kind.folder) == (
        "linux_x86_64",
        "2.28",
        "cu130/torch2.11/simple",
    )


def test_equal_versions_that_are_written_differently_stand_apart(release: Release) -> None:
    """Each has pages of its own, below its own spelling."""
    tags = {"1.0": "cp311-cp311", "1.0.0": "cp312-cp312"}
    found = groups(release(*(f"demo-{version}+cu130-{tag}-linux_x86_64.whl" for version, tag in tags.items())))
    pythons = {group.kind.version: [str(wheel.pythons) for wheel in group.wheels] for group in found}
    assert pythons == {"1.0": ["3.11"], "1.0.0": ["3.12"]}


def test_the_newest_version_then_torch_then_cuda_comes_first(release: Release) -> None:
    labels = ["1.0+cu130torch2.9", "1.0+cu126torch2.10", "1.0+cu128torch2.10", "0.9+cu130torch2.11", "0.10+cu126"]
    found = groups(release(*(f"demo-{label}-cp312-cp312-linux_x86_64.whl" for label in labels)))
    assert [group.kind.exact_version for group in found] == [
        "1.0+cu128torch2.10",
        "1.0+cu126torch2.10",
        "1.0+cu130torch2.9",
        "0.10+cu126",
        "0.9+cu130torch2.11",
    ]


@pytest.mark.parametrize(
    ("version", "upstream"),
    [
        ("1.0+git1a.cu130torch2.11", "1.0+git1a"),
        ("1.0", "1.0"),
        ("1.0+git1a2b3c4", "1.0+git1a2b3c4"),
        ("1.0+pt211", "1.0"),
        ("3.0.0+cu130torch2.9gite2743ab", "3.0.0"),
        ("3.0.0+20251001.cu126torch280cxx11abitrue.98024f", "3.0.0"),
    ],
)
def test_the_upstream_version_has_no_part_of_the_label(version: str, upstream: str, release: Release) -> None:
    (group,) = groups(release(f"demo-{version}-cp312-cp312-linux_x86_64.whl"))
    assert group.kind.version == upstream


def test_of_two_builds_the_higher_number_stands(release: Release) -> None:
    first, second = (f"demo-1.0+cu130-{build}cp312-cp312-linux_x86_64.whl" for build in ("", "2-"))
    (group,) = groups(release(first, second))
    assert [wheel.file.filename for wheel in group.wheels] == [second]


@pytest.mark.parametrize(
    ("tag", "platform"),
    [("manylinux_2_28_aarch64", "linux_aarch64"), ("linux_x86_64", "linux_x86_64"), ("win_amd64", "win_amd64")],
)
def test_platforms_are_systems_not_policies(tag: str, platform: str, release: Release) -> None:
    (group,) = groups(release(f"demo-1.0+cu130-cp312-cp312-{tag}.whl"))
    assert group.kind.platform == platform
