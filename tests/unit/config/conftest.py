"""What packages are locked from."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.build.conftest import package_index_of
from tests.wheels import write_wheel
from wheelmill.config import lock
from wheelmill.installers.uv import compile_requirements
from wheelmill.system.files import sha256_of


@pytest.fixture(scope="session")
def resolved() -> dict[object, str]:
    """The answers of uv in this run, by all that decides one."""
    return {}


@pytest.fixture
def wheels(tmp_path: Path, resolved: dict[object, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder whose wheels are all that requirements resolve to; uv is asked once what one question resolves to."""
    with package_index_of(tmp_path / "wheels") as wheels:
        for name in ("setuptools", "wheel"):
            write_wheel(wheels / f"{name}-99.0-py3-none-any.whl")

        def ask_once(wanted: Iterable[str], *options: str | Path, **others: Any) -> str:
            known = sorted((path.name, sha256_of(path)) for path in wheels.glob("*.whl"))
            question = repr((tuple(wanted), options, others, known))
            if question not in resolved:
                resolved[question] = compile_requirements(wanted, *options, **others)
            return resolved[question]

        monkeypatch.setattr(lock, "compile_requirements", ask_once)
        yield wheels
