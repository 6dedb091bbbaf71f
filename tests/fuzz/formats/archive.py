"""Wheels as zips: bytes damaged anywhere, and more often in the records that readers disagree about."""

import struct
import zipfile
from io import BytesIO

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated, with_numbers
from tests.fuzz.wheels import read_wheel, wheel_of

SOUND = wheel_of()
END = 22


def entry(name: bytes, content: bytes) -> bytes:
    """A member as only its own header tells of it."""
    sizes = (len(content), len(content), len(name))
    return struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 0, 0, 0, 0, *sizes, 0) + name + content


def field_places(content: bytes) -> list[tuple[int, str]]:
    """The place and the form of every number in the headers of members, in their list and at the end."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        own = [member.header_offset for member in archive.infolist()]
    listed = [at for at in range(len(content)) if content.startswith(b"PK\1\2", at)]
    end = len(content) - END
    return [
        *((at + place, "<H") for at in own for place in (6, 8, 26, 28)),
        *((at + place, "<I") for at in own for place in (14, 18, 22)),
        *((at + place, "<H") for at in listed for place in (8, 10, 28, 30, 32)),
        *((at + place, "<I") for at in listed for place in (16, 20, 24, 38, 42)),
        *((end + place, "<H") for place in (4, 6, 8, 10, 20)),
        *((end + place, "<I") for place in (12, 16)),
    ]


FORMAT = Format(
    inputs=mutated([SOUND, wheel_of({"demo/more.py": b"x" * 5000})], [entry(b"demo/evil.py", b"evil"), SOUND[-END:]])
    | with_numbers(SOUND, field_places(SOUND)),
    read=read_wheel,
)
