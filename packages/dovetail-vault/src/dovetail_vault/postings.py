"""Encode which notes contain a word, and how important it is there: one blob per word and segment.

A segment is a range of note numbers that were written together. A blob stores a level from 1 to 7
for each note (computed from the word's frequency and the note's length): as a list if there are few
notes, or as three bitmaps, one per bit of the level, if there are many.
"""

from __future__ import annotations

import math
import sys
from array import array
from functools import lru_cache

from dovetail_vault.bitsets import Planes

__all__ = [
    "LEVELS",
    "LEVEL_BITS",
    "decode_postings",
    "encode_postings",
    "level_of",
    "new_postings",
    "weight_of",
]

LEVEL_BITS = 3
LEVELS = 7
_LIST, _PLANES = b"\0", b"\1"
# A list takes 32 bits per listed note, bitmaps take 3 bits per note of the segment.
_DENSE = 11
# Translation tables from a level to its binary digit, one per power of two.
_DIGITS = tuple(
    bytes(ord("0") + (level >> power & 1) for level in range(256)) for power in range(LEVEL_BITS)
)
# BM25's usual constants, and the length of an average note in words.
_K, _B, _AVERAGE_LENGTH = 1.2, 0.75, 250
_IN_TITLE = 3


@lru_cache(maxsize=32_768)
def level_of(count: int, length: int, in_title: bool) -> int:
    """Return the level of a word that occurs `count` times: BM25's saturation, quantized."""
    raw = count * (_K + 1) / (count + _K * (1 - _B + _B * length / _AVERAGE_LENGTH))
    level = round(raw * 2) + (_IN_TITLE if in_title else 0)
    return max(1, min(LEVELS, level))


def weight_of(found: int, total: int) -> int:
    """Return the weight of a word by its rarity (inverse document frequency)."""
    return max(1, min(15, round(math.log2(1 + total / max(1, found)))))


def new_postings() -> array[int]:
    """Return an empty list for (number within the segment, level) pairs, packed into integers."""
    return array("I")


def encode_postings(packed: array[int], span: int) -> bytes:
    """Encode packed notes, in ascending order, of a segment with `span` numbers."""
    if len(packed) * _DENSE <= span:
        if sys.byteorder == "big":
            packed = array("I", packed)
            packed.byteswap()
        return _LIST + packed.tobytes()
    # First a byte per note, then the bits of each power with bulk operations.
    levels = bytearray(span)
    for value in packed:
        levels[value >> LEVEL_BITS] = value & LEVELS
    levels.reverse()
    size = (span + 7) >> 3
    return _PLANES + b"".join(
        int(levels.translate(digits), 2).to_bytes(size, "little") for digits in _DIGITS
    )


def decode_postings(blob: bytes, first: int, planes: Planes) -> None:
    """Decode a blob and add its notes to the bit planes."""
    if blob[:1] == _PLANES:
        size = (len(blob) - 1) // LEVEL_BITS
        parts = [blob[1 + power * size : 1 + (power + 1) * size] for power in range(LEVEL_BITS)]
    else:
        packed = array("I")
        packed.frombytes(blob[1:])
        if sys.byteorder == "big":
            packed.byteswap()
        size = (packed[-1] >> (LEVEL_BITS + 3)) + 1
        tables = [bytearray(size) for _ in range(LEVEL_BITS)]
        for value in packed:
            place, bit = value >> (LEVEL_BITS + 3), 1 << (value >> LEVEL_BITS & 7)
            for power in range(LEVEL_BITS):
                if value >> power & 1:
                    tables[power][place] |= bit
        parts = [bytes(table) for table in tables]
    for power, part in enumerate(parts):
        planes[power] |= int.from_bytes(part, "little") << first
