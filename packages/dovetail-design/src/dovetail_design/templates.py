"""Embedded templates and templates of users, through one interface."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dovetail import ToolError
from dovetail_design.canvases import Canvas, new_id
from dovetail_design.filling import fill_elements, find_fields
from dovetail_design.library.templates import find_template, list_templates
from dovetail_design.storage import DesignQuery, Reader, State
from dovetail_design.studio import Caller, Studio, may_see

__all__ = ["MOST_OWN", "Source", "find_source", "instantiate", "own_templates"]

MOST_OWN = 1_000
# The properties without which an element shows nothing.
_WHOLE = ("text", "src", "qrValue", "barcodeValue")


@dataclass(frozen=True, slots=True)
class Source:
    """A template to be applied."""

    id: str
    name: str
    state: State
    # Field -> example value.
    samples: Mapping[str, Any]
    # None for an embedded template.
    owner: str | None = None


def own_templates(reader: Reader, caller: Caller) -> list[Any]:
    """Return the records of the templates that users have created."""
    query = DesignQuery(viewer=caller.viewer, is_template=True, limit=MOST_OWN)
    return list(reader.designs(query).items)


def find_source(studio: Studio, reader: Reader, caller: Caller, id: str) -> Source:
    """Return a template by its id; raises ToolError."""
    embedded = find_template(id)
    if embedded is not None:
        state = {
            "name": embedded.name,
            "description": embedded.description,
            "width": embedded.width,
            "height": embedded.height,
            "background": embedded.background,
            "elements": [dict(element) for element in embedded.elements],
        }
        return Source(id, embedded.name, state, embedded.slots)
    record = reader.design(id)
    # Private templates of others are reported as unknown.
    if record is None or not record.is_template or not may_see(record, caller):
        raise ToolError(_explain_missing(reader, caller, id))
    record = studio.find(reader, caller, id)
    state = reader.state(id) or {}
    samples = json.loads(record.slots) if record.slots else {}
    return Source(id, record.name, state, samples, record.owner)


def instantiate(
    source: Source, row: Mapping[str, Any] | None, *, use_samples: bool
) -> list[dict[str, Any]]:
    """Return the elements of a template filled with a row, ready for a canvas.

    Without a row the sample values are used; if there are none, the fields stay.
    """
    elements = source.state["elements"]
    if row is not None:
        filled = fill_elements(elements, row, source.samples if use_samples else {})
    elif find_fields(elements).keys() <= source.samples.keys():
        filled = fill_elements(elements, {}, source.samples)
    else:
        filled = [dict(element) for element in elements]
    canvas = Canvas({"width": 1, "height": 1, "elements": []})
    kept = [
        one
        for one, before in zip(filled, elements, strict=True)
        # A field that is left empty leaves no empty element behind.
        if not any(before.get(key) and not one[key].strip() for key in _WHOLE)
    ]
    for element in _with_new_ids(kept):
        canvas.add(element)
    return list(canvas.elements.values())


def _with_new_ids(elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace element ids, which would be the same in every design; group names stay."""
    ids = {one["id"]: new_id("el", 8) for one in elements if one.get("id")}
    renamed = []
    for element in elements:
        one = {
            key: value for key, value in element.items() if key not in ("createdAt", "updatedAt")
        }
        if one.get("id"):
            one["id"] = ids[one["id"]]
        if one.get("groupId") in ids:
            one["groupId"] = ids[one["groupId"]]
        renamed.append(one)
    return renamed


def _explain_missing(reader: Reader, caller: Caller, id: str) -> str:
    known = [one.id for one in list_templates()]
    known += [one.id for one in own_templates(reader, caller)]
    close = difflib.get_close_matches(id, known, n=3)
    hint = (
        f"; did you mean {', '.join(map(repr, close))}?" if close else "; list_templates lists them"
    )
    return f"There is no template {id[:100]!r}{hint}"
