"""What goes into the slots of a template: what the prompt says, else words that invite to be
replaced. Sample values are never used as if they were true."""

from __future__ import annotations

import re

from dovetail_design.generating.wishes import Wish
from dovetail_design.library.templates import Template

__all__ = ["fill_slots"]

# Slot -> slots of the wish that may stand in, best first.
_STAND_INS: dict[str, tuple[str, ...]] = {
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

# Slot -> what invites to be replaced.
_INVITATIONS: dict[str, str] = {
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

# Numbered slots that look better with their number.
_COUNTED = frozenset({"point", "item", "dish", "section"})

# First fitting word of the prompt -> the line above the title.
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


def fill_slots(template: Template, wish: Wish) -> tuple[dict[str, str], list[str]]:
    """A value for every slot, and the names of those that only hold an invitation."""
    values: dict[str, str] = {}
    open_slots: list[str] = []
    used: set[str] = set()
    for slot in template.slots:
        if slot in wish.said:
            values[slot] = wish.said[slot]
            used.add(slot)
    for slot, sample in template.slots.items():
        if slot in values:
            continue
        source = next(
            (name for name in _STAND_INS.get(slot, ()) if name in wish.said and name not in used),
            None,
        )
        if source is not None:
            values[slot] = wish.said[source]
            used.add(source)
            continue
        values[slot] = _invitation(slot, sample, wish.prompt, template)
        open_slots.append(slot)
    return values, open_slots


def _invitation(slot: str, sample: str, prompt: str, template: Template) -> str:
    if slot == "tagline":
        # The prompt knows better than the template what this is.
        for text in (prompt.lower(), " ".join(template.tags)):
            for word, line in _TAGLINES.items():
                if re.search(rf"\b{word}", text):
                    return line
        return _INVITATIONS["tagline"]
    if slot in ("number", "code"):
        # The same form, so that a barcode can still be drawn.
        return re.sub(r"\d", "0", sample)
    base, _, number = slot.rpartition("_")
    if base and number.isdigit():
        return _numbered(base, number)
    return _INVITATIONS.get(slot, slot.replace("_", " ").capitalize())


def _numbered(base: str, number: str) -> str:
    if base == "price":
        return "0"
    words = _INVITATIONS.get(base, base.capitalize())
    return f"{words} {number}" if base in _COUNTED else words
