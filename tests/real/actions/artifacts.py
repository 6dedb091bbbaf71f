"""What GitHub's actions for artifacts do, in a folder.

``upload NAME PATHS MISSING OVERWRITE`` and ``download NAME PATTERN PATH MERGE``.
"""

import fnmatch
import glob
import os
import shutil
import sys
from pathlib import Path

STORE = Path(os.environ["STAND_IN_ARTIFACTS"])


def upload(name: str, paths: str, missing: str, overwrite: str) -> None:
    """Keep files below their least common folder, as the real action does."""
    wanted = [line.strip() for line in paths.splitlines() if line.strip()]
    found = [match for pattern in wanted for match in map(Path, glob.glob(pattern))]  # noqa: PTH207 - one may be absolute
    files = [file for match in found for file in ([match] if match.is_file() else match.rglob("*")) if file.is_file()]
    if not files:
        sys.exit(f"no files at {wanted}" if missing == "error" else 0)
    if (STORE / name).exists():
        if overwrite != "true":
            sys.exit(f"there is an artifact {name} already")
        shutil.rmtree(STORE / name)
    searched = [Path(path.partition("*")[0]) for path in wanted]
    root = Path(os.path.commonpath([path if path.is_dir() or len(wanted) > 1 else path.parent for path in searched]))
    for file in files:
        copy = STORE / name / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)


def download(name: str, pattern: str, path: str, merge: str) -> None:
    """Bring one artifact by name, or all that fit a pattern."""
    if name and not (STORE / name).exists():
        sys.exit(f"there is no artifact {name}")
    for artifact in [STORE / name] if name else sorted(STORE.iterdir()):
        if name or fnmatch.fnmatch(artifact.name, pattern):
            into = Path(path) if name or merge == "true" else Path(path) / artifact.name
            shutil.copytree(artifact, into, dirs_exist_ok=True)


if __name__ == "__main__":
    {"upload": upload, "download": download}[sys.argv[1]](*sys.argv[2:])
