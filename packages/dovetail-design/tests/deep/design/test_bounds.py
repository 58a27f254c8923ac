"""No answer of any tool is longer than its bound, whatever the designs hold."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.client import Client
from dovetail.testing import connect
from dovetail_design import build_server
from dovetail_design.answers import MAX_CHARS
from dovetail_design.examples import EXAMPLES
from tests.patience import CAP

LONG = "W" * 100
CELLS = [{"row": row, "col": 0, "text": 'say "x" ' * 20} for row in range(400)]


def elements() -> list[dict[str, Any]]:
    """Elements with long ids, names, fonts and texts, off the canvas and on top of each other."""
    box = {"x": -50, "y": 5, "width": 60, "height": 10}
    words = {"type": "text", "fontFamily": "F" * 100, "fill": "#fefefe"}
    texts = [
        {**words, **box, "id": f"{number}{LONG}"[:100], "name": '"' * 200, "text": "漢字\n" * 500}
        for number in range(40)
    ]
    fields = "".join(f"{{{{field_{number}_{'x' * 80}}}}} " for number in range(150))
    table = {"type": "table", **box, "tableRows": 400, "tableColumns": 1, "tableCellData": CELLS}
    return [*texts, {**words, **box, "id": "fields", "text": fields}, {**table, "id": "table"}]


class Studio:
    """A server in this process with designs that are as long as they may be."""

    def __init__(self, directory: Path) -> None:
        self.runner = asyncio.Runner()
        self._context = connect(build_server(directory), timeout=CAP)
        self.client: Client = self.runner.run(self._context.__aenter__())
        made = self.call("create_design", {"name": "N" * 255, "description": "D" * 2_000})
        self.design = made["designId"]
        self.call("add_element", {"designId": self.design, "elements": elements()})
        for number in range(12):
            self.call("create_design", {"name": f"{number}{LONG}", "description": "D" * 2_000})
            change = {"op": "canvas", "description": f"{number}" * 1_000}
            self.call("edit_design", {"designId": self.design, "operations": [change]})
        self.template = self.call("create_template", {"designId": self.design, "name": LONG})["id"]

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return dict(self.answer(name, arguments)["structuredContent"])

    def answer(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        told = self.runner.run(self.client.call(name, arguments))
        content = [
            block for block in msgspec.to_builtins(told.content) if block.get("type") != "image"
        ]
        return {"content": content, "structuredContent": told.structured or {}}

    def close(self) -> None:
        self.runner.run(self._context.__aexit__(None, None, None))
        self.runner.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    started = Studio(tmp_path_factory.mktemp("bounds"))
    yield started
    started.close()


# What is drawn for a parameter of this name; other parameters are left out.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "page": st.sampled_from([1, 2]),
    "limit": st.sampled_from([1, 100]),
    "perPage": st.sampled_from([1, 100]),
    "offset": st.sampled_from([0, 3, 41]),
    "detail": st.sampled_from(["outline", "full"]),
    "labels": st.booleans(),
    "query": st.sampled_from(["a", "e", "star", "q" * 200]),
    "prompt": st.sampled_from(["poster", "p" * 4_000]),
    "message": st.sampled_from(["menu", "m" * 4_000]),
    "action": st.sampled_from(["list", "diff", "undo"]),
    "what": st.sampled_from(["outline", "elements", "list", "properties", "picture"]),
    "kind": st.sampled_from(["templates", "icons", "shapes", "fonts", "backgrounds"]),
    "elementType": st.sampled_from(["text", "table"]),
    "elementIds": st.sampled_from([["table"], ["fields", "table"]]),
    "useSamples": st.just(True),
    "designId": st.sampled_from(["DESIGN", "unknown" * 50]),
    "templateId": st.sampled_from(["TEMPLATE", "invoice", "unknown" * 50]),
    "style": st.sampled_from(["dark", "unknown " * 20]),
    "category": st.sampled_from(["all", "own", "c" * 50]),
}
# Drawing everything takes seconds, and these results have no lists.
NOT_DRAWN = {"export_design": {"designId": "unknown"}, "delete_design": {"designId": "unknown"}}


@pytest.mark.parametrize("name", EXAMPLES)
@settings(
    max_examples=4,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_answer_is_longer_than_its_bound(studio: Studio, name: str, data: st.DataObject) -> None:
    known = {tool.name: tool for tool in studio.runner.run(studio.client.list_tools())}
    properties = known[name].input_schema["properties"] if name in known else EXAMPLES[name]
    arguments = {**EXAMPLES[name]}
    for parameter in sorted(properties.keys() & VALUES.keys()):
        if parameter in arguments or data.draw(st.booleans(), label=parameter):
            arguments[parameter] = data.draw(VALUES[parameter])
    arguments |= NOT_DRAWN.get(name, {})
    written = json.dumps(arguments).replace('"DESIGN"', f'"{studio.design}"')
    written = written.replace('"TEMPLATE"', f'"{studio.template}"')
    told = studio.answer(name, json.loads(written))
    assert len(msgspec.json.encode(told).decode()) <= MAX_CHARS
