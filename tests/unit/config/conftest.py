"""What packages are locked from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.build.conftest import package_index_of
from tests.wheels import write_wheel


@pytest.fixture
def wheels(tmp_path: Path) -> Iterator[Path]:
    """The folder whose wheels are all that requirements resolve to."""
    with package_index_of(tmp_path / "wheels") as wheels:
        for name in ("setuptools", "wheel"):
            write_wheel(wheels / f"{name}-99.0-py3-none-any.whl")
        yield wheels
