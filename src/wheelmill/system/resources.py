"""Where the files that ship with wheelmill are: inside the installed package, or in this checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGED: Final = Path(__file__).parents[1] / "_resources"
ROOT: Final[Path] = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[3]

CONFIG: Final[Path] = ROOT / "config"
INDEX: Final[Path] = ROOT / "index"
DOCKER: Final[Path] = ROOT / "docker"
