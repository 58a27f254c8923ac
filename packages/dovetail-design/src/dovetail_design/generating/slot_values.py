"""Values for the slots of a template: from the prompt, else placeholder text.

Sample values are never used, because they would look like real content.
"""

from __future__ import annotations

import re

from dovetail_design.generating.prompt_parser import ParsedPrompt
from dovetail_design.library.templates import Template

__all__ = ["fill_slots"]

# Slot -> other values of the prompt that can be used instead, best first.
_ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "quote": ("title", "body"),
    "title": ("quote", "event", "company", "name"),
    "event": ("title",),
    "subtitle": ("body",),
    "body": ("subtitle",),
    "name": ("author", "company"),
    "author": ("name",),
    "partner": (),
    "issuer": ("company", "author"),
    "company": ("issuer",),
    "handle": ("url",),
    "url": ("email", "handle"),
    "contact": ("email", "phone", "url"),
    "code": ("url",),
    "discount": (),
    "price": (),
    "cta": (),
}

# Slot -> placeholder text.
_PLACEHOLDERS: dict[str, str] = {
    "title": "Your title",
    "subtitle": "A line that says more",
    "tagline": "Introducing",
    "body": "A sentence or two about it.",
    "quote": "Your quote",
    "author": "Author",
    "name": "Your name",
    "partner": "Partner",
    "role": "Role",
    "company": "Company",
    "event": "Event",
    "kind": "Guest",
    "date": "Date",
    "time": "Time",
    "place": "Place",
    "price": "Price",
    "discount": "10%",
    "cta": "Learn more",
    "url": "your-site.example",
    "email": "you@mail.example",
    "phone": "Phone",
    "handle": "@yourname",
    "contact": "Contact",
    "terms": "Terms",
    "code": "000000",
    "seat": "Seat",
    "issuer": "Issued by",
    "weight": "Weight",
    "servings": "Servings",
    "footer": "Footer",
    "summary": "A few sentences about you.",
    "skills": "Skill\nSkill\nSkill",
    "languages": "Language",
    "address": "Address",
    "company_address": "Address",
    "special": "Something special",
    "degree": "Degree",
    "school": "School",
    "point": "Point",
    "item": "Item",
    "dish": "Dish",
    "note": "What is in it",
    "job": "Job",
    "employer": "Employer, years",
    "done": "What you did there.",
    "label": "What it means",
    "value": "0",
    "quantity": "1",
    "amount": "0.00",
    "subtotal": "0.00",
    "vat": "0.00",
    "vat_rate": "0%",
    "total": "0.00",
    "section": "Section",
}

# Slots whose placeholder includes their number.
_COUNTED = frozenset({"point", "item", "dish", "section"})

# First matching word of the prompt -> the line above the title.
_TAGLINES: dict[str, str] = {
    "sale": "Special offer",
    "discount": "Special offer",
    "offer": "Special offer",
    "opening": "Now open",
    "launch": "Now available",
    "webinar": "Webinar",
    "workshop": "Workshop",
    "concert": "Live",
    "festival": "Festival",
    "birthday": "You are invited to",
    "wedding": "Together with their families",
    "certificate": "This is to certify that",
    "recipe": "Recipe",
    "tip": "Tip",
    "novel": "A novel",
    "book": "A book",
    "event": "You are invited",
    "party": "You are invited",
    "newsletter": "Newsletter",
}


def fill_slots(template: Template, parsed: ParsedPrompt) -> tuple[dict[str, str], list[str]]:
    """Return a value for every slot, and the names of slots with placeholder text."""
    values: dict[str, str] = {}
    open_slots: list[str] = []
    used: set[str] = set()
    for slot in template.slots:
        if slot in parsed.values:
            values[slot] = parsed.values[slot]
            used.add(slot)
    for slot, sample in template.slots.items():
        if slot in values:
            continue
        source = next(
            (
                name
                for name in _ALTERNATIVES.get(slot, ())
                if name in parsed.values and name not in used
            ),
            None,
        )
        if source is not None:
            values[slot] = parsed.values[source]
            used.add(source)
            continue
        values[slot] = _placeholder(slot, sample, parsed.prompt, template)
        open_slots.append(slot)
    return values, open_slots


def _placeholder(slot: str, sample: str, prompt: str, template: Template) -> str:
    if slot == "tagline":
        # The prompt describes the design better than the template.
        for text in (prompt.lower(), " ".join(template.tags)):
            for word, line in _TAGLINES.items():
                if re.search(rf"\b{word}", text):
                    return line
        return _PLACEHOLDERS["tagline"]
    if slot in ("number", "code"):
        # The same form, so that a barcode can still be drawn.
        return re.sub(r"\d", "0", sample)
    base, _, number = slot.rpartition("_")
    if base and number.isdigit():
        return _numbered(base, number)
    return _PLACEHOLDERS.get(slot, slot.replace("_", " ").capitalize())


def _numbered(base: str, number: str) -> str:
    if base == "price":
        return "0"
    words = _PLACEHOLDERS.get(base, base.capitalize())
    return f"{words} {number}" if base in _COUNTED else words
