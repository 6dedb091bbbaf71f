"""Sound inputs, damaged. hypothesis draws the list of damages, so it can leave out those that change nothing."""

import struct
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

MAX_INPUT = 1 << 20
"""Bytes. What repeats itself grows no further."""

Damage = Callable[[bytes], bytes]

_places = st.integers(0, 1 << 20)
_lengths = st.integers(1, 64) | st.integers(1, 1 << 14)
_numbers = (
    st.sampled_from([0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, (1 << 63) - 1, (1 << 64) - 1])
    | st.integers(0, 63).map(lambda bit: 1 << bit)
    | st.integers(0, 1 << 16)
)


def mutated(seeds: Sequence[bytes], words: Sequence[bytes] = (b"\0", b"\n")) -> st.SearchStrategy[bytes]:
    """Seeds with up to eight damages.

    Args:
        seeds: sound inputs, the simplest first.
        words: what means something in the format, such as its separators and signatures.
    """
    damages = st.one_of(
        st.builds(_flip, _places, st.integers(1, 255)),
        st.builds(_cut, _places),
        st.builds(_drop, _places, _lengths),
        st.builds(_put, _places, st.sampled_from(words) | st.binary(max_size=8)),
        st.builds(_put_number, _places, _numbers, st.sampled_from("BHIQ"), st.sampled_from("<>")),
        st.builds(_repeat, _places, _lengths, st.sampled_from([1, 2, 16, 256, 4096])),
        st.builds(_splice, _places, st.sampled_from(seeds), _places),
    )
    return st.builds(_damage, st.sampled_from(seeds), st.lists(damages, max_size=8))


def mutated_text(seeds: Sequence[str], words: Sequence[str] = ("\0", "\n")) -> st.SearchStrategy[str]:
    """As `mutated`, for readers of text."""
    return mutated([seed.encode() for seed in seeds], [word.encode() for word in words]).map(
        lambda content: content.decode(errors="replace")
    )


def with_numbers(seed: bytes, places: Sequence[tuple[int, str]]) -> st.SearchStrategy[bytes]:
    """A sound input with up to six of its numbers changed.

    Args:
        seed: the sound input.
        places: where its numbers are, and their forms: ``(26, "<H")``.
    """

    def change(numbers: list[tuple[tuple[int, str], int]]) -> bytes:
        changed = bytearray(seed)
        for (place, form), number in numbers:
            struct.pack_into(form, changed, place, number % (1 << 8 * struct.calcsize(form)))
        return bytes(changed)

    return st.builds(change, st.lists(st.tuples(st.sampled_from(places), _numbers), min_size=1, max_size=6))


def _damage(content: bytes, damages: list[Damage]) -> bytes:
    for damage in damages:
        content = damage(content)
    return content


def _flip(place: int, bits: int) -> Damage:
    def damage(content: bytes) -> bytes:
        at = place % max(1, len(content))
        return content[:at] + bytes(byte ^ bits for byte in content[at : at + 1]) + content[at + 1 :]

    return damage


def _cut(place: int) -> Damage:
    return lambda content: content[: place % (len(content) + 1)]


def _drop(place: int, length: int) -> Damage:
    def damage(content: bytes) -> bytes:
        at = place % (len(content) + 1)
        return content[:at] + content[at + length :]

    return damage


def _put(place: int, word: bytes) -> Damage:
    def damage(content: bytes) -> bytes:
        at = place % (len(content) + 1)
        return content[:at] + word + content[at:]

    return damage


def _put_number(place: int, number: int, form: str, order: str) -> Damage:
    """Overwrites what may be a length or an offset."""

    def damage(content: bytes) -> bytes:
        size = struct.calcsize(form)
        at = place % max(1, len(content) - size + 1)
        return content[:at] + struct.pack(order + form, number % (1 << 8 * size)) + content[at + size :]

    return damage


def _repeat(place: int, length: int, times: int) -> Damage:
    def damage(content: bytes) -> bytes:
        at = place % (len(content) + 1)
        block = content[at : at + length]
        most = max(0, MAX_INPUT - len(content)) // max(1, len(block))
        return content[:at] + block * min(times, most) + content[at:]

    return damage


def _splice(place: int, other: bytes, from_place: int) -> Damage:
    def damage(content: bytes) -> bytes:
        return content[: place % (len(content) + 1)] + other[from_place % (len(other) + 1) :]

    return damage
