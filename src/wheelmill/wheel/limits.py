"""How much a wheel from elsewhere may ask for: what no real one has, and what a small one could pretend to have."""

from typing import Final

MAX_FILENAME: Final = 255
"""Characters. No file system of today keeps a longer name."""
MAX_TAGS: Final = 1_000
"""Of a file name, whose compressed sets multiply (PEP 425). Real names stand for some dozens."""
MAX_METADATA: Final = 1 << 20
"""Bytes, also of WHEEL. Long descriptions have a quarter of it."""
MAX_FIELDS: Final = 4_000
"""Of METADATA. Real ones have some hundreds of requirements at most."""
