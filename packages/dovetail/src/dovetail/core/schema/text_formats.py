"""Schemas of types that are strings in JSON; they match exactly what the decoders accept.

In JSON Schema 2020-12 `format` is only an annotation, and validators interpret it differently. So
it is used only for formats whose values are all accepted (`date`, `uuid`, `date-time` with its
offset). All others have a `pattern`, in the ASCII subset of ECMA-262 that Python, Rust and
JavaScript interpret the same way.

Results differ from arguments in one point: a date and time without an offset may be returned
(naive values are common), but is not accepted, as RFC 3339 requires.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = [
    "INTEGER_KEY",
    "WORDS_FOR_FORMAT",
    "base64_text",
    "date_time_text",
    "decimal_text",
    "duration_of_pydantic",
    "duration_text",
    "kind_of",
    "time_text",
    "words_for_pattern",
]

OFFSET = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
# Only days that exist: without a `format`, the pattern has to check the calendar.
CALENDAR_DAY = (
    r"(?:(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    rf"|{LEAP_YEAR}-02-29)"
)

DECIMAL = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?$"
INTEGER_KEY = r"^-?(?:0|[1-9][0-9]{0,99})$"
# The number of digits keeps sums in the range of msgspec, pydantic and timedelta.
CLOCK_PART = r"T(?=[0-9])(?:[0-9]{1,6}H)?(?:[0-9]{1,6}M)?(?:[0-9]{1,8}(?:\.[0-9]{1,6})?S)?"
DURATION = f"^-?P(?:[0-9]{{1,8}}D(?:{CLOCK_PART})?|{CLOCK_PART})$"
DURATION_OF_PYDANTIC = r"^-?P[0-9.DHMSTY]+$"
TIME = f"^{CLOCK}{OFFSET}?$"
TIME_WITH_OFFSET = f"^{CLOCK}{OFFSET}$"
TIME_WITHOUT_OFFSET = f"^{CLOCK}$"
# For results, which are valid dates: short, since every client reads the schema.
DATE_TIME = f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{CLOCK}{OFFSET}?$"
DATE_TIME_WITHOUT_OFFSET = f"^{CALENDAR_DAY}T{CLOCK}$"

# Four characters of base64 are three bytes; the last group may be shorter.
GROUP = "(?:[A-Za-z0-9+/]{4})"
BASE64 = f"^(?:{GROUP}"
GROUPS = re.compile(re.escape(GROUP) + r"\{(\d+),(\d*)\}(?:\[A-Za-z0-9\+/\](\{\d\}))?")

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

KINDS_OF_PATTERN = {
    DATE_TIME_WITHOUT_OFFSET: "date-time",
    DECIMAL: "decimal",
    DURATION: "duration",
    TIME: "time",
    TIME_WITHOUT_OFFSET: "time",
    TIME_WITH_OFFSET: "time",
}


def kind_of(schema: dict[str, Any]) -> str | None:
    """Return the kind of text that a schema describes, None for any text.

    No text is of two kinds that are generated here.
    """
    return KINDS_OF_PATTERN.get(schema.get("pattern", ""), schema.get("format"))


def decimal_text() -> dict[str, Any]:
    """Return the schema of a Decimal: written as a string, also accepted as a number."""
    return {"type": ["string", "number"], "pattern": DECIMAL}


def duration_text() -> dict[str, Any]:
    """Return the schema of a timedelta: ISO 8601 without weeks, months and years."""
    return {"type": "string", "pattern": DURATION}


def duration_of_pydantic() -> dict[str, Any]:
    """Return the schema of durations that pydantic writes: with years, and with fractions."""
    return {"type": "string", "pattern": DURATION_OF_PYDANTIC}


def time_text(*, offset: bool | None = None) -> dict[str, Any]:
    """Return the schema of a time. `offset`: required, forbidden, or (None) optional."""
    patterns = {None: TIME, True: TIME_WITH_OFFSET, False: TIME_WITHOUT_OFFSET}
    return {"type": "string", "pattern": patterns[offset]}


def date_time_text(*, offset: bool | None, is_result: bool) -> dict[str, Any]:
    """Return the schema of a datetime. `offset`: required, forbidden, or (None) the default."""
    if offset is False:
        return {"type": "string", "pattern": DATE_TIME_WITHOUT_OFFSET}
    if is_result and offset is None:
        return {"type": "string", "pattern": DATE_TIME}
    return {"type": "string", "format": "date-time"}


def words_for_pattern(pattern: str) -> str | None:
    """Return words for a pattern that is generated here, None for any other."""
    if not pattern.startswith(BASE64):
        return WORDS_FOR_PATTERN.get(pattern)
    least, most = [], []
    for fewest, limit, tail in GROUPS.findall(pattern):
        rest = {"": 0, "{2}": 1, "{3}": 2}[tail]
        least.append(3 * int(fewest) + rest)
        most.append(3 * int(limit or 0) + rest)
    words = [f"at least {min(least)}"] if min(least) else []
    words += [f"at most {max(most)}"] if ",}" not in pattern else []
    limits = " and ".join(words)
    return f"base64 text of {limits} bytes" if limits else "base64 text such as aGVsbG8="


def base64_text(min_length: int | None, max_length: int | None) -> dict[str, Any]:
    """Return the schema of padded base64. The limits are in bytes, so it counts groups of 3."""
    alternatives = []
    for rest, tail in ((0, ""), (1, "[A-Za-z0-9+/]{2}=="), (2, "[A-Za-z0-9+/]{3}=")):
        fewest = max(0, -((rest - (min_length or 0)) // 3))
        if max_length is None:
            alternatives.append(f"{GROUP}{{{fewest},}}{tail}")
        elif fewest <= (most := (max_length - rest) // 3):
            alternatives.append(f"{GROUP}{{{fewest},{most}}}{tail}")
    pattern = "^(?:" + "|".join(alternatives) + ")$"
    return {"type": "string", "contentEncoding": "base64", "pattern": pattern}
