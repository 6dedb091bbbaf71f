"""File names of wheels: those that can be, and some that are, each with its label in real_names.txt."""

from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import Tag
from packaging.version import Version

from wheelmill.names import project_name
from wheelmill.system.files import MAX_FILENAME
from wheelmill.wheel.name import WheelName

REAL_NAMES = [line.split() for line in Path(__file__).with_name("real_names.txt").read_text().splitlines()]


def some_of(*words: str) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(words), min_size=1)


tags = st.builds(
    lambda *parts: frozenset(Tag(*tag) for tag in product(*parts)),
    some_of("py2", "py3", "cp39", "cp312", "cp313"),
    some_of("none", "abi3", "cp312", "cp313t"),
    some_of("any", "linux_x86_64", "linux_aarch64", "manylinux2014_x86_64", "manylinux_2_28_x86_64", "win_amd64"),
)
names = st.builds(
    WheelName,
    project=st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).map(project_name),
    version=st.from_regex(
        r"([1-9]!)?[0-9]{1,3}(\.[0-9]{1,3}){0,3}(rc[0-9])?(\.post[0-9])?(\.dev[0-9])?(\+[a-z0-9]+(\.[a-z0-9]+)*)?",
        fullmatch=True,
    ).map(Version),
    build=st.just(()) | st.tuples(st.integers(0, 999), st.from_regex(r"([a-z][a-z0-9_.]*)?", fullmatch=True)),
    tags=tags,
).filter(lambda name: len(name.filename) <= MAX_FILENAME)
near_names = st.lists(st.text(alphabet="ab1.+_/ \n") | st.sampled_from(["1.0", "py3", "none", "any"])).map(
    lambda parts: "-".join(parts) + ".whl"
)


@given(names)
def test_a_wheel_is_known_by_its_own_file_name(name: WheelName) -> None:
    assert WheelName.parse(name.filename) == name


@given(st.text() | near_names)
def test_any_text_is_a_wheel_name_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        name = WheelName.parse(text)
        assert WheelName.parse(name.filename) == name


@pytest.mark.parametrize(("filename", "label"), REAL_NAMES)
def test_real_names_are_read_with_their_labels(filename: str, label: str) -> None:
    if label == "refused":
        with pytest.raises(ValueError, match="Invalid"):
            WheelName.parse(filename)
        return
    name = WheelName.parse(filename)

    assert WheelName.parse(name.filename) == name
    assert str(name.label).lower() == label
