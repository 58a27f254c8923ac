"""Types that travel as JSON text: the schema that says exactly what the decoders take.

`format` alone is a note in JSON Schema 2020-12 and is read differently by different
validators, so it is named only where every value of the format is accepted and nothing else
is (`date`, `uuid`, `date-time` with its offset). Everything else is told as a `pattern`, in
the ASCII part of ECMA-262 that Python, Rust and JavaScript read alike.

Results differ from arguments in one point: a date and time without an offset may be
returned (naive values are common), but is not accepted, as RFC 3339 asks.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "INTEGER_KEY",
    "WORDS_FOR_FORMAT",
    "WORDS_FOR_PATTERN",
    "base64_text",
    "date_time_text",
    "decimal_text",
    "duration_of_pydantic",
    "duration_text",
    "time_text",
]

OFFSET = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
# Only days that exist: without a `format` beside it, the pattern has to know the calendar.
CALENDAR_DAY = (
    r"(?:(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    rf"|{LEAP_YEAR}-02-29)"
)

DECIMAL = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?$"
INTEGER_KEY = r"^-?(?:0|[1-9][0-9]{0,99})$"
# The digits keep every sum inside what msgspec, pydantic and a timedelta can hold.
CLOCK_PART = r"T(?=[0-9])(?:[0-9]{1,6}H)?(?:[0-9]{1,6}M)?(?:[0-9]{1,8}(?:\.[0-9]{1,6})?S)?"
DURATION = f"^-?P(?:[0-9]{{1,8}}D(?:{CLOCK_PART})?|{CLOCK_PART})$"
DURATION_OF_PYDANTIC = r"^-?P[0-9.DHMSTY]+$"
TIME = f"^{CLOCK}{OFFSET}?$"
TIME_WITH_OFFSET = f"^{CLOCK}{OFFSET}$"
TIME_WITHOUT_OFFSET = f"^{CLOCK}$"
# For results, which are dates already: short, since every reader of the schema pays for it.
DATE_TIME = f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{CLOCK}{OFFSET}?$"
DATE_TIME_WITHOUT_OFFSET = f"^{CALENDAR_DAY}T{CLOCK}$"

WORDS_FOR_FORMAT = {
    "date": "date such as 2025-01-31",
    "date-time": "date and time with an offset, such as 2025-01-31T12:00:00Z",
    "email": "e-mail address",
    "uri": "URI",
    "uuid": "UUID such as 123e4567-e89b-12d3-a456-426614174000",
}
WORDS_FOR_PATTERN = {
    DATE_TIME: "date and time such as 2025-01-31T12:00:00",
    DATE_TIME_WITHOUT_OFFSET: "date and time without an offset, such as 2025-01-31T12:00:00",
    DECIMAL: "decimal number such as 12.50",
    DURATION: "duration such as P1DT2H30M",
    DURATION_OF_PYDANTIC: "duration such as P1DT2H30M",
    INTEGER_KEY: "integer written as text",
    TIME: "time such as 12:30:00",
    TIME_WITHOUT_OFFSET: "time without an offset, such as 12:30:00",
    TIME_WITH_OFFSET: "time with an offset, such as 12:30:00Z",
}


def decimal_text() -> dict[str, Any]:
    """A Decimal is written as text, to keep its digits, and also read from a number."""
    return {"type": ["string", "number"], "pattern": DECIMAL}


def duration_text() -> dict[str, Any]:
    """ISO 8601 without weeks, months and years, which have no fixed length or no decoder."""
    return {"type": "string", "pattern": DURATION}


def duration_of_pydantic() -> dict[str, Any]:
    """What pydantic writes: years of 365 days too, and fractions, which `format` forbids."""
    return {"type": "string", "pattern": DURATION_OF_PYDANTIC}


def time_text(*, offset: bool | None = None) -> dict[str, Any]:
    """`offset`: it must be there, it must not, or (None) either."""
    patterns = {None: TIME, True: TIME_WITH_OFFSET, False: TIME_WITHOUT_OFFSET}
    return {"type": "string", "pattern": patterns[offset]}


def date_time_text(*, offset: bool | None, is_result: bool) -> dict[str, Any]:
    """`offset`: it must be there, it must not, or (None) as the direction has it."""
    if offset is False:
        return {"type": "string", "pattern": DATE_TIME_WITHOUT_OFFSET}
    if is_result and offset is None:
        return {"type": "string", "pattern": DATE_TIME}
    return {"type": "string", "format": "date-time"}


def base64_text(min_length: int | None, max_length: int | None) -> dict[str, Any]:
    """Base64 with padding; the limits count bytes, so the pattern counts groups of three."""
    alternatives = []
    for rest, tail in ((0, ""), (1, "[A-Za-z0-9+/]{2}=="), (2, "[A-Za-z0-9+/]{3}=")):
        fewest = max(0, -((rest - (min_length or 0)) // 3))
        if max_length is None:
            alternatives.append(f"(?:[A-Za-z0-9+/]{{4}}){{{fewest},}}{tail}")
        elif fewest <= (most := (max_length - rest) // 3):
            alternatives.append(f"(?:[A-Za-z0-9+/]{{4}}){{{fewest},{most}}}{tail}")
    pattern = "^(?:" + "|".join(alternatives) + ")$"
    return {"type": "string", "contentEncoding": "base64", "pattern": pattern}
