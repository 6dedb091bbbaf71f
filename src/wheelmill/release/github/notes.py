"""What a person reads on a release's page (https://github.github.com/gfm/)."""

from __future__ import annotations

import shlex
from typing import Final

from wheelmill.release.github.repository import Repository
from wheelmill.release.manifest import Manifest, ManifestEntry
from wheelmill.wheel.name import WheelName

_SHOWN: Final = 3
"""How many projects a title names."""


def title_of(manifest: Manifest) -> str:
    """``v2026-11-21: flash-attn 2.8.3, mamba-ssm 2.2.5``."""
    names = (WheelName.parse(entry.filename) for entry in manifest.wheels)
    projects = list(dict.fromkeys(f"{name.project} {name.version.public}" for name in names))
    more = len(projects) - _SHOWN
    return f"{manifest.tag}: {', '.join(projects[:_SHOWN])}{f' and {more} more' if more > 0 else ''}"


def body_of(manifest: Manifest, repository: Repository) -> str:
    """A table of the wheels and how to install one. With 240 wheels it stays below the 125,000 characters of a body."""
    first = manifest.wheels[0].filename
    rows = "\n".join(map(_row, manifest.wheels))
    return f"""\
Install a wheel by its address:

```sh
pip install {shlex.quote(repository.download(manifest.tag, first))}
```

| wheel | CUDA | torch | GPUs | MB | sha256 |
|---|---|---|---|--:|---|
{rows}

`manifest.json` says how each wheel was built and tested.
"""


def _row(entry: ManifestEntry) -> str:
    label = WheelName.parse(entry.filename).label
    torch = str(label.torch) if label and label.torch else ""
    architectures = " ".join((*entry.certificate.evidence.sass, *entry.certificate.evidence.ptx))
    texts = (entry.filename, str(label.cuda) if label else "", torch, architectures)
    size = f"{entry.size / 1e6:.1f}"
    return f"| {' | '.join(map(_code, texts))} | {size} | {_code(entry.sha256)} |"


def _code(text: str) -> str:
    """Text as it is, in a cell of a table.

    Nothing in a code span is markup, but for the backticks that end it and the bar that ends the cell.
    """
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""
