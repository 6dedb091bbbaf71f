"""What every test can use."""

from typing import Final

import pytest

OPTIONS: Final = {
    "real": "compiles, downloads or installs",
    "long": "compiles for many minutes",
}
"""Kinds of tests that run only when asked for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, does in OPTIONS.items():
        parser.addoption(f"--{name}", action="store_true", help=f"also run what {does}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for name, does in OPTIONS.items():
        if not config.getoption(f"--{name}"):
            skip = pytest.mark.skip(reason=f"{does}: run scripts/test --{name}")
            for item in items:
                if name in item.keywords:
                    item.add_marker(skip)
