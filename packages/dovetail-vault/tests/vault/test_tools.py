"""The tools, through a server process on stdio."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import stat
import unicodedata
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from tests.driving import eventually, good, refused
from tests.patience import CAP
from tests.vault.driving import over_stdio, read, read_several, write

Script = Callable[[Client], Awaitable[None]]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, "Home.md", "---\ntags: [moc]\n---\n# Home\n\n[[Oak]] and [[Trees/Pine|pine]]\n")
    write(
        root,
        "Trees/Oak.md",
        "---\n# a remark\ntags:   [tree, 'tree/deciduous']\nheight: 30   # metres\n\n"
        'quoted: "yes"\n---\n# Oak\n\nHard wood.\n\n## Leaves\n\nLobed. ^leaf\n\n'
        "### Autumn\n\nBrown.\n\n## Uses\n\nBarrels.\n",
    )
    write(root, "Trees/Pine.md", "# Pine\n\nSoft wood #evergreen\n\n```\n#code [[Oak]]\n```\n")
    write(root, "Daily/2025-01-01.md", "met the Oak\n")
    return root


def run(vault: Path, script: Script, *options: str, **client: Any) -> None:
    async def main() -> None:
        async with over_stdio(vault, *options, **client) as connected:
            await script(connected)

    asyncio.run(main())


def paths(result: dict[str, Any]) -> list[str]:
    return [file["path"] for file in result["files"]]


def test_queries_combine_terms_and_fields(vault: Path) -> None:
    cases = {
        "wood": ["Trees/Oak.md", "Trees/Pine.md"],
        "wood lobed": ["Trees/Oak.md"],
        "wood AND NOT lobed": ["Trees/Pine.md"],
        "-wood": ["Daily/2025-01-01.md", "Home.md"],
        "NOT wood": ["Daily/2025-01-01.md", "Home.md"],
        "lobed OR evergreen && soft": ["Trees/Oak.md", "Trees/Pine.md"],
        "(lobed OR evergreen) soft": ["Trees/Pine.md"],
        '"Hard wood"': ["Trees/Oak.md"],
        "title:oak": ["Trees/Oak.md"],
        "tag:tree": ["Trees/Oak.md"],
        "tag:#evergreen": ["Trees/Pine.md"],
        "tag:code": [],
        "path:daily": ["Daily/2025-01-01.md"],
        "content:barr": ["Trees/Oak.md"],
        "http://nowhere": [],
        "arre": ["Trees/Oak.md"],
    }

    async def script(client: Client) -> None:
        for query, expected in cases.items():
            found = await good(client, "search-vault", query=query, sort="path")
            assert paths(found) == expected, query
            assert found["total"] == len(expected) and "nextOffset" not in found
        assert (await good(client, "search-vault", query="a b"))["interpreted"] == "(a AND b)"

    run(vault, script)


def test_query_errors_show_the_position(vault: Path) -> None:
    async def script(client: Client) -> None:
        text = await refused(client, "search-vault", query='oak AND "pine')
        assert "character 9" in text
        assert text.splitlines()[-1] == " " * 10 + "^"
        for query in ("(", "oak OR", "NOT", "oak)", '""', "title:", "AND"):
            assert "character" in await refused(client, "search-vault", query=query)

    run(vault, script)


def test_search_returns_lines_with_context_within_limits(vault: Path) -> None:
    async def script(client: Client) -> None:
        found = await good(
            client, "search-vault", query="wood", contextLines=1, sort="path", limit=1
        )
        [match] = found["files"][0]["matches"]
        assert match == {"line": 10, "text": "Hard wood.", "before": [""], "after": [""]}
        assert (found["total"], found["nextOffset"]) == (2, 1)
        second = await good(client, "search-vault", query="wood", sort="path", limit=1, offset=1)
        assert paths(second) == ["Trees/Pine.md"]

    run(vault, script)


def test_regular_expressions_take_linear_time(vault: Path) -> None:
    write(vault, "Evil.md", "a" * 50_000 + "\n")

    async def script(client: Client) -> None:
        found = await good(client, "search-vault", query=r"^(Hard|Soft) w\w+", mode="regex")
        assert sorted(paths(found)) == ["Trees/Oak.md", "Trees/Pine.md"]
        assert (await good(client, "search-vault", query="(a+)+$x", mode="regex"))["files"] == []
        assert "RE2" in await refused(client, "search-vault", query=r"(a)\1", mode="regex")

    run(vault, script)


def test_filters_narrow_a_search(vault: Path) -> None:
    async def script(client: Client) -> None:
        async def search(**filters: Any) -> list[str]:
            return paths(await good(client, "search-vault", query="o", sort="path", **filters))

        assert await search(path="Trees") == ["Trees/Oak.md", "Trees/Pine.md"]
        assert await search(frontmatter={"height": 30}) == ["Trees/Oak.md"]
        assert await search(frontmatter={"tags": "moc"}) == ["Home.md"]
        assert await search(modifiedBefore="2001-01-01") == []
        assert len(await search(modifiedAfter="2001-01-01")) == 4
        assert "2025-01-31" in await refused(
            client, "search-vault", query="o", modifiedAfter="yesterday"
        )

    run(vault, script)


def test_notes_are_read_whole_and_in_parts(vault: Path) -> None:
    async def script(client: Client) -> None:
        text = (vault / "Trees/Oak.md").read_text()
        whole, remark = await read(client, path="oak")
        assert whole == text and re.fullmatch(r"Trees/Oak\.md; etag [0-9a-f]{24}", remark)
        leaves, remark = await read(client, path="Oak", heading="Leaves")
        assert leaves.endswith("Brown.\n\n") and "lines 12-19 of 23" in remark
        autumn, _ = await read(client, path="Oak", heading=["Leaves", "Autumn"])
        assert autumn == "### Autumn\n\nBrown.\n\n"
        assert (await read(client, path="Oak", block="^leaf"))[0] == "Lobed. ^leaf"
        outline, _ = await read(client, path="Oak", view="outline")
        assert outline == "8: # Oak\n12: ## Leaves\n16: ### Autumn\n20: ## Uses"
        properties, _ = await read(client, path="Oak", view="frontmatter")
        assert f"---\n{properties}\n---\n# Oak" in text
        window, remark = await read(client, path="Oak", startLine=8, lineCount=2)
        assert window == "# Oak\n" and "continue with startLine=10" in remark
        full, _ = await read(client, path="Home", view="full")
        assert full.startswith((vault / "Home.md").read_text())
        assert full.endswith("outline:\n4: # Home\n\ntags:\nmoc\n\nlinks:\nOak\nTrees/Pine")
        texts = await read_several(client, paths=["Oak", "Nowhere", "Home"])
        first, _, missing, last, _ = texts
        assert first.startswith("=== Trees/Oak.md; etag ") and last.startswith("=== Home.md")
        assert missing.startswith("=== Nowhere: There is no note 'Nowhere'")

    run(vault, script)


def test_a_name_that_two_notes_have_is_reported_with_both(vault: Path) -> None:
    write(vault, "Boats/Oak.md", "a boat")

    async def script(client: Client) -> None:
        text = await refused(client, "read-note", path="Oak")
        assert "'Boats/Oak.md', 'Trees/Oak.md'" in text
        assert (await read(client, path="Boats/oak"))[1].startswith("Boats/Oak.md;")

    run(vault, script)


def test_creating_never_replaces_and_an_etag_guards_a_write(vault: Path) -> None:
    oak = vault / "Trees/Oak.md"

    async def script(client: Client) -> None:
        before = oak.read_bytes()
        assert "already exists" in await refused(
            client, "write-note", path="Trees/Oak", content="x"
        )
        assert oak.read_bytes() == before
        made = await good(client, "write-note", path="New/Deep/Note", content="# New\n")
        assert made["created"] and made["path"] == "New/Deep/Note.md"
        assert (vault / "New/Deep/Note.md").read_text() == "# New\n"
        assert "was changed" in await refused(
            client, "write-note", path="Trees/Oak.md", content="x", mode="overwrite", ifMatch="old"
        )
        _, remark = await read(client, path="Trees/Oak.md")
        etag = remark.partition("etag ")[2]
        arguments = {"path": "Trees/Oak.md", "mode": "overwrite", "ifMatch": etag}
        assert "created" not in await good(client, "write-note", content="# O\n", **arguments)
        await refused(client, "write-note", content="# P\n", **arguments)
        assert oak.read_text() == "# O\n"

    run(vault, script)


def test_text_is_added_at_the_end_at_the_beginning_and_under_a_heading(vault: Path) -> None:
    async def script(client: Client) -> None:
        path = "Trees/Oak.md"
        await good(client, "write-note", path=path, content="last\n", mode="append")
        await good(client, "write-note", path=path, content="first", mode="prepend")
        await good(
            client, "write-note", path=path, content="Green.", mode="append", heading="Leaves"
        )
        text = (vault / path).read_text()
        assert text.endswith("Barrels.\nlast\n")
        assert "---\nfirst\n# Oak" in text
        assert "Lobed. ^leaf\nGreen.\n\n### Autumn" in text

    run(vault, script)


def test_own_writes_are_found_at_once_and_other_programs_writes_later(vault: Path) -> None:
    async def script(client: Client) -> None:
        await good(client, "write-note", path="Fresh", content="quixotic #brandnew\n")
        assert paths(await good(client, "search-vault", query="quixotic")) == ["Fresh.md"]
        assert paths(await good(client, "search-vault", query="tag:brandnew")) == ["Fresh.md"]
        write(vault, "Trees/Outside.md", "perspicacious\n")

        async def is_found() -> bool:
            found = await good(client, "search-vault", query="perspicacious")
            return paths(found) == ["Trees/Outside.md"]

        await eventually(is_found)
        os.rename(vault / "Trees", vault / "Forest")

        async def has_moved() -> bool:
            found = await good(client, "search-vault", query="perspicacious")
            return paths(found) == ["Forest/Outside.md"]

        await eventually(has_moved)
        os.unlink(vault / "Forest/Outside.md")

        async def is_gone() -> bool:
            return not paths(await good(client, "search-vault", query="perspicacious"))

        await eventually(is_gone)

    run(vault, script)


def test_edits_are_atomic_and_keep_the_rest(vault: Path) -> None:
    oak = vault / "Trees/Oak.md"
    os.chmod(oak, 0o600)

    async def script(client: Client) -> None:
        before = oak.read_text()
        edits: list[dict[str, Any]] = [
            {"op": "set", "target": {"frontmatter": "height"}, "content": 31},
            {"op": "append", "target": {"heading": "Uses"}, "content": "Ships."},
            {"op": "replace", "target": {"block": "leaf"}, "content": "Deeply lobed."},
            {"op": "replace", "target": {"text": "Brown."}, "content": "Golden."},
            {"op": "replace", "target": {"regex": r"Hard (\w+)"}, "content": r"Heavy \1"},
        ]
        shown = await good(client, "edit-note", path="Oak", edits=edits, dryRun=True)
        assert oak.read_text() == before and "+height: 31" in shown["diff"]
        await good(client, "edit-note", path="Oak", edits=edits)
        expected = before
        for old, new in (
            ("height: 30   # metres\n", "height: 31   # metres\n"),
            ("Barrels.\n", "Barrels.\nShips.\n"),
            ("Lobed. ^leaf", "Deeply lobed. ^leaf"),
            ("Brown.", "Golden."),
            ("Hard wood", "Heavy wood"),
        ):
            expected = expected.replace(old, new)
        assert oak.read_text() == expected
        assert stat.S_IMODE(oak.stat().st_mode) == 0o600
        bad = [*edits[:1], {"op": "delete", "target": {"text": "e"}, "expectedCount": 1}]
        text = await refused(client, "edit-note", path="Oak", edits=bad)
        assert "Edit 2 of 2" in text and "occurs" in text
        assert oak.read_text() == expected

    run(vault, script)


def test_moving_a_note_keeps_links_of_every_kind(vault: Path) -> None:
    write(
        vault,
        "Links.md",
        "[[Oak]] [[oak|alias]] [[Trees/Oak#Leaves]] ![[Oak#^leaf]] [m](Trees/Oak.md) "
        "[s](<Trees/Oak.md>) `[[Oak]]`\n",
    )
    write(vault, "Trees/Near.md", "[n](Oak.md#uses) [[Pine]]\n")

    async def script(client: Client) -> None:
        target = "Big Trees/Old oak.md"
        plan = await good(client, "move-note", **{"from": "Oak", "to": target, "dryRun": True})
        assert plan["replacements"] == 8 and (vault / "Trees/Oak.md").exists()
        done = await good(client, "move-note", **{"from": "Oak", "to": target})
        assert done["replacements"] == 8 and "failed" not in done
        assert (vault / "Links.md").read_text() == (
            "[[Old oak]] [[Old oak|alias]] [[Big Trees/Old oak#Leaves]] ![[Old oak#^leaf]] "
            "[m](Big%20Trees/Old%20oak.md) [s](<Big Trees/Old oak.md>) `[[Oak]]`\n"
        )
        assert (vault / "Trees/Near.md").read_text() == (
            "[n](../Big%20Trees/Old%20oak.md#uses) [[Pine]]\n"
        )
        assert (await good(client, "get-links", kind="broken"))["total"] == 0
        assert "already exists" in await refused(
            client, "move-note", **{"from": "Pine", "to": target}
        )

    run(vault, script)


def test_deleting_moves_to_the_trash_after_confirmation(vault: Path) -> None:
    asked: list[str] = []

    def answer(content: dict[str, Any] | None) -> Any:
        def elicit(request: Any) -> dict[str, Any] | None:
            asked.append(request.message)
            return content

        return elicit

    async def decline(client: Client) -> None:
        kept = await good(client, "delete-note", path="Oak")
        assert kept["deleted"] is False and (vault / "Trees/Oak.md").exists()

    async def accept(client: Client) -> None:
        gone = await good(client, "delete-note", path="Oak")
        assert gone["trashedTo"] == ".trash/Trees/Oak.md"
        assert [link["source"] for link in gone["brokenLinks"]] == ["Home.md"]
        assert (vault / ".trash/Trees/Oak.md").exists() and not (vault / "Trees/Oak.md").exists()
        assert not paths(await good(client, "search-vault", query="lobed"))

    async def changed_meanwhile(client: Client) -> None:
        assert "changed while" in await refused(client, "delete-note", path="Home")
        assert (vault / "Home.md").exists()

    def change_and_agree(request: Any) -> dict[str, Any]:
        write(vault, "Home.md", f"written while asked: {request.message}\n")
        return {"confirm": True}

    async def unasked(client: Client) -> None:
        gone = await good(client, "delete-note", path="Pine", permanent=True)
        assert "trashedTo" not in gone and not (vault / "Trees/Pine.md").exists()

    for mode in ("2025-11-25", "2026-07-28"):
        run(vault, decline, mode=mode, elicit=answer(None))
        run(vault, changed_meanwhile, mode=mode, elicit=change_and_agree)
    write(vault, "Home.md", "[[Oak]]\n")
    run(vault, accept, elicit=answer({"confirm": True}))
    run(vault, unasked)
    assert len(asked) == 3 and "Trees/Oak.md" in asked[0]


def test_tags_are_counted_and_renamed_everywhere(vault: Path) -> None:
    write(vault, "T.md", "---\ntags: [Tree, other]\n---\n#tree/tall and #treehouse `#tree`\n")

    async def script(client: Client) -> None:
        tags = {one["tag"]: one for one in (await good(client, "list-tags"))["tags"]}
        assert tags["evergreen"]["count"] == 1 and "code" not in tags
        top = next(one for tag, one in tags.items() if tag.lower() == "tree")
        assert top == {"tag": top["tag"], "count": 2}
        rename = {"from": "#tree", "to": "#plant/tree"}
        await refused(client, "move-note", **{"from": "#tree", "to": "#tree/x"})
        dry = await good(client, "move-note", **rename, dryRun=True)
        assert {one["path"]: one["count"] for one in dry["rewritten"]} == {
            "T.md": 2,
            "Trees/Oak.md": 2,
        }
        await good(client, "move-note", **rename)
        assert (vault / "T.md").read_text() == (
            "---\ntags: [plant/tree, other]\n---\n#plant/tree/tall and #treehouse `#tree`\n"
        )
        assert (
            "tags:   [plant/tree, 'plant/tree/deciduous']" in (vault / "Trees/Oak.md").read_text()
        )
        found = await good(client, "search-by-tags", tags=["#plant"], includeNested=True)
        assert [note["path"] for note in found["notes"]] == ["T.md", "Trees/Oak.md"]

    run(vault, script)


def test_links_in_both_directions_and_broken_links(vault: Path) -> None:
    write(vault, "Lost.md", "[[Nowhere]] ![[picture.png]]\n")

    async def script(client: Client) -> None:
        inward = await good(client, "get-links", path="Oak", direction="in")
        assert inward == {"total": 1, "incoming": [{"source": "Home.md", "line": 6}]}
        near = await good(client, "get-links", path="Oak", depth=2)
        assert near["further"] == [{"source": "Home.md", "target": "Trees/Pine.md", "line": 6}]
        broken = await good(client, "get-links", kind="broken")
        assert broken["broken"] == [{"source": "Lost.md", "line": 1, "written": "Nowhere"}]
        orphans = await good(client, "get-links", kind="orphans")
        assert orphans["orphans"] == ["Daily/2025-01-01.md", "Lost.md"]
        mocs = await good(client, "discover-mocs")
        linked = ["Trees/Oak.md", "Trees/Pine.md"]
        assert mocs["mocs"] == [{"path": "Home.md", "linkCount": 2, "linkedNotes": linked}]

    run(vault, script)


def test_unusual_files_are_reported_and_not_changed(vault: Path) -> None:
    (vault / "Binary.md").write_bytes(b"\x89PNG\0\0")
    broken = b"# Br\xffken\n\xfe word\n"
    (vault / "Invalid.md").write_bytes(broken)
    write(vault, "Yaml.md", "---\ntags: [unclosed\n---\n# Still read\n")
    write(vault, unicodedata.normalize("NFD", "Café.md"), "decomposed\n")
    with open(vault / "Huge.md", "wb") as file:
        file.truncate(200 * 1024 * 1024)
    with open(os.fsencode(vault) + b"/bad\xff.md", "wb") as file:
        file.write(b"nameless\n")
    write(vault, "Crlf.md", "# C\r\n\r\n## A\r\n\r\none\r\n")

    async def script(client: Client) -> None:
        assert "binary" in await refused(client, "read-note", path="Binary.md")
        assert "bytes" in await refused(client, "read-note", path="Huge.md")
        text, remark = await read(client, path="Invalid.md")
        assert "encoding invalid-utf-8" in remark and "Br\ufffdken" in text
        edit = {"op": "replace", "target": {"text": "word"}, "content": "WORD"}
        await good(client, "edit-note", path="Invalid.md", edits=[edit])
        assert (vault / "Invalid.md").read_bytes() == broken.replace(b"word", b"WORD")
        text, remark = await read(client, path="Yaml", view="full")
        assert "line 3" in remark and "Still read" in text
        change = {"op": "set", "target": {"frontmatter": "a"}, "content": 1}
        assert "YAML" in await refused(client, "edit-note", path="Yaml", edits=[change])
        assert (await read(client, path="Café.md"))[0] == "decomposed\n"
        for twin in ("Café.md", "HOME.md"):
            assert "differs only" in await refused(client, "write-note", path=twin, content="x")
        append = {"path": "Crlf.md", "content": "two\nthree", "mode": "append", "heading": "A"}
        await good(client, "write-note", **append)
        assert (vault / "Crlf.md").read_bytes().endswith(b"one\r\ntwo\r\nthree\r\n")
        listed = await good(client, "list-notes")
        assert "Huge.md" in listed["notes"] and len(listed["notes"]) == 10
        assert (await good(client, "search-vault", query="decomposed"))["total"] == 1

    run(vault, script)


def test_a_disk_that_cannot_be_written_is_an_error_and_leaves_the_note(vault: Path) -> None:
    async def script(client: Client) -> None:
        text = await refused(client, "write-note", path="Big", content="x" * 3_000_000)
        assert "too large" in text and not (vault / "Big.md").exists()
        oak = (vault / "Trees/Oak.md").read_bytes()
        big = {"path": "Trees/Oak.md", "content": "x" * 3_000_000, "mode": "overwrite"}
        await refused(client, "write-note", **big)
        assert (vault / "Trees/Oak.md").read_bytes() == oak
        left = [name for name in os.listdir(vault / "Trees") if name.startswith(".")]
        assert left == []

    # A limit on the size of files stands for a full disk: both fail in the middle of a write.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    try:
        run(vault, script)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_read_only_has_no_tools_that_change_notes(vault: Path) -> None:
    async def script(client: Client) -> None:
        tools = await client.list_tools()
        names = {tool.name for tool in tools}
        assert not names & {"write-note", "edit-note", "move-note", "delete-note"}
        for tool in tools:
            assert tool.annotations is not None and tool.annotations.read_only_hint is True

    run(vault, script, "--read-only")


def test_resources_completion_and_subscriptions(vault: Path) -> None:
    changes: list[str] = []

    async def script(client: Client) -> None:
        async def is_listed() -> bool:
            listed = [one.uri for one in await client.list_resources()]
            return "obsidian-note:///Trees/Oak.md" in listed and "vault://tags" in listed

        await eventually(is_listed)
        assert (await client.read("obsidian-note:///Trees/Oak.md")).text.startswith(
            "---\n# a remark"
        )
        assert json.loads((await client.read("vault://stats")).text)["notes"] == 4
        [template] = await client.list_templates()
        assert template.uri_template == "obsidian-note:///{+path}"
        uri = "obsidian-note:///Home.md"
        async with client.subscribe(uris=[uri]) as subscription:
            write(vault, "Home.md", "changed outside\n")
            async with asyncio.timeout(CAP):
                change = await anext(aiter(subscription))
            changes.append(str(change.uri))
            assert change.uri == uri

    for mode in ("2025-11-25", "2026-07-28"):
        run(vault, script, mode=mode)
        write(vault, "Home.md", "changed back\n")
    assert len(changes) == 2


def test_results_are_sent_as_data_and_as_text_and_a_new_note_as_a_link(vault: Path) -> None:
    async def script(client: Client) -> None:
        raw = await client.request(
            "tools/call", {"name": "search-vault", "arguments": {"query": "wood"}}
        )
        [block] = raw["content"]
        assert json.loads(block["text"]) == raw["structuredContent"]
        assert raw["_meta"]["executionTime"] >= 0 and raw["_meta"]["timestamp"]
        raw = await client.request(
            "tools/call", {"name": "write-note", "arguments": {"path": "New", "content": "x"}}
        )
        assert raw["content"][1]["uri"] == "obsidian-note:///New.md"
        for tool in await client.list_tools():
            assert tool.output_schema is None and tool.annotations is not None

    run(vault, script)


def test_prompts_contain_their_notes(vault: Path) -> None:
    async def script(client: Client) -> None:
        assert [prompt.name for prompt in await client.list_prompts()] == [
            "daily-note", "summarise-folder", "suggest-links"
        ]  # fmt: skip
        got = await client.get_prompt("summarise-folder", {"folder": "Trees"})
        assert "Trees/Oak.md (Oak)" in str(got.messages[0].content)
        got = await client.get_prompt("daily-note", {"day": "2025-01-02"})
        assert "Daily/2025-01-01.md" in str(got.messages[0].content)
        got = await client.get_prompt("suggest-links", {"path": "Oak"})
        assert len(got.messages) == 2

    run(vault, script)


def test_another_server_takes_over_and_a_damaged_index_is_rebuilt(vault: Path) -> None:
    async def find_outside_edit(client: Client, word: str) -> None:
        write(vault, f"Found {word}.md", f"{word}\n")

        async def is_found() -> bool:
            return paths(await good(client, "search-vault", query=word)) == [f"Found {word}.md"]

        await eventually(is_found)

    async def main() -> None:
        async with over_stdio(vault) as second:
            async with over_stdio(vault) as first:
                await good(first, "write-note", path="By first", content="sesquipedalian\n")
                found = await good(second, "search-vault", query="sesquipedalian")
                assert paths(found) == ["By first.md"]
                await find_outside_edit(first, "alpha")
            await find_outside_edit(second, "beta")
        async with over_stdio(vault) as third:
            await find_outside_edit(third, "gamma")

    asyncio.run(main())
    index = vault.parent / "vault-index" / "index.sqlite"
    for damage in (b"no database at all", b""):
        index.write_bytes(damage)
        for name in ("index.sqlite-wal", "index.sqlite-shm"):
            (index.parent / name).unlink(missing_ok=True)

        async def script(client: Client) -> None:
            assert paths(await good(client, "search-vault", query="gamma")) == ["Found gamma.md"]

        run(vault, script)


def test_notes_are_listed_by_folder_depth_pattern_and_date(vault: Path) -> None:
    os.utime(vault / "Trees/Pine.md", (10**9, 10**9))

    async def script(client: Client) -> None:
        async def listed(**arguments: Any) -> list[str]:
            return list((await good(client, "list-notes", **arguments))["notes"])

        everything = ["Daily/2025-01-01.md", "Home.md", "Trees/Oak.md", "Trees/Pine.md"]
        assert await listed() == everything
        assert await listed(limit=2, offset=1) == everything[1:3]
        assert await listed(directory="Trees") == everything[2:]
        assert await listed(depth=1) == ["Home.md"]
        assert await listed(glob="*Oa*") == await listed(glob="Trees/Oak.md") == ["Trees/Oak.md"]
        assert (await listed(sort="modified"))[-1] == "Trees/Pine.md"
        assert "Trees/Pine.md" not in await listed(since="2010-01-01")
        tree = (await good(client, "list-notes", view="tree"))["folders"]
        assert {one["folder"]: one["notes"] for one in tree} == {"": 4, "Daily": 1, "Trees": 2}
        titles = await good(client, "search-by-title", query="oka", fuzzy=True)
        assert [one["file"] for one in titles["results"]] == ["Trees/Oak.md"]

    run(vault, script)
