"""RECORD of a wheel that is otherwise sound."""

import zipfile
from io import BytesIO

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.fuzz.wheels import RECORD, read_wheel, wheel_of

WORDS = [b",", b'"', b"\n", b"\r", b",,\n", b"sha256=", b"md5=", b"sha512=,1\n", b"../", b"\xff", b"9" * 5000]
LONG_FIELD = b'"' + b"x" * 200_000

with zipfile.ZipFile(BytesIO(wheel_of())) as sound:
    FORMAT = Format(
        inputs=mutated([sound.read(RECORD)], [*WORDS, LONG_FIELD]),
        read=lambda record: read_wheel(wheel_of(record=record)),
    )
