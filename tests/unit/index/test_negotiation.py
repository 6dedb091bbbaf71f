"""Which form of a page a client gets, by the rules of every host."""

import pytest

from tests.hosts import HTML, JSON, TEXT, WANTED
from wheelmill.index.negotiation import wanted_type


@pytest.mark.parametrize(("accept", "expected"), WANTED)
def test_clients_get_the_form_that_they_want(accept: str | None, expected: str | None) -> None:
    assert wanted_type(accept) == expected


@pytest.mark.parametrize("accept", ["", ";", ",,,", f"{JSON};q=many", f"{JSON};q=", f"{JSON};q=9", ";q=1," * 10_000])
def test_what_cannot_be_read_is_answered_too(accept: str) -> None:
    assert wanted_type(accept) in (TEXT, JSON, HTML, None)
