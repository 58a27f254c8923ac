"""No answer of any tool is longer than its limit, whatever the notes and the arguments are.

Measured is the whole result as it is sent: texts, structured content and `_meta`, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

from dovetail.client import Client
from dovetail_vault.limits import DEFAULT_CHARS, LIST_CHARS
from dovetail_vault.registration import LISTED
from tests.driving import refused
from tests.vault.driving import over_stdio, write

DRAWS = 12
QUOTE = '"'
VALUE = '\'"v" "v"\''
QUOTED = 'a "quoted" \\word\\ in 😀 wood'
FOLDER = f"Folder {QUOTE * 60} é"
NAMES = [f"{FOLDER}/Note {number} {(QUOTE + 'é😀') * 15}" for number in range(80)]
LIMITS = (1_000, 1_001, 1_500, 4_000, 20_000, 60_000, 200_000)
EDITS = [
    {"op": "replace", "target": {"regex": "(?s).+"}, "content": f"{QUOTED}\n" * 2_000},
    {"op": "replace", "target": {"heading": "Missing"}, "content": "x"},
    {"op": "set", "target": {"frontmatter": "k"}, "content": ['"' * 500] * 20},
]
ANY_PATH = ("Hub", "Props", "Line", "Headings", NAMES[0], "Missing", '"' * 1_000, "x" * 2_000)
SEARCH: dict[str, tuple[Any, ...]] = {
    "query": (
        "wood",
        "",
        "a b",
        '"quoted" OR wood',
        "-zzz",
        "(",
        "w " * 90,
        'a "' + '\\"' * 90 + QUOTE,
        '"' * 999,
    ),
    "path": (None, FOLDER, "Missing"),
    "where": (None, "k = x", "k0 >= 0", "k != 1", "k <"),
    "contextLines": (0, 10),
    "mode": ("text", "text", "regex", "semantic"),
    "sort": ("relevance", "path", "modified"),
    "limit": (1, 500),
    "offset": (0, 3, 10**12),
}
READ: dict[str, tuple[Any, ...]] = {
    "view": ("content", "outline", "frontmatter", "full"),
    "heading": (None, None, "H 7", ["H 1", "x"]),
    "startLine": (None, 1, 50),
    "lineCount": (None, 1, 500),
}
# The values of each parameter; a draw takes one of each.
ARGUMENTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "search-vault": SEARCH,
    "search-by-title": {"query": ("note", "hub", "zzz", "Nots"), "fuzzy": (True, False)},
    "search-by-tags": {
        "tags": (["t1"], ["t"], ["#moc", "big"], ["nothing"]),
        "match": ("all", "any"),
        "includeNested": (True, False),
    },
    "list-notes": {
        "directory": (None, FOLDER, "Missing"),
        "view": ("flat", "details", "tree"),
        "limit": (1, 1_000),
        "offset": (0, 10**12),
    },
    "read-note": {"path": ANY_PATH, "paths": (None, None, NAMES[:50]), **READ},
    "get-note-metadata": {"path": ANY_PATH},
    "discover-mocs": {"mocName": (None, "hub", "x")},
    "get-links": {
        "path": ANY_PATH,
        "kind": ("links", "broken", "orphans"),
        "depth": (1, 3),
        "limit": (1, 5_000),
    },
    "list-tags": {"prefix": (None, "t", "big"), "limit": (1, 5_000)},
    "write-note": {"path": ("New/" + '"' * 5, "n" * 200, "x" * 2_000, "Hub"), "content": (QUOTED,)},
    "edit-note": {"path": ANY_PATH, "edits": tuple([edit] for edit in EDITS), "dryRun": (True,)},
    "move-note": {
        "from": (*ANY_PATH, "#big"),
        "to": ("Other", f"{FOLDER}/{'m' * 200}", "#new", "x" * 2_000),
        "dryRun": (True,),
    },
    "delete-note": {"path": ("Props", "Hub", "Missing", "x" * 2_000)},
    "search": {
        **SEARCH,
        "kind": ("notes", "titles", "folders", "tags", "maps", "broken", "orphans"),
    },
    "read": {"path": (*ANY_PATH, NAMES[:50]), **READ, "view": (*READ["view"], "metadata", "links")},
    "edit": {
        "path": ANY_PATH,
        "edits": (None, [EDITS[0]], [EDITS[2]]),
        "moveTo": (None, "Other", "#new"),
        "dryRun": (True,),
    },
}
NO_LIMIT = {"write-note", "edit-note", "move-note", "delete-note", "edit"}
LISTS = {"search-vault", "search-by-title", "search-by-tags", "list-notes", "search"}


def make_vault(vault: Path) -> None:
    links = "".join(f"[[Missing {QUOTE * 50} {number}]] " for number in range(2_000))
    backlinks = "".join(f"[[{name.rpartition('/')[2]}]]\n" for name in NAMES)
    write(vault, "Hub.md", f"---\ntags: [moc]\n---\n# Hub\n\n{links}\n{backlinks}")
    for number, name in enumerate(NAMES):
        lines = f"{QUOTED} {number}\n" * 60
        write(vault, f"{name}.md", f"---\nk: x\ntags: [big]\n---\n[[Hub]] wood #t1\n{lines}")
    properties = "".join(f"k{number}: {VALUE}\n" for number in range(3_000))
    write(vault, "Props.md", f"---\n{properties}---\nwood\n")
    write(vault, "Line.md", QUOTED * 10_000)
    headings = "".join(f"# H {number}\n## {QUOTE * 90}\n#t{number}\n" for number in range(1_500))
    write(vault, "Headings.md", headings)


def size_of(result: dict[str, Any]) -> int:
    return len(json.dumps(result, ensure_ascii=False, separators=(",", ":")))


def drawn(draw: random.Random, tool: str) -> dict[str, Any]:
    given = {name: draw.choice(values) for name, values in ARGUMENTS[tool].items()}
    return {name: value for name, value in given.items() if value is not None}


def test_every_tool_is_in_the_table() -> None:
    assert ARGUMENTS.keys() == LISTED["default"] | LISTED["compact"]


def test_no_answer_is_longer_than_its_limit(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    make_vault(vault)
    draw = random.Random(17)
    answered: set[str] = set()

    async def check(client: Client, tool: str, arguments: dict[str, Any], most: int) -> None:
        result = await client.request("tools/call", {"name": tool, "arguments": arguments})
        assert size_of(result) <= most, (tool, arguments, size_of(result))
        assert "Internal error" not in str(result["content"]), (tool, arguments)
        if not result.get("isError"):
            answered.add(tool)

    async def run() -> None:
        async with over_stdio(vault) as client:
            await check(client, "get-note-metadata", {"batch": True, "limit": 500}, DEFAULT_CHARS)
            for number in range(DRAWS):
                for tool in ARGUMENTS:
                    arguments = drawn(draw, tool)
                    most = LIST_CHARS if tool in LISTS else DEFAULT_CHARS
                    # The first draw of each tool uses the default.
                    if number and tool not in NO_LIMIT:
                        most = arguments["maxChars"] = draw.choice(LIMITS)
                    await check(client, tool, arguments, most)
            assert answered == ARGUMENTS.keys()
            said = await refused(client, "search-vault", query="wood", maxChars=100)
            assert "maxChars: expected at least 1000, got 100" in said

    asyncio.run(run())
