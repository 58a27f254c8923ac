"""The graph as a picture: one HTML page that needs nothing else, with every version in it.

The page draws itself; what is here collects the record and puts the parts together. Texts of the
graph reach the page as JSON only, in which nothing can end the script element it stands in.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from dovetail_graph.moments import FOREVER, LONG_AGO
from dovetail_graph.records import Times
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import Reader

__all__ = ["MOST", "draw_page", "make_picture"]

# What a browser still draws smoothly.
MOST = 2_000
_LONGEST_TEXT = 1_000
_MOST_TEXTS = 60


def make_picture(database: Path, namespace: str, most: int = MOST) -> tuple[str, int, int]:
    """The page, how many entities are in it, and how many there ever were."""
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
    said: dict[str, int] = {}
    shown = []
    # The latest of an entity, where it has very many.
    for one in reversed(observations):
        said[one.entity] = said.get(one.entity, 0) + 1
        if said[one.entity] <= _MOST_TEXTS:
            text = one.content[:_LONGEST_TEXT]
            at = number[one.entity]
            shown.append([at, text, one.confidence, one.source, _times(one.times)])
    return {
        "names": names,
        "total": total,
        "now": reader.now(),
        "forever": FOREVER,
        "long_ago": LONG_AGO,
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
    """The parts of the page as one."""
    page, style, script = (
        (files("dovetail_graph") / "picture_page" / name).read_text("utf-8")
        for name in ("page.html", "page.css", "page.js")
    )
    data = json.dumps(record, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    # Only this very script may run, whatever stands in the data.
    body = f"\n{script}\n"
    digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
    for name, value in (
        ("script_hash", f"sha256-{digest}"),
        ("title", escape(str(record["title"]))),
        ("style", style),
        ("script", script),
        # Last: what stands in it is not looked at again.
        ("data", data),
    ):
        page = page.replace(f"{{{{{name}}}}}", value, 1)
    return page
