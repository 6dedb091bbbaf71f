"""What platform tags promise, by the policies of auditwheel."""

import pytest
from packaging.version import Version

from wheelmill.wheel.gpu_code import DeviceCode
from wheelmill.wheel.platforms import newest, policy_of, promised_glibc, symbols_newer_than
from wheelmill.wheel.shared_objects import SharedObject, Symbol


def symbol(text: str) -> Symbol:
    name, _, version = text.partition("@")
    return Symbol(name=name, version=version or None, weak=False)


def shared_object(name: str, *symbols: str) -> SharedObject:
    return SharedObject(
        name=name,
        machine="x86_64",
        executable_stack=False,
        undefined=tuple(map(symbol, symbols)),
        defined=frozenset(),
        device_code=DeviceCode(sass=(), ptx=(), sizes={}),
        unloaded=0,
    )


OLD = shared_object("demo/old.so", "printf@GLIBC_2.2.5", "own", "secret@GLIBC_PRIVATE")
NEW = shared_object("demo/new.so", "__libc_single_threaded@GLIBC_2.32", "stat@GLIBC_2.4", "cout@GLIBCXX_3.4.30")


@pytest.mark.parametrize(
    ("platform", "glibc"),
    [
        *(("manylinux_2_28_x86_64", "2.28"), ("manylinux_2_5_aarch64", "2.5"), ("manylinux_2_28", "2.28")),
        *(("manylinux2014_x86_64", "2.17"), ("manylinux2010_x86_64", "2.12"), ("manylinux1_x86_64", "2.5")),
    ],
)
def test_a_manylinux_tag_promises_a_glibc(platform: str, glibc: str) -> None:
    assert promised_glibc(platform) == Version(glibc)


@pytest.mark.parametrize(
    "platform",
    [
        *("linux_x86_64", "musllinux_1_2_x86_64", "win_amd64", "any", "", "manylinux", "manylinux_2"),
        *("manylinux_2_x86_64", "manylinux_x_y_x86_64", "manylinux2020_x86_64"),
    ],
)
def test_other_tags_promise_none(platform: str) -> None:
    assert promised_glibc(platform) is None


@pytest.mark.parametrize(
    ("needed", "family", "version"),
    [
        ("printf@GLIBC_2.2.5", "GLIBC", Version("2.2.5")),
        ("cout@GLIBCXX_3.4.30", "GLIBCXX", Version("3.4.30")),
        ("cout@GLIBCXX_3.4.30", "GLIBC", None),
        ("secret@GLIBC_PRIVATE", "GLIBC", None),
        ("relocations@GLIBC_ABI_DT_RELR", "GLIBC", None),
        ("own", "GLIBC", None),
        pytest.param(f"own@GLIBC_{'9' * 5000}", "GLIBC", None, id="thousands of digits"),
    ],
)
def test_a_symbol_belongs_to_one_family(needed: str, family: str, version: Version | None) -> None:
    assert newest([shared_object("a.so", needed)], family) == version


def test_the_newest_version_is_the_highest_number() -> None:
    assert newest([OLD, NEW], "GLIBC") == Version("2.32")
    assert newest([OLD], "GLIBC") == Version("2.2.5")
    assert newest([OLD], "GLIBCXX") is None
    assert newest([], "GLIBC") is None


@pytest.mark.parametrize(
    ("floor", "named"),
    [
        ("2.28", ("__libc_single_threaded@GLIBC_2.32 in demo/new.so",)),
        ("2.32", ()),
        ("2.3", ("__libc_single_threaded@GLIBC_2.32 in demo/new.so", "stat@GLIBC_2.4 in demo/new.so")),
    ],
)
def test_symbols_that_are_too_new_are_named(floor: str, named: tuple[str, ...]) -> None:
    assert symbols_newer_than(Version(floor), [OLD, NEW]) == named


@pytest.mark.parametrize(
    ("platform", "glibc"),
    [
        *(("manylinux_2_28_x86_64", "2.28"), ("manylinux_2_28_aarch64", "2.28"), ("manylinux2014_x86_64", "2.17")),
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
