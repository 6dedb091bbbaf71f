"""Fat binaries with the names of kernels: in cubins, in PTX, and packed."""

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated, with_numbers
from tests.gpu_code import LZ4, PTX, SASS, cubin, entry, fatbin, literals, ptx
from wheelmill.names import Architecture
from wheelmill.wheel.gpu_code import KernelReader, read_device_code

GPUS = [Architecture.parse(each) for each in ("8.0", "9.0", "12.0")]


def read(content: bytes) -> None:
    found = read_device_code(content, kernels=KernelReader())
    for gpu in GPUS:
        list(found.kernels_without(gpu, GPUS))


CODE = cubin("f", "g", functions=["h"])
SOUND = fatbin(
    entry(SASS, 80, CODE),
    entry(SASS, 90, literals(CODE), LZ4, size=len(CODE)),
    entry(PTX, 90, ptx("f", "g")),
    entry(PTX, 120, literals(ptx("f") * 9), LZ4, size=len(ptx("f") * 9)),
)
FORMAT = Format(
    inputs=mutated([SOUND], [fatbin(entry(SASS, 90, CODE)), bytes(64), b"\x1fA\1\0", b"\xff" * 64])
    | with_numbers(SOUND, [(place, "<I") for place in range(0, len(SOUND) - 3, 4)]),
    read=read,
)
