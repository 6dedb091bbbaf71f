"""Folders with everything in them that a snapshot must keep, and what they hold."""

import stat
from pathlib import Path


def environment_tree(folder: Path) -> Path:
    """Make a folder as an environment is: files, programs, links, an empty folder."""
    (folder / "torch" / "lib").mkdir(parents=True)
    (folder / "torch" / "version.py").write_text("__version__ = '2.8'\n")
    (folder / "torch" / "lib" / "libtorch.so").write_bytes(bytes(range(256)))
    (folder / "torch" / "lib" / "libtorch.so.1").symlink_to("libtorch.so")
    (folder / "empty").mkdir(mode=0o750)
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "script").chmod(0o755)
    (folder / "link").symlink_to("torch")
    return folder


def content_of(folder: Path) -> dict[str, tuple[int, bytes | str | None]]:
    """Everything below a folder, byte for byte, by its path."""
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = str(path.readlink()) if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else None
        found[path.relative_to(folder).as_posix()] = (mode, content)
    return found
