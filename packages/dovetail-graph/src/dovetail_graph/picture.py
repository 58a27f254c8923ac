"""Write the graph with all its versions as one self-contained HTML page.

A script in the page draws the graph; this module collects the data and fills the template. Texts of
the graph enter the page only as JSON, escaped so that they cannot close the script element.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from dovetail_graph.records import Times
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import Reader
from dovetail_graph.timestamps import EARLIEST, FOREVER

__all__ = ["MAX_ENTITIES", "draw_page", "make_picture"]

# A browser still draws this many smoothly.
MAX_ENTITIES = 2_000
_MAX_TEXT_LENGTH = 1_000
_MAX_TEXTS = 60


def make_picture(database: Path, namespace: str, most: int = MAX_ENTITIES) -> tuple[str, int, int]:
    """Return the page, the number of entities in it, and the number of all entities ever."""
    store = SqliteStore(database, namespace)
    try:
        with store.reading() as reader:
            record = _collect(reader, most)
    finally:
        store.close()
    record["title"] = f"{database.stem}: {namespace}" if namespace != "default" else database.stem
    return draw_page(record), len(record["names"]), record["total"]


def _collect(reader: Reader, most: int) -> dict[str, Any]:
    names, total = reader.names_ever(most)
    number = {name: at for at, name in enumerate(names)}
    entities, observations, relations = reader.rows_on(names)
    counts: dict[str, int] = {}
    shown = []
    # Keep the latest observations of entities that have very many.
    for one in reversed(observations):
        counts[one.entity] = counts.get(one.entity, 0) + 1
        if counts[one.entity] <= _MAX_TEXTS:
            text = one.content[:_MAX_TEXT_LENGTH]
            at = number[one.entity]
            shown.append([at, text, one.confidence, one.source, _times(one.times)])
    return {
        "names": names,
        "total": total,
        "now": reader.now(),
        "forever": FOREVER,
        "long_ago": EARLIEST,
        "entities": [[number[one.name], one.kind, _times(one.times)] for one in entities],
        "observations": shown[::-1],
        "relations": [
            [
                number[one.key.source],
                number[one.key.target],
                one.key.kind,
                one.strength,
                one.confidence,
                _times(one.times),
            ]
            for one in relations
            if one.key.source in number and one.key.target in number
        ],
    }


def _times(times: Times) -> list[int]:
    return [times.valid.start, times.valid.end, times.recorded.start, times.recorded.end]


def draw_page(record: dict[str, Any]) -> str:
    """Fill the page template with the data."""
    page, style, script = (
        (files("dovetail_graph") / "picture_page" / name).read_text("utf-8")
        for name in ("page.html", "page.css", "page.js")
    )
    data = json.dumps(record, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    # The content security policy allows only this script, whatever the data contains.
    body = f"\n{script}\n"
    digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
    for name, value in (
        ("script_hash", f"sha256-{digest}"),
        ("title", escape(str(record["title"]))),
        ("style", style),
        ("script", script),
        # Last, so that placeholders inside the data are not replaced.
        ("data", data),
    ):
        page = page.replace(f"{{{{{name}}}}}", value, 1)
    return page
