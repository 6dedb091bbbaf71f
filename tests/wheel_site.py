"""A package index of small wheels, as a folder to be served: torch, an extension for it, and what both require."""

import hashlib
import html
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from packaging.utils import parse_wheel_filename

from tests.wheels import write_wheel

NOTHING: Mapping[str, str] = MappingProxyType({})

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"

TORCH = """\
__version__ = '{version}'
debug = False
cuda = '13.0'
git_version = 'none'
hip = None
"""


def add_wheel(site: Path, filename: str, *, requires: tuple[str, ...] = (), code: str = "") -> Path:
    """Put a wheel into ``files/`` and its link with a hash into ``simple/``."""
    name, version, *_ = parse_wheel_filename(filename)
    module = name.replace("-", "_")
    path = write_wheel(
        site / "files" / filename,
        metadata=METADATA.format(
            name=name, version=version, requires="".join(f"Requires-Dist: {each}\n" for each in requires)
        ),
        files={f"{module}/__init__.py": code.encode()}
        | ({"torch/version.py": TORCH.format(version=version).encode()} if name == "torch" else {}),
    )
    write_page(site, name)
    return path


def write_page(site: Path, name: str) -> None:
    """Write the page of a project from its files, with the hashes that they have now."""
    page = site / "simple" / name / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"<!DOCTYPE html><html><body>{''.join(links(site, name, '../../files/'))}</body></html>")


def links(site: Path, name: str, to_files: str) -> list[str]:
    """A link with a hash to every file of a project."""
    found = [path for path in sorted((site / "files").glob("*.whl")) if parse_wheel_filename(path.name)[0] == name]
    return [
        f'<a href="{to_files}{path.name.replace("+", "%2B")}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}">'
        f"{html.escape(path.name)}</a>\n"
        for path in found
    ]


def write_site(site: Path, tag: str) -> None:
    """Write the whole of it, with wheels of demo-gpu for this tag."""
    add_wheel(site, f"torch-2.11.0-{tag}.whl", requires=("filelock",))
    add_wheel(site, f"torch-2.12.0-{tag}.whl", requires=("filelock",))
    add_wheel(site, "filelock-3.20.0-py3-none-any.whl")
    add_wheel(site, "rich_text-1.0-py3-none-any.whl")
    for version in ("1.0", "1.1"):
        add_wheel(site, f"demo_gpu-{version}+cu130torch2.11-{tag}.whl", requires=("torch==2.11.*", "filelock>=3"))
    (site / "wheels.html").write_text("".join(links(site, "demo-gpu", "files/")))
