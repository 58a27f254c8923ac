"""Measures how well `search_tools` finds tools: python -m qa.bench.search.measure

A server with the thousand tools of `corpus` answers the questions in questions.txt through a
client. A tool counts as found if it is among the first five.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from dovetail import Client, Server, ToolSearch
from qa.bench.search.corpus import CorpusTool, load_corpus

__all__ = ["Outcome", "measure"]

_QUESTIONS = Path(__file__).with_name("questions.txt")
_PINNED = ("files_read_file", "vault_search-vault", "slack_slack_post_message")
_LIMIT = 20
_COUNTS = 5


class Outcome(NamedTuple):
    """The place of the right tool in each answer, None if it is not among the first twenty."""

    places: dict[str, int | None]
    questions: dict[str, str]
    list_bytes: int
    # CPU seconds of the first search, which builds the index, and of the others on average.
    first: float
    others: float

    @property
    def misses(self) -> list[str]:
        """The tools that are not among the first five."""
        return [name for name, place in self.places.items() if not place or place > _COUNTS]


async def measure(corpus: list[CorpusTool], questions: dict[str, str]) -> Outcome:
    """Ask every question and look for its tool in the answer."""
    server = make_server(corpus)
    async with Client(server) as client:
        started = time.process_time()
        await client.call("search_tools", {"query": "anything"})
        first = time.process_time() - started
        started = time.process_time()
        places = {name: await find(client, name, text) for name, text in questions.items()}
        others = (time.process_time() - started) / len(questions)
    listed = await server.handle(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    return Outcome(places, questions, len(listed or b""), first, others)


def make_server(corpus: list[CorpusTool]) -> Server:
    """A server in search mode with these tools."""

    async def call(**arguments: Any) -> str:
        return ""

    server = Server("large", tool_search=ToolSearch(_PINNED, about="Code, files, notes, chats."))
    for tool in corpus:
        schema = tool.input_schema if tool.name in _PINNED else searched_part(tool.input_schema)
        server.tools.add(call, name=tool.name, description=tool.description, input_schema=schema)
    return server


def searched_part(schema: dict[str, Any]) -> dict[str, Any]:
    """The names and descriptions of the parameters; the rest may have references to nowhere."""
    properties = {
        name: {"description": field.get("description", "") if isinstance(field, dict) else ""}
        for name, field in schema.get("properties", {}).items()
    }
    return {"type": "object", "properties": properties}


async def find(client: Client, name: str, question: str) -> int | None:
    """The place of a tool in the answer to a question."""
    answer = await client.call("search_tools", {"query": question, "limit": _LIMIT})
    names = [tool["name"] for tool in json.loads(answer.text)["tools"]]
    return names.index(name) + 1 if name in names else None


def read_questions(path: Path) -> dict[str, str]:
    """The questions of a file by the tool that answers them."""
    lines = path.read_text("utf-8").splitlines()
    pairs = [line.partition(": ")[::2] for line in lines if not line.startswith("#")]
    return dict(pairs)


def main() -> int:
    """Print the result; the exit code is 1 if fewer than 85 % are found."""
    corpus = load_corpus()
    outcome = asyncio.run(measure(corpus, read_questions(_QUESTIONS)))
    asked, missed = len(outcome.places), len(outcome.misses)
    at_once = sum(place == 1 for place in outcome.places.values())
    print(f"{len(corpus)} tools, {asked} questions")
    print(f"among the first five: {asked - missed} ({100 * (asked - missed) / asked:.1f} %)")
    print(f"first: {at_once} ({100 * at_once / asked:.1f} %)")
    print(f"list: {outcome.list_bytes:,} bytes")
    print(
        f"CPU: {outcome.first * 1000:.0f} ms for the index, {outcome.others * 1000:.1f} ms a search"
    )
    for name in outcome.misses:
        print(f"  {outcome.places[name] or '> 20'}  {name}: {outcome.questions[name]}")
    return 0 if missed <= asked * 0.15 else 1


if __name__ == "__main__":
    sys.exit(main())
