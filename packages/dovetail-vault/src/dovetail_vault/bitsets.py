"""Sets of notes as big integers, and ranking by arithmetic on them.

Bit n stands for note n. Python's integers compute AND, OR and NOT at memory speed: a set of a
hundred thousand notes takes 12 kB. Scores are stored as bit planes: bit n of plane p is bit p of
the score of note n. Adding two scores for all notes is then a handful of operations, and the best
k notes are found by going through the planes from the top, without a loop over notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["Planes", "add_planes", "from_numbers", "iterate", "scale_planes", "select_best"]

# Least significant first.
Planes = list[int]

_BITS = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))


def from_numbers(numbers: Sequence[int]) -> int:
    """Return the set of these non-negative numbers."""
    if not numbers:
        return 0
    data = bytearray((max(numbers) >> 3) + 1)
    for number in numbers:
        data[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(data, "little")


def iterate(bits: int) -> Iterator[int]:
    """Yield the numbers in a set, ascending."""
    data = bits.to_bytes((bits.bit_length() + 7) >> 3, "little")
    for place, byte in enumerate(data):
        if byte:
            base = place << 3
            for bit in _BITS[byte]:
                yield base + bit


def add_planes(one: Planes, other: Planes) -> Planes:
    """Return the sum of two scores, for all notes at once."""
    total: Planes = []
    carry = 0
    for place in range(max(len(one), len(other))):
        a = one[place] if place < len(one) else 0
        b = other[place] if place < len(other) else 0
        either = a ^ b
        total.append(either ^ carry)
        carry = (a & b) | (either & carry)
    if carry:
        total.append(carry)
    return total


def scale_planes(planes: Planes, factor: int) -> Planes:
    """Return a score multiplied by a small number."""
    total: Planes = []
    shift = 0
    while factor:
        if factor & 1:
            total = add_planes(total, [0] * shift + planes)
        factor >>= 1
        shift += 1
    return total


def select_best(among: int, planes: Planes, count: int) -> list[tuple[int, int]]:
    """Return the `count` best notes of a set with their scores; ties by lower number."""
    if count <= 0 or not among:
        return []
    sure, undecided, wanted = 0, among, count
    for plane in reversed(planes):
        upper = undecided & plane
        size = upper.bit_count()
        if size >= wanted:
            undecided = upper
        else:
            sure |= upper
            undecided &= ~upper
            wanted -= size
    chosen = list(iterate(sure))
    for number in iterate(undecided):
        if wanted == 0:
            break
        chosen.append(number)
        wanted -= 1
    tables = [plane.to_bytes((plane.bit_length() + 7) >> 3, "little") for plane in planes]

    def score(number: int) -> int:
        place, bit = number >> 3, number & 7
        return sum(
            (table[place] >> bit & 1) << power
            for power, table in enumerate(tables)
            if place < len(table)
        )

    return sorted(((n, score(n)) for n in chosen), key=lambda pair: (-pair[1], pair[0]))
