"""A design: a canvas and its elements, bottom first."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from dovetail_design.model.elements import AnyElement
from dovetail_design.model.gradients import parse_paint
from dovetail_design.model.values import Paint

__all__ = ["MAX_ELEMENTS", "MAX_SIDE", "CanvasSide", "Design"]

MAX_SIDE = 10_000
# A poster with a thousand elements is large; this leaves plenty of room.
MAX_ELEMENTS = 10_000

CanvasSide = Annotated[int, Meta(ge=1, le=MAX_SIDE, description="Pixels, 1 to 10000")]


class Design(
    msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A design, ready to be rendered."""

    width: CanvasSide = 1920
    height: CanvasSide = 1080
    background: Paint = "#ffffff"
    elements: Annotated[tuple[AnyElement, ...], Meta(max_length=MAX_ELEMENTS)] = ()

    @property
    def page_count(self) -> int:
        """How many pages there are."""
        return max((element.page for element in self.elements), default=1)

    def page(self, number: int) -> Design:
        """Return a design with one page of this one."""
        if self.page_count == 1:
            return self
        elements = tuple(element for element in self.elements if element.page == number)
        return msgspec.structs.replace(self, elements=elements)

    def split(self) -> tuple[Design, ...]:
        """Return every page as a design."""
        return tuple(self.page(number) for number in range(1, self.page_count + 1))

    def __post_init__(self) -> None:
        """Reject a background that is neither a colour nor a gradient."""
        try:
            parse_paint(self.background)
        except ValueError as error:
            raise ValueError(f"background: {error}") from None
