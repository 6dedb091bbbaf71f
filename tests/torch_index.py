"""A package index with nothing but torch, as a folder to be served."""

from collections.abc import Mapping
from pathlib import Path

from wheelmill.index.collect import site_of_folder
from wheelmill.index.render import pages_of
from wheelmill.index.write import write_site

METADATA = "Metadata-Version: 2.1\nName: torch\nVersion: {version}\nRequires-Dist: filelock\n{requires}"


def write_torch_index(root: Path, wheels: Mapping[str, tuple[str, ...] | None], *, attributes: str = "") -> None:
    """Write torch's page with these attributes, and the METADATA of wheels; None for a wheel without METADATA."""
    page = root / "simple" / "torch"
    page.mkdir(parents=True, exist_ok=True)
    links = (f'<a href="{name.replace("+", "%2B")}" {attributes}>{name}</a>' for name in wheels)
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>")
    for name, requirements in wheels.items():
        if requirements is not None:
            requires = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
            text = METADATA.format(version=name.split("-")[1], requires=requires)
            (page / f"{name}.metadata").write_text(text)


def write_index_of_torch_wheels(wheels: Path, base_url: str, site: Path) -> None:
    """Write the index of a folder of torch's wheels, as torch's own host has it; no release of ours may have them."""
    write_site(pages_of(site_of_folder(wheels, base_url, warn=lambda _text: None)), site)
