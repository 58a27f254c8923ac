"""Imports of damaged and malicious documents: a result or a tool error, and bounded memory.

150 documents by default; HOSTILE_DOCUMENTS=10000 is the long run.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from tests.driving import good, refused
from tests.graph.driving import children, entity, over_stdio, relation
from tests.patience import CAP

DOCUMENTS = int(os.environ.get("HOSTILE_DOCUMENTS", "150"))
# Of the server process, in any of these imports. An idle server has about 60 MB.
MAX_RESIDENT_MB = 400

LINES: list[dict[str, Any]] = [
    {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["sails", "é 🙂"]},
    {"type": "entity", "name": "Bo", "entityType": "person", "validFrom": "2025-01-31"},
    {"type": "relation", "from": "Ann", "to": "Bo", "relationType": "knows"},
    {
        "type": "relation",
        "from": "Bo",
        "to": "Ann",
        "relationType": "pays",
        "strength": 0.5,
        "metadata": {"since": [2020, {"month": 5}]},
    },
]
# JSON text in place of a value.
VALUES = (
    *("null", "true", "0", "-0", "-1", "1.5", "1e308", "1e999", "-1e999", "NaN", "Infinity"),
    *("9" * 25, "9" * 400, "9" * 5_000, "1" + "0" * 400 + ".5", "0." + "3" * 5_000, "1e-400"),
    *('""', '" "', '"\\u0000"', '"\\ud800"', '"\\udc00x"', '"\\ud83d\\ude42"', '"\u2028\x85"'),
    *('"\\x"', '"' + "x" * 300 + '"', '"' + "x" * 100_000 + '"', '"now"', '"0000-99-99"'),
    *("[]", "{}", "[[]]", '{"content":"x"}', '{"content":"x","confidence":1e999}', '["a","a"]'),
    *("[" * 100 + "]" * 100, "[" * 990 + "]" * 990, "[" * 100_000, '{"a":' * 100_000),
    *('{"a":' * 900 + "1" + "}" * 900, "[" + "1," * 50_000 + "1]", "[" + '"x",' * 2_000 + '"x"]'),
)
KEYS = (
    "name",
    "type",
    "entityType",
    "observations",
    "metadata",
    "validFrom",
    "from",
    "x",
    "\u2028",
)


def mutate_text(draw: random.Random, text: str) -> str:
    place = draw.randrange(len(text) + 1)
    length = draw.choice((1, 1, 2, 10, len(text)))
    cut = text[:place] + text[place + length :]
    noise = draw.choice(('"', "\\", "{", "}", "[", "]", ",", ":", "\n", "\x00", "\u2028", "\ufeff"))
    return draw.choice(
        (cut, text[:place] + noise + text[place:], text[:place], text + text[place:])
    )


def replace_value(draw: random.Random, text: str) -> str:
    """Replace a string or number of the document, or a key if it happens to be one."""
    pieces = text.split('"')
    place = draw.randrange(1, len(pieces), 2)
    value = draw.choice(VALUES)
    before, after = '"'.join(pieces[:place]), '"'.join(pieces[place + 1 :])
    return before + value + after


def add_key(draw: random.Random, text: str) -> str:
    """Add a key to an object, often one that it already has."""
    places = [place for place, letter in enumerate(text) if letter == "{"]
    place = draw.choice(places) + 1
    return f"{text[:place]}{json.dumps(draw.choice(KEYS))}:{draw.choice(VALUES)},{text[place:]}"


MUTATIONS: tuple[Callable[[random.Random, str], str], ...] = (mutate_text, replace_value, add_key)


def draw_document(draw: random.Random) -> tuple[str, str]:
    """Return a format and a document in it with one to three defects."""
    kind = draw.choice(("json", "jsonl"))
    lines = draw.sample(LINES, k=len(LINES))
    if kind == "jsonl":
        text = "\n".join(json.dumps(line, ensure_ascii=draw.random() < 0.5) for line in lines)
    else:
        entities, relations = (
            [{name: line[name] for name in line if name != "type"} for line in lines if of in line]
            for of in ("name", "from")
        )
        text = json.dumps({"entities": entities, "relations": relations})
    for _ in range(draw.randint(1, 3)):
        if '"' in text and "{" in text:
            text = draw.choice(MUTATIONS)(draw, text)
    return kind, text


def peak_memory_mb() -> int:
    [pid] = children()
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024


@pytest.mark.slow
def test_damaged_documents_give_a_result_or_a_tool_error(tmp_path: Path) -> None:
    draw = random.Random(16)
    exports = tmp_path / "graph-exports" / "default"
    exports.mkdir(parents=True)

    async def give(client: Client, number: int, kind: str, text: str) -> bool:
        arguments = {"action": "import", "format": kind}
        # Text with lone surrogates cannot be sent; no document here has a raw one.
        if number % 2:
            (exports / "document").write_text(text, "utf-8")
            arguments["loadFrom"] = "document"
        else:
            arguments["data"] = text
        result = await client.call("transfer_graph", arguments)
        assert "reference" not in result.text.lower(), f"failed inside: {text[:2_000]!r}"
        return result.is_error

    async def run() -> None:
        async with over_stdio(tmp_path / "graph.db") as client:
            errors = 0
            for number in range(DOCUMENTS):
                async with asyncio.timeout(CAP):
                    errors += await give(client, number, *draw_document(draw))
            assert 0 < errors < DOCUMENTS
            # What was imported can be read, exported and imported again.
            await good(client, "read_graph")
            for kind in ("json", "jsonl"):
                await good(client, "transfer_graph", action="export", format=kind, saveTo=kind)
                again = await good(
                    client, "transfer_graph", action="import", format=kind, loadFrom=kind
                )
                assert again["rejected"] == 0, again["reasons"]
            assert peak_memory_mb() < MAX_RESIDENT_MB

    asyncio.run(run())


MALFORMED = [
    ("json", '{"entities": 5, "relations": []}', "Expected `array`"),
    ("json", '{"entities": [], "relations": null}', "Expected `array`"),
    ("json", '{"entities": [' + "[" * 100_000, "nested too deeply"),
    ("jsonl", '{"a":' * 100_000, "nested too deeply"),
    ("json", '{"entities": [' + "1," * 20_000 + '1], "relations": []}', "More than 10000 items"),
    ("jsonl", "{}\n" * 20_000, "More than 10000 items"),
    ("jsonl", json.dumps(LINES[0]) + '\n{"type": "entity", ', "truncated"),
]


def test_a_malformed_document_changes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path / "graph.db") as client:
            for kind, text, reason in MALFORMED:
                arguments = {"action": "import", "format": kind, "data": text}
                said = await refused(client, "transfer_graph", **arguments)
                assert reason in said and "Nothing was imported" in said, text[:100]
                assert (await good(client, "graph_stats"))["entities"] == 0

    asyncio.run(run())


def test_an_export_with_any_line_separator_can_be_imported(tmp_path: Path) -> None:
    names = [f"a{separator}b" for separator in "\x85\u2028\u2029"]
    observation = "one\ntwo\r\nthree\x0b\x0c\x1c\u2028four"

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path / "graph.db") as client:
            made = [entity(name, observation) for name in names]
            await good(client, "create_entities", entities=made)
            text = (await good(client, "transfer_graph", action="export"))["data"]
            done = await good(client, "transfer_graph", action="import", data=text)
            assert (done["entities"], done["rejected"]) == (len(names), 0)

    asyncio.run(run())


def test_deeply_nested_metadata_is_rejected(tmp_path: Path) -> None:
    nested: Any = 1
    for _ in range(900):
        nested = [nested]

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path / "graph.db") as client:
            await good(client, "create_entities", entities=[entity("Ann"), entity("Bo")])
            deep = {**relation("Ann", "Bo"), "type": "relation", "metadata": {"x": nested}}
            text = json.dumps(deep)
            done = await good(client, "transfer_graph", action="import", data=text)
            assert "nested more than 32 levels" in done["reasons"][0]
            assert (await good(client, "read_graph"))["total"] == 2

    asyncio.run(run())


def test_metadata_has_a_limit_also_if_it_is_added_in_parts(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path / "graph.db") as client:
            await good(client, "create_entities", entities=[entity("Ann"), entity("Bo")])
            first, second = (
                relation("Ann", "Bo", metadata={key: "x" * 3_000}) for key in ("one", "two")
            )
            await good(client, "create_relations", relations=[first])
            said = await refused(client, "create_relations", relations=[second])
            assert "at most 4000 are allowed" in said
            # A part that is replaced does not count twice.
            await good(client, "create_relations", relations=[first])

    asyncio.run(run())


@pytest.mark.parametrize("blank", [" ", "\x85", "\u2028", "\u3000\xa0"])
def test_a_name_of_whitespace_is_rejected(tmp_path: Path, blank: str) -> None:
    lines = [entity(blank), entity("Ann", kind=blank), entity("Ann", blank)]
    text = "\n".join(json.dumps({"type": "entity", **line}) for line in lines)

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path / "graph.db") as client:
            done = await good(client, "transfer_graph", action="import", data=text)
            assert (done["entities"], done["rejected"]) == (0, 3)
            for line in lines:
                await refused(client, "create_entities", entities=[line])
            await good(client, "create_entities", entities=[entity("Ann")])
            await refused(client, "merge_entities", **{"into": blank, "from": ["Ann"]})
            assert (await good(client, "open_nodes", names=["Ann"]))["found"] == 1

    asyncio.run(run())
