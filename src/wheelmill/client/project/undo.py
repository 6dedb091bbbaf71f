"""Changing files so that they are as they were when what follows fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wheelmill.system.files import write_bytes


@contextmanager
def undone_on_failure(*paths: Path) -> Iterator[None]:
    """Put files back as they were, or take them away, when the context is left by an error or an interruption."""
    before = {path: path.read_bytes() if path.exists() else None for path in paths}
    try:
        yield
    except BaseException:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            elif not path.exists() or path.read_bytes() != content:
                write_bytes(path, content)
        raise
