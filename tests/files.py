"""Files of tests."""

from pathlib import Path


def write_private(path: Path, text: str) -> Path:
    """Write a file that nobody else may open, and return its path."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text)
    return path
