"""What every test can use."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real", action="store_true", help="also run what compiles, downloads and installs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--real"):
        skip = pytest.mark.skip(reason="compiles, downloads or installs for real: run scripts/test --real")
        for item in items:
            if "real" in item.keywords:
                item.add_marker(skip)
