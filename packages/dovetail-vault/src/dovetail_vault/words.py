"""Case folding and splitting into words, for the index.

Folding is Unicode's simple case folding, character by character, as in ripgrep's `-i`, so that both
find the same notes. A word is a run of letters, digits and underscores; each character of a script
without spaces between words is a word of its own.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["MAX_WORD_LENGTH", "WORD", "fold", "split_words", "without_surrogates"]

# Longer runs are not indexed; notes that contain one are searched as text.
MAX_WORD_LENGTH = 64

_IDEOGRAPHIC = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
WORD = re.compile(rf"[{_IDEOGRAPHIC}]|[^\W{_IDEOGRAPHIC}]+")
_ANY_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHIC}]")
_PLAIN_WORD = re.compile(r"\w+")
# Translation table for ASCII: characters outside words become spaces.
_BLANKED = bytes(
    byte if chr(byte).isalnum() or byte == ord("_") else ord(" ") for byte in range(128)
).ljust(256)
_SURROGATES = re.compile("[\ud800-\udfff]")
# Characters above this have no case; checking all of Unicode would take a second.
_BEYOND_CASE = 0x1F000
# Simple foldings that Python provides only in their multi-character form.
_SINGLE = {0x1FD3: 0x0390, 0x1FE3: 0x03B0, 0xFB05: 0xFB06}


@cache
def _foldings() -> dict[int, int]:
    table = dict(_SINGLE)
    for number in range(_BEYOND_CASE):
        character = chr(number)
        folded = character.casefold()
        if len(folded) != 1:
            folded = character.lower()
        if len(folded) == 1 and folded != character:
            table.setdefault(number, ord(folded))
    return table


@cache
def _not_like_lower() -> re.Pattern[str]:
    """Return a pattern for characters where `str.lower` differs, like long s and final sigma."""
    table = _foldings()
    odd = [
        chr(number)
        for number in range(_BEYOND_CASE)
        if chr(number).lower() != chr(table.get(number, number))
    ]
    # The lower case of a capital sigma depends on its context.
    return re.compile(f"[{re.escape(''.join(odd))}\u03a3]")


def fold(text: str) -> str:
    """Return the case-folded text, of the same length as the original."""
    if text.isascii() or _not_like_lower().search(text) is None:
        return text.lower()
    return text.translate(_foldings())


def split_words(folded: str) -> list[str]:
    """Return the words of a folded text, in order: like `WORD.findall`, but faster."""
    if folded.isascii():
        return folded.encode().translate(_BLANKED).decode().split()
    if _ANY_IDEOGRAPH.search(folded) is None:
        return _PLAIN_WORD.findall(folded)
    return WORD.findall(folded)


def without_surrogates(text: str) -> str:
    """Replace lone surrogates (bytes that were not valid UTF-8) by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text
