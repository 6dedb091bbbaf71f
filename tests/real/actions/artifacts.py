"""What GitHub's actions for artifacts do, in a folder.

``upload NAME PATHS MISSING OVERWRITE``, ``download NAME PATTERN PATH MERGE [RUN]`` and ``deploy NAME PATH``. A run has
a folder of artifacts, which all of its attempts share.
"""

import fnmatch
import glob
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

STORE = Path(os.environ["STAND_IN_ARTIFACTS"])
ATTEMPT = os.environ.get("GITHUB_RUN_ATTEMPT", "1")


def upload(name: str, paths: str, missing: str, overwrite: str) -> None:
    """Keep files below their least common folder, as the real action does, and print the output that it sets then."""
    wanted = [str(Path(line.strip()).expanduser()) for line in paths.splitlines() if line.strip()]
    found = [match for pattern in wanted for match in map(Path, glob.glob(pattern))]  # noqa: PTH207 - one may be absolute
    files = [file for match in found for file in ([match] if match.is_file() else match.rglob("*")) if file.is_file()]
    if not files:
        sys.exit(f"no files at {wanted}" if missing == "error" else 0)
    attempts = attempts_of(name)
    if attempts:
        if overwrite != "true" and ATTEMPT in attempts:
            sys.exit(f"there is an artifact {name} already")
        shutil.rmtree(STORE / name)
    searched = [Path(path.partition("*")[0]) for path in wanted]
    root = Path(os.path.commonpath([path if path.is_dir() or len(wanted) > 1 else path.parent for path in searched]))
    for file in files:
        copy = STORE / name / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)

    kept = STORE / ".attempts" / name
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(" ".join([*attempts, ATTEMPT]))
    print(f"artifact-id={name}")  # noqa: T201 - what an action writes to its outputs


def attempts_of(name: str) -> list[str]:
    """The attempts of this run that uploaded an artifact of a name."""
    kept = STORE / ".attempts" / name
    return kept.read_text().split() if kept.exists() else []


def deploy(name: str, path: str) -> None:
    """Publish a site. The real action finds artifacts by their name alone, those of earlier attempts too."""
    if len(attempts := attempts_of(name)) > 1:
        sys.exit(f'Multiple artifacts named "{name}" were unexpectedly found. Artifact count is {len(attempts)}.')
    download(name, "", path, "false")


def download(name: str, pattern: str, path: str, merge: str, run: str = "") -> None:
    """Bring one artifact by name, or all that fit a pattern, from this run or another one."""
    store = STORE.with_name(run) if run else STORE
    if name and not (store / name).exists():
        sys.exit(f"there is no artifact {name}")
    for artifact in [store / name] if name else sorted(store.iterdir()):
        if name or fnmatch.fnmatch(artifact.name, pattern):
            into = Path(path) if name or merge == "true" else Path(path) / artifact.name
            shutil.copytree(artifact, into, dirs_exist_ok=True)


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {"upload": upload, "download": download, "deploy": deploy}
    commands[sys.argv[1]](*sys.argv[2:])
