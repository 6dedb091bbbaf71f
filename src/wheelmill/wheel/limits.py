"""Limits for foreign wheels, which no real one reaches, but a small malicious one could claim."""

from typing import Final

MAX_WHEEL: Final = 2 << 30
"""Bytes that a wheel stays under, because GitHub takes no larger asset
(https://docs.github.com/en/repositories/releasing-projects-on-github/about-releases#storage-and-bandwidth-quotas)."""

MAX_TAGS: Final = 1_000
"""Of a file name, whose compressed sets multiply (PEP 425). Real names stand for some dozens."""

MAX_MEMBERS: Final = 50_000
"""The largest CUDA wheels have some 15,000."""
MAX_DIRECTORY: Final = 16 << 20
"""Bytes of the list of members. The largest CUDA wheels have 3 MB."""
MAX_PATH: Final = 1_000
"""Characters of a member's name."""
MAX_UNPACKED: Final = 16 << 30
"""Bytes. The largest CUDA wheels unpack to about 4 GiB."""
MAX_RATIO: Final = 100
"""Unpacked over packed. Machine code packs 2 to 20 times; bombs start at 1,000."""
MAX_FINDINGS: Final = 100
"""Findings of one kind that are reported."""

MAX_RECORD: Final = 16 << 20
"""Bytes: as many members as there may be, with long names."""
MAX_METADATA: Final = 1 << 20
"""Bytes, also of WHEEL. Long descriptions have a quarter of it."""
MAX_FIELDS: Final = 4_000
"""Of METADATA. Real ones have some hundreds of requirements at most."""
MAX_CONTENT_TYPE: Final = 255
"""Characters. email's parser takes hours for a megabyte of parameters."""

MAX_SYMBOLS: Final = 1_000_000
"""Symbols in all shared objects of a wheel. All of torch's together have half as many."""
MAX_SYMBOL_NAME: Final = 1 << 16
"""Bytes. Mangled names of templates reach some ten thousand."""
MAX_SECTIONS: Final = 10_000
"""Sections of a shared object. Real ones have some dozens."""
MAX_READS: Final = 500_000
"""Reads of header fields and texts, in all shared objects of a wheel. One takes some hundreds."""

MAX_DISTRIBUTIONS: Final = 10_000
"""Distributions in one folder of an environment. Large ones have a thousand."""
