"""Pages of releases that begin with the same one and are smaller."""

from itertools import pairwise

import pytest

from wheelmill.web.github_pages import SIZES, smaller_page

URL = "https://api.github.test/repos/a/b/releases"


@pytest.mark.parametrize(
    ("asked", "smaller"),
    [
        ("per_page=30", "per_page=10&page=1"),
        ("per_page=30&page=3", "per_page=10&page=7"),
        ("page=4&per_page=10", "per_page=5&page=7"),
        ("per_page=5&page=2", "per_page=1&page=6"),
    ],
)
def test_a_smaller_page_begins_with_the_same_release(asked: str, smaller: str) -> None:
    assert smaller_page(f"{URL}?{asked}") == f"{URL}?{smaller}"
    assert all(larger % smaller == 0 for larger, smaller in pairwise(SIZES))


@pytest.mark.parametrize("query", ["", "?per_page=1&page=7", "?per_page=100", "?per_page=30&page=x"])
def test_other_pages_do_not_get_smaller(query: str) -> None:
    assert smaller_page(URL + query) is None
