"""What platform tags promise, by the policies of auditwheel."""

import pytest
from packaging.version import Version

from wheelmill.wheel.policies import policy_of


@pytest.mark.parametrize(
    ("platform", "glibc"),
    [
        ("manylinux_2_28_x86_64", "2.28"),
        ("manylinux_2_28_aarch64", "2.28"),
        ("manylinux2014_x86_64", "2.17"),
        ("manylinux_2_29_x86_64", "2.31"),
    ],
)
def test_a_tag_stands_for_a_policy_or_the_next_newer_one(platform: str, glibc: str) -> None:
    policy = policy_of(platform)
    assert policy
    assert policy.glibc == Version(glibc)


def test_a_policy_has_libraries_and_versions_of_their_symbols() -> None:
    policy = policy_of("manylinux_2_28_x86_64")
    assert policy
    assert "libstdc++.so.6" in policy.libraries
    assert "3.4.24" in policy.versions["GLIBCXX"]
    assert "3.4.25" not in policy.versions["GLIBCXX"]


def test_a_tag_that_promises_nothing_may_expect_what_the_newest_policy_has() -> None:
    newest = policy_of("linux_x86_64")
    assert newest
    assert newest.glibc >= Version("2.39")


@pytest.mark.parametrize("platform", ["any", "win_amd64", "musllinux_1_2_x86_64", "linux_vax", "manylinux_2_99_x86_64"])
def test_other_platforms_have_no_policy(platform: str) -> None:
    assert policy_of(platform) is None
