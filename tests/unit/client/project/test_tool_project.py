"""Locks of uv, Poetry and PDM: what they hold, and files that are none."""

from pathlib import Path

import pytest
from packaging.version import Version

from tests.refusals import coded
from wheelmill.client.project.tool_project import LockedPackage, read_tool_lock
from wheelmill.errors import UsageError
from wheelmill.names import project_name

HASH = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    "text",
    [
        f'[[package]]\nname = "Demo"\nversion = "1"\nfiles = [{{file = "demo.whl", hash = "{HASH}"}}]\n',
        f'[[package]]\nname = "demo"\nversion = "1"\nsource = {{registry = "x"}}\nwheels = [{{hash = "{HASH}"}}]\n',
    ],
)
def test_a_lock_has_projects_with_versions_and_hashes(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    path.write_text(text)
    expected = LockedPackage(project=project_name("demo"), version=Version("1"), hashes=frozenset({HASH}))
    assert read_tool_lock(path).packages == (expected,)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"package = 3",
        b"package = [1]",
        b"[[package]]\nsource = 1",
        b"[[package]]\nname = 3\n",
        b'[[package]]\nname = "x"\n',
        b"a = " + b"[" * 9000,
        b"x = [",
    ],
)
def test_what_is_no_lock_is_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "uv.lock"
    path.write_bytes(content)
    with pytest.raises(UsageError, check=coded("lock-unreadable", "uv.lock")):
        read_tool_lock(path)
