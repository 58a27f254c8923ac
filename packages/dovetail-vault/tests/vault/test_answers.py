"""What an assistant gets from the tools, through the official client: compact and correct."""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession

from tests.driving import use_over_stdio
from tests.vault.driving import command, write

Script = Callable[[ClientSession], Awaitable[None]]
OAK = (
    "---\ntags:   [tree, 'tree/deciduous']   # two\nheight: 30   # metres\naliases:\n"
    "    - Quercus   # Latin\n    - English oak\n---\n# Oak\n\nHard wood.\n\n"
    "## Leaves\n\nLobed. ^leaf\n"
)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, "Trees/Oak.md", OAK)
    write(root, "Trees/Pine.md", "# Pine\n\nSoft wood, see [[Oak]] and [[Nowhere Land]].\n")
    for number, due in enumerate(["2026-11-20", "2026-12-01", "2027-01-05T10:00"]):
        done = "done" if number == 2 else "open"
        write(root, f"Tasks/{number}.md", f"---\ndue: {due}\nstatus: {done}\n---\nwood {number}\n")
    return root


def use(vault: Path, script: Script, *options: str) -> None:
    async def run(session: ClientSession) -> None:
        await session.initialize()
        while (await data(session, "list-notes")).get("indexing"):
            pass
        await script(session)

    use_over_stdio(command(vault, *options), run)


async def data(session: ClientSession, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: Any = result.structured_content
    assert json.loads(result.content[0].text) == found  # type: ignore[union-attr]
    return dict(found)


async def texts(session: ClientSession, **arguments: Any) -> list[str]:
    result = await session.call_tool("read-note", arguments)
    assert not result.is_error and result.structured_content is None, result.content
    return [block.text for block in result.content]  # type: ignore[union-attr]


async def error(session: ClientSession, tool: str, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    assert result.is_error, result.content
    text: str = result.content[0].text  # type: ignore[union-attr]
    return text


def test_answers_are_compact_and_a_note_is_plain_markdown(vault: Path) -> None:
    for number in range(300):
        write(vault, f"Many/{number:03}.md", "".join(f"wood {line}\n" for line in range(30)))

    async def script(session: ClientSession) -> None:
        tools = (await session.list_tools()).tools
        assert all(tool.output_schema is None and tool.title is None for tool in tools)
        text, remark = await texts(session, path="Trees/Oak.md")
        assert text == OAK and remark.startswith("Trees/Oak.md; etag ")
        found = await data(session, "search-vault", query="wood", path="Trees", sort="path")
        assert found == {
            "total": 2,
            "files": [
                {"path": "Trees/Oak.md", "matches": [{"line": 10, "text": "Hard wood."}]},
                {
                    "path": "Trees/Pine.md",
                    "matches": [
                        {"line": 3, "text": "Soft wood, see [[Oak]] and [[Nowhere Land]]."}
                    ],
                },
            ],
        }
        # The pages of a search with a small limit have every note once.
        paths: list[str] = []
        offset: int | None = 0
        while offset is not None:
            answer = await session.call_tool(
                "search-vault",
                {"query": "wood", "path": "Many", "maxChars": 9_000, "offset": offset},
            )
            assert len(answer.model_dump_json(by_alias=True, exclude_none=True)) <= 9_000
            page: Any = answer.structured_content
            paths += [file["path"] for file in page["files"]]
            offset = page.get("nextOffset")
        assert len(paths) == len(set(paths)) == page["total"] == 300
        listed = await data(session, "list-notes", directory="Trees")
        assert listed == {"total": 2, "notes": ["Trees/Oak.md", "Trees/Pine.md"]}

    use(vault, script)


def test_a_long_note_is_read_in_parts_that_make_up_the_whole(vault: Path) -> None:
    lines = [f'{number} "quoted" \\ 😀 {"é" * (number % 300)}' for number in range(400)]
    write(vault, "Long.md", "\n".join(lines))

    async def script(session: ClientSession) -> None:
        read: list[str] = []
        start: int | None = 1
        while start is not None:
            text, remark = await texts(session, path="Long", startLine=start, maxChars=5_000)
            read.append(text)
            following = re.search(r"continue with startLine=(\d+)", remark)
            start = None if following is None else int(following[1])
        assert "\n".join(read) == "\n".join(lines) and len(read) > 10
        assert "ends at 400" in await error(session, "read-note", path="Long", startLine=401)

    use(vault, script)


def test_a_miss_suggests_the_nearest_names(vault: Path) -> None:
    async def script(session: ClientSession) -> None:
        assert "did you mean 'Trees/Oak.md'" in await error(session, "read-note", path="Oaks")
        assert "did you mean 'Trees/Oak.md'" in await error(session, "read-note", path="quercis")
        assert "did you mean 'Trees'" in await error(session, "list-notes", directory="Tree")
        said = await error(session, "read-note", path="Oak", heading="Leafs")
        assert "did you mean 'Leaves'" in said
        said = await error(session, "read-note", path="Oak", block="leave")
        assert "has no block ^leave; did you mean 'leaf'?" in said
        edit = {"op": "delete", "target": {"frontmatter": "heigth"}}
        said = await error(session, "edit-note", path="Oak", edits=[edit])
        assert "did you mean 'height'" in said
        found = await data(session, "search-by-title", query="Pinne")
        assert found == {"total": 0, "results": [], "suggestions": ["Pine"]}
        found = await data(session, "search-by-tags", tags=["tre"])
        assert found["suggestions"] == ["tree", "tree/deciduous"]

    use(vault, script)


def test_properties_keep_their_bytes(vault: Path) -> None:
    oak = vault / "Trees/Oak.md"

    async def set_to(session: ClientSession, key: str, value: Any, op: str = "set") -> None:
        edit = {"op": op, "target": {"frontmatter": key}, "content": value}
        await data(session, "edit-note", path="Oak", edits=[edit])

    async def script(session: ClientSession) -> None:
        values = {
            "tags": ["tree", "tree/deciduous"],
            "height": 30,
            "aliases": ["Quercus", "English oak"],
        }
        for key, value in values.items():
            await set_to(session, key, value)
        append = {"path": "Trees/Oak.md", "content": "", "mode": "append"}
        await data(session, "write-note", **append, frontmatter=values)
        assert oak.read_text() == OAK
        await set_to(session, "height", 31)
        await set_to(session, "tags", "wood", "append")
        await set_to(session, "aliases", "Oak tree", "append")
        expected = OAK.replace("30   # metres", "31   # metres")
        expected = expected.replace("deciduous']", "deciduous', wood]")
        expected = expected.replace("English oak\n", "English oak\n    - Oak tree\n")
        assert oak.read_text() == expected

    use(vault, script)


def test_names_that_differ_in_case_only_and_other_files_are_refused(vault: Path) -> None:
    async def script(session: ClientSession) -> None:
        for path in ("trees/New.md", "TREES/Sub/New.md"):
            said = await error(session, "write-note", path=path, content="x")
            assert "'Trees' already exists and differs only in case" in said
            move = {"from": "Tasks/0.md", "to": path}
            assert "'Trees' already exists" in await error(session, "move-note", **move)
        await data(session, "move-note", **{"from": "Trees/Pine.md", "to": "Trees/PINE.md"})
        said = await error(session, "write-note", path="x.txt", content="x")
        assert "notes are .md files; pass x.md, or x.txt.md" in said
        move = {"from": "Tasks/0.md", "to": "y.markdown"}
        assert "pass y.md" in await error(session, "move-note", **move)
        await data(session, "write-note", path="x.txt.md", content="x")
        await data(session, "write-note", path="x.txt", content="y", mode="append")
        await data(session, "write-note", path="v1.2 plan", content="x")
        assert sorted(path.name for path in vault.iterdir()) == [
            "Tasks", "Trees", "v1.2 plan.md", "x.txt.md"
        ]  # fmt: skip

    use(vault, script)


def test_broken_links_keep_their_case_and_diffs_have_the_right_lines(vault: Path) -> None:
    async def script(session: ClientSession) -> None:
        links = await data(session, "get-links", kind="broken")
        assert links["broken"] == [
            {"source": "Trees/Pine.md", "line": 3, "written": "Nowhere Land"}
        ]
        write(vault, "Long.md", "".join(f"line\u2028{number}\n" for number in range(1, 51)))
        edit = {"op": "replace", "target": {"text": "line\u202830"}, "content": "thirty"}
        edited = await data(session, "edit-note", path="Long.md", edits=[edit])
        assert edited["diff"].splitlines()[2] == "@@ -27,7 +27,7 @@"

    use(vault, script)


def test_notes_are_filtered_by_properties_with_or_without_a_query(vault: Path) -> None:
    async def script(session: ClientSession) -> None:
        async def found(**arguments: Any) -> list[str]:
            result = await data(session, "search-vault", **arguments)
            return [file["path"].removesuffix(".md")[-1] for file in result["files"]]

        assert await found(where="due < 2026-12-01") == ["0"]
        assert await found(where="due <= 2026-12-01") == ["0", "1"]
        assert await found(where="due >= 2026-12-01 AND status != done") == ["1"]
        assert await found(where="due = 2027-01-05") == ["2"]
        assert await found(query="wood", where="status = OPEN", sort="path") == ["0", "1"]
        assert await found(where="height > 29.5 AND aliases = quercus") == ["k"]
        assert await found(where="status != done", path="Tasks") == ["0", "1"]
        result = await data(session, "search-vault", where="due < 2026-12-01")
        assert result["files"] == [{"path": "Tasks/0.md", "properties": {"due": "2026-11-20"}}]
        said = await error(session, "search-vault", where="due before 2026")
        assert "Invalid condition at character 1" in said
        for tool, name in (("search-vault", "path"), ("search-by-tags", "directory")):
            arguments = {name: "Task", "tags": ["x"], "query": "x"}
            arguments.pop("query" if tool == "search-by-tags" else "tags")
            assert "did you mean 'Tasks'" in await error(session, tool, **arguments)

    use(vault, script)


def test_semantic_search_uses_words_while_notes_are_not_embedded(vault: Path) -> None:
    index = vault.parent / "vault-index"
    index.mkdir()
    with open(index / "vectors.lock", "w", encoding="utf-8") as lock:
        # The holder of the lock embeds the notes, so this server waits.
        fcntl.flock(lock, fcntl.LOCK_EX)

        async def script(session: ClientSession) -> None:
            found = await data(session, "search-vault", query="a lobed leaf", mode="semantic")
            assert found["files"][0]["path"] == "Trees/Oak.md"
            assert found["mode"] == "lexical"
            assert found["remark"].startswith("0 of 5 notes are embedded so far")

        use(vault, script, "--embeddings", "minilm")
