"""Finds elements whose data cannot be drawn, such as a barcode with a wrong check digit."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dovetail import ToolError
from dovetail_design.findings.finding import Finding
from dovetail_design.findings.scene import Scene
from dovetail_design.model import Barcode, Image, Qr, Svg
from dovetail_design.rendering.scene import compose_scene

__all__ = ["find_broken_data"]


def find_broken_data(scene: Scene) -> Iterator[Finding]:
    """Yield what the renderer rejects, with its error message."""
    for item in scene.items:
        element = item.element
        if not isinstance(element, Barcode | Qr | Image | Svg):
            continue
        alone = msgspec.structs.replace(
            scene.design, elements=(msgspec.structs.replace(element, groupId=None),)
        )
        try:
            compose_scene(alone, scene.context)
        except ToolError as error:
            yield Finding(
                "bad-data",
                f"The {item.label} cannot be drawn: {_reason(error)}",
                (item.id,),
                "Correct the value, or delete the element.",
            )


def _reason(error: ToolError) -> str:
    """Return the message without the element's name, which the finding already has."""
    text = str(error)
    return text.partition(": ")[2] if text.startswith("Element ") else text
