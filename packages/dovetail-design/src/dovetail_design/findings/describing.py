"""Runs all checks on a design."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from dovetail_design.findings.boxes import Box
from dovetail_design.findings.broken_data import find_broken_data
from dovetail_design.findings.contents import find_empty, find_unfilled
from dovetail_design.findings.contrasts import find_low_contrast
from dovetail_design.findings.finding import Finding
from dovetail_design.findings.hiding import find_invisible
from dovetail_design.findings.measuring import DrawingContext
from dovetail_design.findings.outline import LONGEST, Detail, write_outline
from dovetail_design.findings.overflows import find_overflows
from dovetail_design.findings.overlaps import find_overlaps
from dovetail_design.findings.pixels import PixelSampler
from dovetail_design.findings.placing import find_off_canvas
from dovetail_design.findings.scene import Scene
from dovetail_design.findings.typefaces import find_missing_fonts, find_missing_glyphs
from dovetail_design.model import Design

__all__ = ["Description", "describe"]


@dataclass(frozen=True)
class Description:
    """A design with its findings."""

    scene: Scene
    # In a template, unfilled fields are not a problem.
    is_template: bool = False

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, in the order of the elements."""
        levels = {item.id: item.level for item in self.scene.items}
        found = list(self._look())
        found.sort(key=lambda one: levels.get(one.element_ids[0], 0))
        return tuple(found)

    def about(self, ids: Collection[str]) -> tuple[Finding, ...]:
        """Return the findings about any of these elements."""
        wanted = set(ids)
        return tuple(found for found in self.findings if wanted.intersection(found.element_ids))

    def text(
        self,
        detail: Detail = "outline",
        region: tuple[float, float, float, float] | None = None,
        longest: int = LONGEST,
    ) -> str:
        """Return the design as text; region is x, y, width, height."""
        box = None
        findings = self.findings
        if region is not None:
            x, y, width, height = region
            box = Box(x, y, x + width, y + height)
            findings = self.about({item.id for item in self.scene.near(box)})
        return write_outline(self.scene, findings, detail=detail, region=box, longest=longest)

    def _look(self) -> Iterator[Finding]:
        scene = self.scene
        pixels = PixelSampler(scene)
        yield from find_off_canvas(scene)
        yield from find_overflows(scene)
        yield from find_overlaps(scene, pixels)
        yield from find_low_contrast(scene, pixels)
        yield from find_missing_fonts(scene)
        yield from find_missing_glyphs(scene)
        yield from find_invisible(scene)
        yield from find_empty(scene)
        yield from find_broken_data(scene)
        if not self.is_template:
            yield from find_unfilled(scene)


def describe(
    design: Design, context: DrawingContext | None = None, *, is_template: bool = False
) -> Description:
    """Check a design. With a context, its fonts and pictures are used."""
    return Description(Scene.of(design, context), is_template)
