from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from wheelmill.config.model.files import ImageReference


def words(*separators: str) -> st.SearchStrategy[str]:
    """Letters and digits, with separators only between them."""
    parts = st.text("abz059", min_size=1, max_size=8)
    rest = st.lists(st.tuples(st.sampled_from(separators), parts).map("".join), max_size=3).map("".join)
    return st.tuples(parts, rest).map("".join)


# https://github.com/distribution/reference/blob/main/reference.go
labels = words("-", "--")
hosts = st.lists(labels, min_size=2, max_size=4).map(".".join) | st.just("localhost")
registries = hosts | st.builds("{}:{}".format, hosts | labels, st.integers(0, 65535))
repositories = st.lists(words(".", "_", "__", "-", "---"), min_size=1, max_size=4).map("/".join)
names = st.builds("{}/{}".format, registries, repositories)
tags = st.builds("".join, st.tuples(st.sampled_from("aZ0_"), st.text("aZ0_.-", max_size=127)))
digests = st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:{}".format)
references = st.builds(ImageReference, names, tags, digests)
damage = st.tuples(st.integers(0), st.sampled_from(["", *"aA0/:@._- \n\x00"]))


@given(references)
def test_a_reference_is_read_from_its_own_text(reference: ImageReference) -> None:
    assert ImageReference.parse(str(reference)) == reference
    assert f"{reference.registry}/{reference.repository}" == reference.name
    assert "/" not in reference.registry


@given(references, damage)
def test_a_damaged_reference_is_another_one_or_a_value_error(reference: ImageReference, at: tuple[int, str]) -> None:
    text = str(reference)
    place = at[0] % len(text)
    damaged = text[:place] + at[1] + text[place + 1 :]
    with suppress(ValueError):
        assert str(ImageReference.parse(damaged)) == damaged


@given(st.text() | st.text("abz09./:@-_sha256\n"))
def test_any_text_is_a_reference_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert str(ImageReference.parse(text)) == text
