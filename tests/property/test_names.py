from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wheelmill.names import Architecture, CudaVersion, PythonVersion, TorchVersion, Word, project_name, project_version

numbers = st.integers(min_value=0)
words = st.one_of(
    st.builds(CudaVersion, st.integers(10, 99), st.integers(0, 9)),
    st.builds(TorchVersion, numbers, numbers, st.none() | numbers),
    st.builds(PythonVersion, numbers, numbers, st.booleans()),
    st.builds(Architecture, numbers, numbers, st.sampled_from(["", "a", "f"]), st.booleans()),
)
texts = st.text() | st.text(alphabet="0123456789.!+-_cuptaf PTX\n") | st.from_regex(r"[0-9]+([.!][0-9]+)*.*")
parsers = pytest.mark.parametrize(
    "parse", [CudaVersion.parse, TorchVersion.parse, PythonVersion.parse, Architecture.parse]
)


@given(words)
def test_a_word_is_read_from_its_own_text(word: Word) -> None:
    assert type(word).parse(str(word)) == word


@given(st.integers(10, 99), st.integers(0, 9))
def test_a_cuda_version_is_read_from_its_tag(major: int, minor: int) -> None:
    assert CudaVersion.parse(CudaVersion(major, minor).tag) == CudaVersion(major, minor)


@given(st.integers(10, 99), st.integers(0, 9), st.integers(0, 999))
def test_every_spelling_of_a_cuda_version_is_the_same(major: int, minor: int, patch: int) -> None:
    spellings = (f"{major}.{minor}", f"{major}{minor}", f"cu{major}{minor}", f"{major}.{minor}.{patch}")

    assert {CudaVersion.parse(text) for text in spellings} == {CudaVersion(major, minor)}


@given(st.integers(1, 9), numbers, st.booleans())
def test_a_python_version_is_read_from_its_abi(major: int, minor: int, free_threaded: bool) -> None:  # noqa: FBT001
    version = PythonVersion(major, minor, free_threaded)

    assert PythonVersion.parse(version.abi) == version


@parsers
@given(text=texts)
def test_any_text_is_a_word_or_a_value_error(parse: Callable[[str], Word], text: str) -> None:
    with suppress(ValueError):
        word = parse(text)
        assert type(word).parse(str(word)) == word


@pytest.mark.parametrize("normalized", [project_name, project_version])
@given(text=texts)
def test_what_is_normalized_stays_as_it_is(normalized: Callable[[str], str], text: str) -> None:
    with suppress(ValueError):
        once = normalized(text)
        assert normalized(once) == once
