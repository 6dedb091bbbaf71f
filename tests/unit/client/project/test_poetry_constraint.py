"""Poetry's constraints."""

import pytest

from wheelmill.client.project.poetry_constraint import specifiers_of


@pytest.mark.parametrize(
    ("constraint", "specifiers"),
    [
        ("^1.2.3", "<2,>=1.2.3"),
        ("^0.2.3", "<0.3,>=0.2.3"),
        ("^0.0.3", "<0.0.4,>=0.0.3"),
        ("^0", "<1,>=0"),
        ("^3.11", "<4,>=3.11"),
        ("~1.2.3", "<1.3,>=1.2.3"),
        ("~1", "<2,>=1"),
        ("~=1.2", "~=1.2"),
        ("1.2.*", "==1.2.*"),
        ("1.2", "==1.2"),
        (">=1,<2", "<2,>=1"),
        ("*", ""),
    ],
)
def test_constraints_are_specifiers(constraint: str, specifiers: str) -> None:
    assert specifiers_of(constraint) == specifiers


@pytest.mark.parametrize("constraint", ["^1 || ^2", "latest", "^"])
def test_what_cannot_be_said_is_refused(constraint: str) -> None:
    with pytest.raises(ValueError, match=r"constraint|alternatives"):
        specifiers_of(constraint)
