"""METADATA of a wheel, and what is written into it."""

from packaging.version import Version

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.fuzz.pages import look_at_wheel
from wheelmill.names import TorchVersion
from wheelmill.wheel.metadata import add_label, is_pure, read_metadata

PLAIN = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
FULL = b"""Metadata-Version: 2.4
Name: flash_attn
Version: 2.8.3+cu130torch2.11
Summary: Forward and backward \xc3\xa4
License: GPL
        page one
        \x0c
        page two
Classifier: Programming Language :: Python :: 3
Project-URL: Home, https://index.example/
Requires-Python: >=3.9,!=3.10.*
License-File: LICENSE
Requires-Dist: torch>=2.0
Requires-Dist: einops[all]<9,>=0.1; (python_version < "3.12" and extra == "all") or sys_platform == "linux"
Requires-Dist: numpy @ https://index.example/numpy.whl
Description-Content-Type: text/markdown; charset=UTF-8

# Text

of many lines
"""
WORDS = [b"\n", b"\r", b"\n\n", b":", b": ", b"\n ", b"Requires-Dist: ", b"(", b")" * 99, b" and ", b"(" * 20_000]
WORDS += [b"\xff", b"=?utf-8?q?=FF?=", b"Requires-Dist: torch\n", b"; extra == 'x'", b">=", b"9" * 5000, b"\0", b","]
WORDS += [b"Content-Type: multipart/mixed; boundary=x\n", b"\n--x\n", b"Content-Type: message/rfc822\n\n"]


def read(content: bytes) -> None:
    is_pure(content)
    look_at_wheel(content)
    metadata = read_metadata(content)
    [str(requirement) for requirement in metadata.requires_dist or ()]
    labelled = add_label(content, version=Version("1.0+cu130torch2.11"), torch=TorchVersion(2, 11))
    read_metadata(labelled)


FORMAT = Format(inputs=mutated([PLAIN, FULL], WORDS), read=read)
