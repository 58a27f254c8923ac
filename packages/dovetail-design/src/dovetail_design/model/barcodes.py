"""Encoders of the ten linear barcode formats, with check digits.

Each encoder takes the value as given and returns the modules (`1` is a bar) and the text to print
below, including check digits. Invalid values raise ValueError with what is allowed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from dovetail_design.model import barcode_tables as tables

__all__ = ["Symbol", "encode_barcode"]

# Every standard allows two and a half narrow modules; three are more reliable in print.
_WIDE = 3


class Symbol(NamedTuple):
    """A barcode without its quiet zones."""

    modules: str
    text: str
    # Light modules that must stay free on each side (quiet zone).
    quiet: int


@functools.lru_cache(maxsize=512)
def encode_barcode(kind: str, value: str) -> Symbol:
    """Encode a value; raises ValueError."""
    return _ENCODERS[kind](value)


def _check_mod10(digits: str) -> str:
    """Return the GS1 check digit: weights 3 and 1 from the right."""
    total = sum(int(digit) * (3 if at % 2 == 0 else 1) for at, digit in enumerate(digits[::-1]))
    return str(-total % 10)


def _with_check(kind: str, value: str, length: int) -> str:
    """Return `length` digits including the check digit, which may be omitted in the value."""
    if not re.fullmatch(rf"\d{{{length - 1},{length}}}", value):
        raise ValueError(
            f"{kind} takes {length - 1} digits, or {length} with the check digit, "
            f"not {value[:40]!r}"
        )
    whole = value[: length - 1] + _check_mod10(value[: length - 1])
    if len(value) == length and value != whole:
        raise ValueError(
            f"the check digit of {kind} {value!r} is wrong: it should be {whole[-1]}; omit it "
            "to have it added"
        )
    return whole


def _encode_ean13(value: str) -> Symbol:
    digits = _with_check("EAN13", value, 13)
    parity = tables.EAN13_PARITY[int(digits[0])]
    left = "".join(
        tables.EAN_SETS[side][int(digit)] for side, digit in zip(parity, digits[1:7], strict=True)
    )
    right = "".join(tables.EAN_SETS["R"][int(digit)] for digit in digits[7:])
    return Symbol(f"101{left}01010{right}101", digits, 11)


def _encode_ean8(value: str) -> Symbol:
    digits = _with_check("EAN8", value, 8)
    left = "".join(tables.EAN_SETS["L"][int(digit)] for digit in digits[:4])
    right = "".join(tables.EAN_SETS["R"][int(digit)] for digit in digits[4:])
    return Symbol(f"101{left}01010{right}101", digits, 7)


def _encode_upc(value: str) -> Symbol:
    digits = _with_check("UPC", value, 12)
    return Symbol(_encode_ean13("0" + digits).modules, digits, 9)


def _encode_upce(value: str) -> Symbol:
    if not re.fullmatch(r"\d{6}|[01]\d{6,7}", value):
        raise ValueError(
            "UPCE takes 6 digits, or 7 or 8 that begin with 0 or 1 (number system, 6 digits, check "
            f"digit), not {value[:40]!r}"
        )
    system, body = ("0", value) if len(value) == 6 else (value[0], value[1:7])
    check = _check_mod10(_expand_upce(system, body))
    if len(value) == 8 and value[-1] != check:
        raise ValueError(f"the check digit of UPCE {value!r} is wrong: it should be {check}")
    parity = tables.UPCE_PARITY[int(check)]
    if system == "1":
        parity = parity.translate(str.maketrans("LG", "GL"))
    middle = "".join(
        tables.EAN_SETS[side][int(digit)] for side, digit in zip(parity, body, strict=True)
    )
    return Symbol(f"101{middle}010101", f"{system}{body}{check}", 9)


def _expand_upce(system: str, body: str) -> str:
    """Return the eleven digits of UPC-A that the six stand for."""
    last = body[5]
    if last in "012":
        return f"{system}{body[:2]}{last}0000{body[2:5]}"
    if last == "3":
        return f"{system}{body[:3]}00000{body[3:5]}"
    if last == "4":
        return f"{system}{body[:4]}00000{body[4]}"
    return f"{system}{body[:5]}0000{last}"


def _encode_itf14(value: str) -> Symbol:
    digits = _with_check("ITF14", value, 14)
    widths = "nnnn"
    for at in range(0, 14, 2):
        bars, gaps = tables.ITF[int(digits[at])], tables.ITF[int(digits[at + 1])]
        widths += "".join(bar + gap for bar, gap in zip(bars, gaps, strict=True))
    return Symbol(_modules(widths + "wnn"), digits, 10)


def _modules(widths: str) -> str:
    """Return narrow and wide elements, a bar first, as modules."""
    return "".join(
        ("1" if at % 2 == 0 else "0") * (_WIDE if width == "w" else 1)
        for at, width in enumerate(widths)
    )


def _encode_code39(value: str) -> Symbol:
    text = value.strip("*").upper()
    unknown = sorted(set(text) - tables.CODE39.keys())
    if not text or unknown or "*" in text:
        raise ValueError(
            f"CODE39 takes A-Z, 0-9, space and -.$/+%, not {''.join(unknown)[:20] or value[:40]!r}"
        )
    return Symbol("0".join(_modules(tables.CODE39[letter]) for letter in f"*{text}*"), text, 10)


def _encode_codabar(value: str) -> Symbol:
    text = value.upper()
    if not re.fullmatch(r"[A-D]?[0-9\-$:/.+]+[A-D]?", text) or (
        text[0] in "ABCD" and text[-1] not in "ABCD"
    ):
        raise ValueError(
            f"codabar takes digits and -$:/.+, between two letters A to D or none, "
            f"not {value[:40]!r}"
        )
    framed = text if text[0] in "ABCD" else f"A{text}A"
    modules = "0".join(_modules(tables.CODABAR[letter]) for letter in framed)
    return Symbol(modules, text.strip("ABCD"), 10)


def _encode_msi(value: str) -> Symbol:
    if not re.fullmatch(r"\d{1,30}", value):
        raise ValueError(f"MSI takes 1 to 30 digits, not {value[:40]!r}")
    digits = value + _check_luhn(value)
    bits = "".join(f"{int(digit):04b}" for digit in digits)
    middle = "".join("110" if bit == "1" else "100" for bit in bits)
    return Symbol(f"110{middle}1001", digits, 12)


def _check_luhn(digits: str) -> str:
    total = 0
    for at, digit in enumerate(digits[::-1]):
        doubled = int(digit) * (2 if at % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return str(-total % 10)


def _encode_pharmacode(value: str) -> Symbol:
    if not re.fullmatch(r"\d{1,6}", value) or not 3 <= int(value) <= 131_070:
        raise ValueError(f"pharmacode takes a number from 3 to 131070, not {value[:40]!r}")
    number, bars = int(value), []
    while number:
        is_even = number % 2 == 0
        bars.append("111" if is_even else "1")
        number = (number - (2 if is_even else 1)) // 2
    return Symbol("00".join(reversed(bars)), str(int(value)), 6)


def _encode_code128(value: str) -> Symbol:
    if not value or any(ord(letter) > 126 for letter in value):
        raise ValueError(f"CODE128 takes ASCII characters, at least one, not {value[:40]!r}")
    codes = _code128_values(value)
    check = (codes[0] + sum(at * code for at, code in enumerate(codes))) % 103
    modules = "".join(
        ("1" if at % 2 == 0 else "0") * int(width)
        for code in (*codes, check, tables.CODE128_STOP)
        for at, width in enumerate(tables.CODE128[code])
    )
    return Symbol(modules, value, 10)


def _code128_values(value: str) -> list[int]:
    """Return start, code set changes and characters; pairs of digits use set C."""
    codes: list[int] = []
    current, at = "", 0
    while at < len(value):
        digits = len(re.match(r"\d*", value[at:])[0])  # type: ignore[index]
        is_all = digits == len(value) and digits % 2 == 0
        if current != "C" and (digits >= 4 or (is_all and digits >= 2)):
            if digits % 2:
                # An odd digit goes first, in the current set.
                current = _switch(codes, current, "B" if current == "" else current)
                codes.append(ord(value[at]) - 32)
                at += 1
            current = _switch(codes, current, "C")
        if current == "C" and digits >= 2:
            codes.append(int(value[at : at + 2]))
            at += 2
            continue
        letter = value[at]
        wanted = "A" if letter < " " else "B" if letter > "_" or current in ("", "C") else current
        current = _switch(codes, current, wanted)
        codes.append(ord(letter) + 64 if letter < " " else ord(letter) - 32)
        at += 1
    return codes


def _switch(codes: list[int], current: str, wanted: str) -> str:
    if current == "":
        codes.append(tables.CODE128_START[wanted])
    elif current != wanted:
        codes.append(tables.CODE128_CHANGE[wanted])
    return wanted


_ENCODERS: dict[str, Callable[[str], Symbol]] = {
    "CODE128": _encode_code128,
    "CODE39": _encode_code39,
    "EAN13": _encode_ean13,
    "EAN8": _encode_ean8,
    "UPC": _encode_upc,
    "UPCE": _encode_upce,
    "ITF14": _encode_itf14,
    "MSI": _encode_msi,
    "pharmacode": _encode_pharmacode,
    "codabar": _encode_codabar,
}
