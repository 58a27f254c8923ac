"""Designs and edits from the client's model, by sampling.

The answers are validated like any call. The functions return None for an invalid answer; the
caller then falls back to the built-in rules.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from dovetail import Context, ToolError
from dovetail.errors import DovetailError
from dovetail_design.canvases import Canvas
from dovetail_design.model import PROPERTIES
from dovetail_design.operations import MOST_OPERATIONS, Operation, apply_operations
from dovetail_design.storage import State

__all__ = ["ask_for_design", "ask_for_operations", "offers_sampling"]

_MOST_TOKENS = 8_000
_MOST_SHOWN = 12_000
_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)

_SYSTEM = (
    "You create design layouts. Answer with one JSON object and nothing else. Coordinates are "
    "pixels from the top left corner. Element types and their properties: "
    + "; ".join(
        f"{kind}: {', '.join(name for name in names if name not in ('createdAt', 'updatedAt'))}"
        for kind, names in PROPERTIES.items()
        if kind in ("rectangle", "circle", "text", "line", "star", "qr")
    )
)


def offers_sampling(ctx: Context) -> bool:
    """Return whether the client supports sampling."""
    return isinstance(ctx.client.capabilities.get("sampling"), dict)


async def ask_for_design(
    ctx: Context, prompt: str, size: tuple[int, int], style: str | None
) -> State | None:
    """Return the state of a design from the client's model, or None."""
    look = f" Style: {style}." if style else ""
    asked = (
        f"Create the layout of a design of {size[0]} x {size[1]} pixels: {prompt}.{look} Answer "
        '{"background": "#rrggbb", "elements": [{"type": "text", "x": 0, "y": 0, "width": 100, '
        '"height": 40, "text": "..."}]}. Keep margins, let no text overflow its box, keep '
        "contrast high."
    )
    answer = await _ask(ctx, asked, "design")
    if not isinstance(answer, dict) or not isinstance(answer.get("elements"), list):
        return None
    state = {"name": "", "width": size[0], "height": size[1], "elements": []}
    canvas = Canvas(state)
    try:
        for element in answer["elements"]:
            canvas.add(element)
    except ToolError:
        return None
    if not canvas.elements:
        return None
    return {**canvas.state(), "background": str(answer.get("background") or "#ffffff")}


async def ask_for_operations(
    ctx: Context, message: str, state: State
) -> tuple[str, list[dict[str, Any]]] | None:
    """Return a reply and operations for the message, or None if none are valid."""
    shown = json.dumps(state["elements"])[:_MOST_SHOWN]
    asked = (
        f"A design of {state['width']} x {state['height']} pixels has these elements: {shown}\n"
        f"The user says: {message}\nAnswer "
        '{"reply": "one sentence", "operations": [{"op": "update", "elementId": "...", "updates": '
        '{"fontSize": 40}}, {"op": "add", "element": {...}}, {"op": "delete", "elementIds": '
        '["..."]}]}.'
    )
    answer = await _ask(ctx, asked, "operations")
    if not isinstance(answer, dict):
        return None
    operations = answer.get("operations")
    if not isinstance(operations, list) or not 0 < len(operations) <= MOST_OPERATIONS:
        return None
    try:
        typed = msgspec.convert(operations, list[Operation])
        apply_operations(Canvas(state), typed)
    except (msgspec.ValidationError, ToolError):
        return None
    return str(answer.get("reply") or "Done.")[:2_000], operations


async def _ask(ctx: Context, text: str, key: str) -> Any:
    try:
        sampled = await ctx.sample(
            text, max_tokens=_MOST_TOKENS, system_prompt=_SYSTEM, temperature=0.3, key=key
        )
    except DovetailError:
        # The user declined or the model failed: fall back to the rules.
        return None
    fenced = _FENCED.search(sampled.text)
    try:
        return json.loads(fenced[1] if fenced else sampled.text)
    except ValueError:
        return None
