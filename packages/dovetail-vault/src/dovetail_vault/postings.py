"""Which notes have a word, and how much of it: one blob per word and segment.

A segment is a stretch of note numbers written together. A blob says of each note how important
the word is in it, in levels from 1 to 7 (from how often it stands there and how long the note
is): as a list where they are few, as three bitmaps, one per bit of the level, where they are many.
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
# A list has 32 bits per note that is in it, bitmaps have 3 per note of the segment.
_DENSE = 11
# For each power of two the digit that a level has there.
_DIGITS = tuple(
    bytes(ord("0") + (level >> power & 1) for level in range(256)) for power in range(LEVEL_BITS)
)
# BM25's constants, as everybody has them, and the length of a usual note in words.
_K, _B, _USUAL = 1.2, 0.75, 250
_IN_TITLE = 3


@lru_cache(maxsize=32_768)
def level_of(count: int, length: int, in_title: bool) -> int:
    """How much a note is about a word that it has `count` times: BM25's saturation, in steps."""
    raw = count * (_K + 1) / (count + _K * (1 - _B + _B * length / _USUAL))
    level = round(raw * 2) + (_IN_TITLE if in_title else 0)
    return max(1, min(LEVELS, level))


def weight_of(found: int, total: int) -> int:
    """How much a word says: rare ones more."""
    return max(1, min(15, round(math.log2(1 + total / max(1, found)))))


def new_postings() -> array[int]:
    """Room for notes of a word: number within the segment and level, packed into one."""
    return array("I")


def encode_postings(packed: array[int], span: int) -> bytes:
    """A blob of packed notes, ascending, of a segment with `span` numbers."""
    if len(packed) * _DENSE <= span:
        if sys.byteorder == "big":
            packed = array("I", packed)
            packed.byteswap()
        return _LIST + packed.tobytes()
    # A byte per note first, then of each power the bits: both at the speed of memory but for one
    # step per note.
    levels = bytearray(span)
    for value in packed:
        levels[value >> LEVEL_BITS] = value & LEVELS
    levels.reverse()
    size = (span + 7) >> 3
    return _PLANES + b"".join(
        int(levels.translate(digits), 2).to_bytes(size, "little") for digits in _DIGITS
    )


def decode_postings(blob: bytes, first: int, planes: Planes) -> None:
    """Add the notes of a blob to the planes of their levels."""
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
