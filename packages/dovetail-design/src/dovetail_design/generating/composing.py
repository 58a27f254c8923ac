"""A design from a prompt, by rules: choose a template, fill it, fit it to the canvas and colours.

The same prompt, size and style give the same design. Nothing is invented: what the prompt does
not say becomes words that invite to be replaced, and the answer lists them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail_design.generating.choosing import choose_template
from dovetail_design.generating.mending import fit_texts, mend_contrast
from dovetail_design.generating.recolouring import read_recolouring, recolour
from dovetail_design.generating.resizing import resize
from dovetail_design.generating.slot_values import fill_slots
from dovetail_design.generating.wishes import read_wish
from dovetail_design.model import Design, parse_design, to_plain

__all__ = ["Composition", "compose", "generate"]


@dataclass(frozen=True)
class Composition:
    """A design and how it came about."""

    design: Design
    template: str
    values: dict[str, str]
    # Slots that hold an invitation, because the prompt says nothing for them.
    open_slots: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the design may be called."""
        for slot in ("title", "quote", "event", "name", "company"):
            if slot in self.values and slot not in self.open_slots:
                return self.values[slot][:80]
        return self.template.replace("-", " ").capitalize()

    @property
    def explanation(self) -> str:
        """How it was made, in a sentence or two."""
        said = f"Made by rules from the template {self.template!r}."
        if self.open_slots:
            said += f" Still to be filled in: {', '.join(self.open_slots)}."
        return said


def compose(
    prompt: str, width: int | None = None, height: int | None = None, style: str | None = None
) -> Composition:
    """A design for a prompt; without a size, that of the template."""
    wanted = (width or 0, height or 0)
    wish = read_wish(prompt)
    template = choose_template(
        f"{prompt} {style or ''}", wish.said, wanted if all(wanted) else None
    )
    values, open_slots = fill_slots(template, wish)
    plain = recolour(to_plain(template.design(values)), read_recolouring(style or "", prompt))
    design = parse_design(plain)
    size = (width or template.width, height or template.height)
    if size != (design.width, design.height):
        design = resize(design, *size)
    design = mend_contrast(fit_texts(design))
    return Composition(design, template.id, values, tuple(open_slots))


def generate(
    prompt: str, width: int | None = None, height: int | None = None, style: str | None = None
) -> Design:
    """The design alone."""
    return compose(prompt, width, height, style).design
