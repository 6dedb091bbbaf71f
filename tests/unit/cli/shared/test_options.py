"""Values of options that nobody should give."""

from typing import Any

import pytest

from tests.refusals import coded
from wheelmill.cli.shared.options import TargetOptions
from wheelmill.errors import UsageError

DIGITS = 4500 * "9"
"""More than Python makes a number of."""


@pytest.mark.parametrize(
    "option",
    [
        *({"driver": f"{DIGITS}.1"}, {"libc": f"{DIGITS}.1"}, {"torch": f"2.8+cu{DIGITS}"}, {"torch": f"{DIGITS}.1"}),
        *({"cuda": DIGITS}, {"gpu": [f"{DIGITS}.1"]}, {"python": DIGITS}, {"platform": f"macosx_{DIGITS}_arm64"}),
        *({"torch": "2.8+cu12.99"}, {"cuda": "1281"}, {"cuda": "9"}, {"cuda": "\u0661\u0662"}),
        *({"torch": "\udcff"}, {"gpu": ["\x1b[2J"]}, {"torch": ""}, {"cuda": ""}, {"cxx11_abi": "1"}),
    ],
)
def test_a_value_that_is_none_is_refused_by_the_name_of_its_option(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(UsageError, check=coded("value-invalid", "--", "expected", name.replace("_", "-"))):
        TargetOptions(**option).overrides()
