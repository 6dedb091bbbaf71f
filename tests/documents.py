"""The documents as Sphinx renders them."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from tests.machine_folders import machine_folder
from wheelmill.system.files import sha256_of

DOCS = Path(__file__).parents[1] / "docs"
RENDERS = ("sphinx", "sphinx-external-toc", "furo", "myst-parser", "markdown-it-py", "docutils", "wheelmill")
FILES = "https://example.org/wheelmill/blob/abc/"


def render(source: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Do what the workflow does, which gives a variable with the address of the repository's files, too."""
    options = ("--quiet", "--fail-on-warning", "--doctree-dir", f"{output}-read")
    command = (sys.executable, "-m", "sphinx", *options, source, output)
    return subprocess.run(command, capture_output=True, text=True, env={"WHEELMILL_FILES": FILES}, check=False)


def assert_rendered(output: Path) -> None:
    done = render(DOCS, output)
    assert (done.returncode, done.stderr) == (0, "")


def rendered_documents() -> Path:
    """The folder that Sphinx writes, once a machine for these documents; nothing else may be put there."""
    sources = [*DOCS.rglob("*"), *(DOCS.parent / "index" / "static").rglob("*")]
    contents = sorted((str(path), sha256_of(path)) for path in sources if path.is_file() and path.suffix != ".pyc")
    decides = (sys.version, [metadata.version(name) for name in RENDERS], FILES, contents)
    return machine_folder("documents", decides, lambda folder: assert_rendered(folder / "site")) / "site"
