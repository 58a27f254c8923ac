"""Creates a design from a prompt by rules: choose a template, fill it, adapt size and colours.

The same prompt, size and style give the same design. Nothing is made up: slots without a value in
the prompt get placeholder text, and the result lists them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail_design.generating.autofix import fit_texts, fix_contrast
from dovetail_design.generating.choosing import choose_template
from dovetail_design.generating.prompt_parser import parse_prompt
from dovetail_design.generating.recolouring import read_recolouring, recolour
from dovetail_design.generating.resizing import resize
from dovetail_design.generating.slot_values import fill_slots
from dovetail_design.model import Design, parse_design, to_plain

__all__ = ["Composition", "compose", "generate"]


@dataclass(frozen=True)
class Composition:
    """A design and how it was created."""

    design: Design
    template: str
    values: dict[str, str]
    # Slots with placeholder text, because the prompt has no value for them.
    open_slots: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name for the design."""
        for slot in ("title", "quote", "event", "name", "company"):
            if slot in self.values and slot not in self.open_slots:
                return self.values[slot][:80]
        return self.template.replace("-", " ").capitalize()

    @property
    def explanation(self) -> str:
        """How it was created, in one or two sentences."""
        text = f"Made by rules from the template {self.template!r}."
        if self.open_slots:
            text += f" Still to be filled in: {', '.join(self.open_slots)}."
        return text


def compose(
    prompt: str, width: int | None = None, height: int | None = None, style: str | None = None
) -> Composition:
    """Create a design for a prompt; the default size is that of the template."""
    wanted = (width or 0, height or 0)
    parsed = parse_prompt(prompt)
    template = choose_template(
        f"{prompt} {style or ''}", parsed.values, wanted if all(wanted) else None
    )
    values, open_slots = fill_slots(template, parsed)
    plain = recolour(to_plain(template.design(values)), read_recolouring(style or "", prompt))
    design = parse_design(plain)
    size = (width or template.width, height or template.height)
    if size != (design.width, design.height):
        design = resize(design, *size)
    design = fix_contrast(fit_texts(design))
    return Composition(design, template.id, values, tuple(open_slots))


def generate(
    prompt: str, width: int | None = None, height: int | None = None, style: str | None = None
) -> Design:
    """Return only the design."""
    return compose(prompt, width, height, style).design
