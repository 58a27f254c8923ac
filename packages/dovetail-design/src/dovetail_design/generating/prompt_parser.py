"""Extracts values for template slots from a prompt.

It uses patterns: quotes, dates, times, prices, e-mail addresses and URLs, names after "by" and
"for"; the rest becomes the title.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["ParsedPrompt", "parse_prompt"]

_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_PATTERNS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "email": r"[\w.+-]+@[\w-]+\.[\w.-]*\w",
        "url": r"(?:https?://)?(?:www\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|co|example|"
        r"eu|nl|de|uk|us|app|dev|info)(?:/[\w./-]*)?",
        "handle": r"(?<![\w.])@\w{2,30}",
        "date": rf"(?:{_DAYS},?\s+)?(?:(?:the\s+)?{_DAY}(?:\s*(?:-|to|and|\u2013)\s*{_DAY})?\s+"
        rf"(?:of\s+)?(?:{_MONTHS})\b|(?:{_MONTHS})\s+{_DAY}\b)(?:,?\s+\d{{4}})?|"
        rf"\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\b{_DAYS}\b",
        "time": r"\b\d{1,2}(?::\d{2})?\s?(?:am|pm)\b(?:\s*(?:-|to)\s*\d{1,2}(?::\d{2})?\s?"
        r"(?:am|pm)\b)?|\b\d{1,2}:\d{2}\b(?:\s*(?:-|to)\s*\d{1,2}:\d{2}\b)?",
        "discount": r"\b\d{1,2}\s?%",
        "price": r"(?:[$\u20ac\u00a3]\s?\d[\d,.]*\d|[$\u20ac\u00a3]\s?\d)|\b\d[\d,.]*\s?"
        r"(?:euros?|dollars?|pounds?|usd|eur)\b",
        "phone": r"(?<!\d)\+?\d[\d ()-]{7,}\d(?!\d)",
    }.items()
}
_QUOTED = re.compile(r"[\"\u201c\u201e]([^\"\u201c\u201d\u201e]{2,300})[\"\u201d]")
_SINGLE = re.compile(r"(?:(?<=\s)|^)['\u2018](.{2,300}?)['\u2019](?=[\s,.;:!?]|$)")
_LABELLED = re.compile(
    r"\b(title|headline|subtitle|tagline|name|role|company|place|location|venue|author|price|code|"
    r"date|time|speaker|event|recipient|issuer|cta|button|quote|body|message|text)\s*[:=]\s*"
    r"([^,;\n|]{1,200})",
    re.IGNORECASE,
)
_ALIASES = {
    "headline": "title",
    "location": "place",
    "venue": "place",
    "speaker": "name",
    "recipient": "name",
    "button": "cta",
    "message": "body",
    "text": "body",
}
_NAME = (
    r"[A-Z\u00c0-\u00de][\w\u00c0-\u024f'.-]*(?:\s+(?:(?:van|von|de|der|la|of|&)\s+)*"
    r"[A-Z\u00c0-\u00de][\w\u00c0-\u024f'.-]*){0,3}"
)
_AFTER: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("author", re.compile(rf"(?:\bby|\u2014|--| - )\s+({_NAME})")),
    (
        "name",
        re.compile(rf"\b(?:awarded to|presented to|given to|recipient|honou?ring|for)\s+({_NAME})"),
    ),
    ("place", re.compile(rf"\b(?:at|in) (?:the )?({_NAME}(?:,\s+{_NAME})?(?:\s+\d+[a-z]?\b)?)")),
    (
        "company",
        re.compile(
            rf"\b(?:company|firm|brand|shop|cafe|caf\u00e9|restaurant|from)\s+(?:called\s+)?({_NAME})"
        ),
    ),
)
_CALLED = re.compile(
    r"\b(?:called|titled|named|saying|says|that says|reading|about)\s+", re.IGNORECASE
)
# The request at the start: "create a modern instagram post for ..."
_ORDER = re.compile(
    r"^\s*(?:please\s+)?(?:can you\s+|could you\s+)?(?:create|make|design|generate|draw|build|"
    r"produce|i need|i want|give me|we need)?\s*(?:me\s+|us\s+)?(?:an?\s+|the\s+|some\s+)?",
    re.IGNORECASE,
)
_LINKS = re.compile(
    r"^(?:for|about|of|on|with|announcing|promoting|to|that|which|and|in|at)\s+", re.IGNORECASE
)
_KINDS = frozenset(
    re.findall(
        r"\w+",
        """post story banner card poster flyer certificate badge invitation invite menu resume cv
        invoice slide presentation thumbnail pin cover ticket voucher label newsletter header
        infographic quote template design graphic image instagram facebook twitter linkedin
        pinterest youtube business
        gift product event title content closing announcement social media ad advert""",
    )
)
# Phrases of certain kinds of prompts: pattern -> slots of its groups.
_PHRASES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (
        re.compile(
            r"\bhiring\s+(?:an?\s+|our\s+|the\s+)?([\w /-]+?)(?=\s+(?:in|at|for|with)\b|[,.;]|$)",
            re.I,
        ),
        ("title",),
    ),
    (
        re.compile(r"\b(certificate of [a-z]+(?: [a-z]+)?)(?=\s+(?:for|to|in)\b|[,.;]|$)", re.I),
        ("title",),
    ),
    (re.compile(rf"\b({_NAME})\s+(?:and|&)\s+({_NAME})"), ("name", "partner")),
    (re.compile(rf"\bfor\s+({_NAME}),\s+([a-z][a-z ]+?)(?=[,.;]|$)"), ("name", "role")),
    (
        re.compile(
            r"^(?:please\s+)?(?:(?:create|make|design)\s+)?(?:an?\s+)?((?:[\w']+\s+){1,3}sale)\b",
            re.I,
        ),
        ("title",),
    ),
)
_LONGEST_TITLE = 60
# The end of a title: the end of a sentence, or the start of a value for another slot.
_ENDS = re.compile(
    r"[;.!?\n]| - |\s+(?:on|at|by|with|from|using)\s+(?=[;A-Z]|a\b|the\b|my\b|our\b)"
)


@dataclass(frozen=True)
class ParsedPrompt:
    """A prompt and the values found in it."""

    prompt: str
    # Slot -> value.
    values: dict[str, str] = field(default_factory=dict)


def parse_prompt(prompt: str) -> ParsedPrompt:
    """Parse a prompt; the same prompt always gives the same result."""
    text = " ".join(prompt.split())
    values: dict[str, str] = {}
    rest = text
    for label, value in _LABELLED.findall(rest):
        slot = _ALIASES.get(label.lower(), label.lower())
        values.setdefault(slot, _tidy(value).strip("\"'\u201c\u201d"))
    rest = _LABELLED.sub(" ", rest)
    quoted = _QUOTED.findall(rest) or _SINGLE.findall(rest)
    rest = _SINGLE.sub(" ", _QUOTED.sub(" ", rest))
    for pattern, slots in _PHRASES:
        found = pattern.search(rest)
        if found:
            for slot, value in zip(slots, found.groups(), strict=True):
                values.setdefault(slot, _capital(_tidy(value)))
    for slot, pattern in _PATTERNS.items():
        found = pattern.search(rest)
        if found and slot not in values:
            values[slot] = _tidy(found[0])
            rest = rest[: found.start()] + " ; " + rest[found.end() :]
    for slot, pattern in _AFTER:
        found = pattern.search(rest)
        if found and slot not in values:
            values[slot] = _tidy(found[1])
    _take_quotes(quoted, values, text)
    if "title" not in values:
        is_birthday = re.search(r"\bbirthday\b", text, re.IGNORECASE) and "name" in values
        title = f"{values['name']}'s birthday" if is_birthday else _title(rest)
        if title:
            values["title"] = title
    return ParsedPrompt(text, values)


def _take_quotes(quoted: list[str], values: dict[str, str], text: str) -> None:
    """Use the first quoted text as quote or title, the second as subtitle."""
    if not quoted:
        return
    is_saying = re.search(r"\b(?:quote|quotation|saying)\b", text, re.IGNORECASE)
    first = _tidy(quoted[0])
    if is_saying:
        values.setdefault("quote", first)
    values.setdefault("title", first)
    if len(quoted) > 1:
        values.setdefault("subtitle", _tidy(quoted[1]))


def _title(rest: str) -> str:
    """Return the prompt without the request and the kind of design."""
    called = _CALLED.split(rest, maxsplit=1)
    if len(called) == 2:
        rest = called[1]
    else:
        rest = _ORDER.sub("", rest, count=1)
        words = rest.split()
        last = max(
            (at for at, word in enumerate(words[:8]) if word.lower().strip(",.:;") in _KINDS),
            default=-1,
        )
        rest = " ".join(words[last + 1 :]) or rest
    rest = _ENDS.split(rest)[0]
    while _LINKS.match(rest):
        rest = _LINKS.sub("", rest, count=1)
    rest = re.sub(r"^(?:an?|the|our|my)\s+", "", _tidy(rest))
    rest = re.sub(r"\s+(?:on|at|by|with|for|in|and|of|to|from)$", "", rest)
    if len(rest) > _LONGEST_TITLE:
        rest = rest[:_LONGEST_TITLE].rsplit(" ", 1)[0]
    return _capital(rest)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ,;:.-\u2013\u2014")
