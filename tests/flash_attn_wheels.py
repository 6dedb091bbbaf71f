"""Every wheel in the releases of https://github.com/mjun0812/flash-attention-prebuild-wheels."""

from pathlib import Path
from typing import Final

ASSETS: Final = (Path(__file__).parent / "data" / "flash-attn-wheel-assets.txt").read_text().splitlines()
"""Tag and file name; 100 names stand under several tags, with other bytes each."""
NAMES: Final = sorted({asset.partition("/")[2] for asset in ASSETS})
