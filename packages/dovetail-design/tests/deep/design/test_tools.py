"""What each tool does, seen from a client of the real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dovetail.client import Client
from dovetail_design.answers import COMPACT, UNLISTED
from dovetail_design.examples import EXAMPLES, SHOWN
from tests.deep.design.driving import SharedStudio, box, over_stdio, text
from tests.driving import good, refused
from tests.patience import CAP

Story = Callable[[Client], Awaitable[None]]

SEED_TOOLS = {
    *("list_designs", "create_design", "get_design", "update_design", "delete_design"),
    *("duplicate_design", "export_design", "add_element", "update_element", "delete_element"),
    *("resize_canvas", "clear_canvas", "list_templates", "apply_template", "create_template"),
    *("list_assets", "upload_asset", "search_stock_images", "search_icons", "search_clipart"),
    *("search_illustrations", "list_fonts", "list_shapes", "generate_design", "chat_with_civi"),
}
OWN_TOOLS = {"edit_design", "render_preview", "describe_design", "design_history"}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStudio]:
    with SharedStudio.start(tmp_path_factory.mktemp("studio")) as started:
        yield started


def tell(directory: Path, story: Story, *options: str, **client: Any) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(CAP),
            over_stdio(directory, *options, **client) as connected,
        ):
            await story(connected)

    asyncio.run(run())


async def create(client: Client, **more: Any) -> str:
    made = await good(client, "create_design", name="A", width=800, height=600, **more)
    return str(made["designId"])


async def edit(client: Client, id: str, *operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return await good(client, "edit_design", designId=id, operations=list(operations), **more)


def add(element: dict[str, Any]) -> dict[str, Any]:
    return {"op": "add", "element": element}


def cost(tools: list[Any], instructions: str | None) -> float:
    """The tokens of a list of tools, at four characters each."""
    listed = [
        {"name": one.name, "description": one.description, "inputSchema": one.input_schema}
        for one in tools
    ]
    text = msgspec.json.encode(listed).decode()
    return (len(text) + len(instructions or "")) / 4


def test_the_tools_are_those_of_the_seed_and_four_more(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        tools = await client.list_tools()
        assert {tool.name for tool in tools} == SEED_TOOLS | OWN_TOOLS
        for tool in tools:
            assert tool.title and tool.description and tool.annotations
            assert tool.input_schema["type"] == "object"
            assert "apiKey" not in str(tool.input_schema) and tool.output_schema is None
        assert cost(tools, client.instructions) <= 7_000
        # A key is accepted wherever the hosted service took one.
        for name, given in (("list_designs", {}), ("add_element", {"designId": "none"})):
            told = await client.call(name, {**given, "apiKey": "key"})
            assert "apiKey" not in told.text

    studio.tell(story)


def test_the_compact_set_lists_eleven_tools_and_takes_calls_of_all(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        tools = await client.list_tools()
        assert {tool.name for tool in tools} == COMPACT
        assert cost(tools, client.instructions) <= 4_000
        id = await create(client)
        await edit(client, id, add(text("t", "Hello {{name}}")), add(box("b", 50, 300)))
        assert (await good(client, "read_design", what="list"))["total"] == 1
        outline = await good(client, "read_design", designId=id)
        assert outline == await good(client, "describe_design", designId=id)
        shown = await client.call("read_design", {"designId": id, "what": "picture"})
        assert getattr(shown.content[1], "mime_type", "") == "image/png"
        found = await good(client, "read_design", designId=id, what="elements", elementIds=["t"])
        assert [one["id"] for one in found["elements"]] == ["t"]
        told = await good(client, "read_design", what="properties", elementType="table")
        assert "tableColumnAlignments" in told["text"]
        assert "designId" in await refused(client, "read_design", what="picture")
        for kind, query in (
            ("templates", "poster"),
            ("icons", "heart"),
            ("clipart", "gift"),
            ("illustrations", "city"),
            ("backgrounds", "waves"),
            ("shapes", "star"),
            ("fonts", None),
            ("assets", None),
        ):
            found = await good(client, "search_library", kind=kind, query=query)
            assert found["total"] > 0 or kind == "assets"
        assert "query" in await refused(client, "search_library", kind="icons")
        # What is not listed can be called.
        await good(client, "update_element", designId=id, elementId="b", updates={"fill": "red"})

    tell(tmp_path, story, "--tools", "compact")


def test_every_example_works(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        told = {tool.name: tool.description or "" for tool in await client.list_tools()}
        assert EXAMPLES.keys() == told.keys() | UNLISTED
        ids: dict[str, str] = {}
        for name, example in EXAMPLES.items():
            shown = f"Example: {json.dumps(example, separators=(',', ':'))}"
            assert (shown in told.get(name, "")) == (name in SHOWN)
            written = json.dumps(example)
            for word, id in ids.items():
                written = written.replace(f'"{word}"', f'"{id}"')
            done = await good(client, name, **json.loads(written))
            if name == "create_design":
                ids["DESIGN"] = done["designId"]
            if name == "create_template":
                ids["TEMPLATE"] = done["id"]

    tell(tmp_path, story)


def test_a_design_from_its_making_to_its_end(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        made = await good(
            client, "create_design", name="Card", preset="business card", description="ours"
        )
        id = made["designId"]
        assert (made["version"], made["elementIds"], made["warnings"]) == (1, [], [])
        added = await good(client, "add_element", designId=id, elements=[box("a"), box("b", 300)])
        assert (added["version"], added["elementIds"]) == (2, ["a", "b"])
        changed = await good(
            client, "update_element", designId=id, elementId="a", updates={"fill": "red"}
        )
        assert (changed["version"], changed["elementIds"]) == (3, ["a"])
        found = await good(client, "get_design", designId=id)
        assert (found["design"]["width"], found["design"]["height"]) == (1050, 600)
        assert [one["id"] for one in found["elements"]] == ["a", "b"]
        assert found["elements"][0]["fill"] == "red" and found["elements"][0]["createdAt"]
        await good(client, "delete_element", designId=id, elementId="a")
        copy = await good(client, "duplicate_design", designId=id, newName="Second")
        assert copy["elementIds"] == ["b"] and copy["designId"] != id
        listed = await good(client, "list_designs", search="ours")
        assert [one["id"] for one in listed["designs"]] == [copy["designId"], id]
        cleared = await good(client, "clear_canvas", designId=id)
        assert cleared["message"] == "Removed 1 elements."
        await good(client, "delete_design", designId=id)
        assert "in the trash" in await refused(client, "add_element", designId=id, element=box("c"))
        assert [
            one["id"] for one in (await good(client, "list_designs", trash=True))["designs"]
        ] == [id]
        await good(client, "design_history", designId=id, action="restore")
        assert (await good(client, "get_design", designId=id))["elements"] == []
        await good(client, "delete_design", designId=id, permanent=True)
        assert "no design" in await refused(client, "get_design", designId=id)

    tell(tmp_path, story)


def test_many_changes_are_one_version_or_none(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        dry = await edit(client, id, add(box("a")), dryRun=True)
        assert (dry["version"], dry["dryRun"], dry["elementIds"]) == (1, True, ["a"])
        assert (await good(client, "get_design", designId=id))["elements"] == []
        line = {"type": "line", "id": "l", "x": 0, "y": 0, "width": 10, "height": 0}
        done = await edit(
            client,
            id,
            *(add(box("a")), add(box("b", 400, 10)), add({**line, "stroke": "black"})),
            {"op": "bind_connector", "elementId": "l", "from": "a", "to": "b"},
            {"op": "align", "elementIds": ["a", "b"], "to": ["top"]},
            {"op": "order", "elementIds": ["l"], "to": "back"},
            {"op": "group", "elementIds": ["a", "b"], "groupId": "pair"},
        )
        assert done["version"] == 2
        found = await good(client, "get_design", designId=id)
        assert [one["id"] for one in found["elements"]] == ["l", "a", "b"]
        assert found["elements"][0]["width"] == 300
        assert found["connectors"]["l"]["from"] == "a"
        # The connector follows, also through another tool.
        await good(client, "update_element", designId=id, elementId="b", updates={"x": 500})
        line = (await good(client, "get_design", designId=id, elementIds=["l"]))["elements"][0]
        assert line["width"] == 400
        wrong = await client.call(
            "edit_design",
            {
                "designId": id,
                "operations": [add(box("c")), {"op": "delete", "elementIds": ["nobody"]}],
            },
        )
        assert wrong.is_error and "Nothing was changed, because operations[1]" in wrong.text
        after = await good(client, "get_design", designId=id)
        assert (after["design"]["version"], len(after["elements"])) == (3, 3)

    studio.tell(story)


def test_elements_are_arranged(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        names = ["a", "b", "c", "d"]
        boxes = [box(name, 150 * number, 40 * number) for number, name in enumerate(names)]
        await good(client, "add_element", designId=id, elements=boxes)

        async def arrange(**how: Any) -> list[tuple[float, float]]:
            done = await good(client, "arrange_elements", designId=id, elementIds=names, **how)
            return [(one["x"], one["y"]) for one in done["boxes"]]

        assert await arrange(mode="align", align=["top"], relativeTo="canvas") == [
            (0, 0),
            (150, 0),
            (300, 0),
            (450, 0),
        ]
        assert await arrange(mode="stack", axis="vertical", gap=10) == [
            (0, 0),
            (0, 110),
            (0, 220),
            (0, 330),
        ]
        assert await arrange(mode="grid", columns=2, gap=20) == [
            (0, 0),
            (120, 0),
            (0, 120),
            (120, 120),
        ]
        flowed = await arrange(mode="auto_layout", padding=50, gap=20)
        assert all(50 <= x <= 650 and 50 <= y <= 450 for x, y in flowed)
        assert "two" in await refused(
            client, "arrange_elements", designId=id, elementIds=["a"], mode="distribute"
        )
        heap = {"mode": "stack", "axis": "vertical", "align": ["top"]}
        assert "left, center, right" in await refused(
            client, "arrange_elements", designId=id, elementIds=names, **heap
        )

    studio.tell(story)


def test_history_goes_back_and_forth(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)

        async def history(action: str, **more: Any) -> dict[str, Any]:
            return await good(client, "design_history", designId=id, action=action, **more)

        async def ids() -> list[str]:
            found = await good(client, "get_design", designId=id)
            return [one["id"] for one in found["elements"]]

        for name in ("a", "b", "c"):
            await edit(client, id, add(box(name)))
        await history("snapshot", label="three")
        assert "nothing to redo" in await refused(
            client, "design_history", designId=id, action="redo"
        )
        await history("undo")
        assert await ids() == ["a", "b"]
        await history("undo")
        await history("redo")
        assert await ids() == ["a", "b"]
        await history("redo")
        assert await ids() == ["a", "b", "c"]
        await history("undo", steps=2)
        assert await ids() == ["a"]
        # A change after an undo begins a new line; what was undone is still a version.
        await edit(client, id, add(box("d")))
        assert "nothing to redo" in await refused(
            client, "design_history", designId=id, action="redo"
        )
        await history("undo")
        await history("undo")
        assert await ids() == []
        assert "nothing to undo" in await refused(
            client, "design_history", designId=id, action="undo"
        )
        restored = await history("restore", label="three")
        assert await ids() == ["a", "b", "c"]
        await history("undo")
        assert await ids() == []
        listed = await history("list", limit=3)
        assert [one["action"] for one in listed["versions"]] == ["undo", "restore", "undo"]
        assert listed["hasMore"] and restored["version"] == listed["version"] - 1
        older = await history("list", before=listed["nextBefore"], limit=100)
        assert older["versions"][-1]["action"] == "create" and not older.get("hasMore")
        assert [one["label"] for one in older["versions"] if "label" in one] == ["three"]
        diff = await history("diff", fromVersion=2, version=4)
        assert [(one["change"], one["elementId"]) for one in diff["differences"]] == [
            ("added", "b"),
            ("added", "c"),
        ]
        # A version can be read as it was.
        then = await good(client, "get_design", designId=id, version=3)
        assert [one["id"] for one in then["elements"]] == ["a", "b"]

    studio.tell(story)


def test_a_diff_names_properties(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        await edit(client, id, add(box("a")))
        await good(client, "update_element", designId=id, elementId="a", updates={"x": 7})
        await good(client, "update_design", designId=id, name="B", background="#000000")
        diff = await good(client, "design_history", designId=id, action="diff", fromVersion=2)
        canvas, element = diff["differences"]
        assert canvas["properties"] == [
            {"property": "name", "before": "A", "after": "B"},
            {"property": "background", "before": "#ffffff", "after": "#000000"},
        ]
        assert element["properties"] == [{"property": "x", "before": 0, "after": 7}]

    studio.tell(story)


def test_a_change_that_is_based_on_an_old_version_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(CAP),
            over_stdio(tmp_path) as one,
            over_stdio(tmp_path) as two,
        ):
            id = await create(one)
            await edit(one, id, add(box("a")))
            seen = (await good(two, "get_design", designId=id))["design"]["version"]
            await edit(one, id, add(box("b")), ifVersion=seen)
            said = await refused(
                two,
                "update_element",
                designId=id,
                elementId="a",
                updates={"x": 1},
                ifVersion=seen,
            )
            assert "is at version 3, not 2" in said and "3: edit_design add 1" in said
            assert "ifVersion 3" in said and '"diff" fromVersion 2' in said
            assert "no version 9" in await refused(two, "clear_canvas", designId=id, ifVersion=9)
            # Nothing was lost: the second client repeats with what it was told.
            updates = {"x": 1}
            await good(
                two, "update_element", designId=id, elementId="a", updates=updates, ifVersion=3
            )
            found = await good(one, "get_design", designId=id)
            assert [(e["id"], e["x"]) for e in found["elements"]] == [("a", 1), ("b", 0)]

    asyncio.run(run())


def test_a_canvas_changes_its_size(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        await edit(client, id, add(box("a", 700, 500)), add(text("t", "Hello")))
        kept = await good(client, "resize_canvas", designId=id, width=400, height=300)
        assert "off-canvas" in [one["code"] for one in kept["warnings"]]
        await good(client, "design_history", designId=id, action="undo")
        await good(client, "resize_canvas", designId=id, width=400, height=400, mode="scale")
        found = await good(client, "get_design", designId=id)
        by_id = {one["id"]: one for one in found["elements"]}
        assert (by_id["a"]["x"], by_id["a"]["y"], by_id["a"]["width"]) == (350, 300, 50)
        assert by_id["t"]["fontSize"] == 20
        smart = await good(
            client, "resize_canvas", designId=id, width=600, height=1200, mode="smart"
        )
        assert smart["warnings"] == []

    studio.tell(story)


def test_a_long_design_comes_in_pages(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        names = [f"box{number}" for number in range(500)]
        many = [box(name, number % 50, number // 5) for number, name in enumerate(names)]
        made = await good(client, "add_element", designId=id, elements=many)
        assert len(json.dumps(made)) < 20_000
        seen: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = await good(client, "get_design", designId=id, offset=offset)
            assert len(json.dumps(page)) < 22_000
            seen += [one["id"] for one in page["elements"]]
            offset = page.get("nextOffset")
        assert seen == names
        described = await client.call("describe_design", {"designId": id, "detail": "full"})
        assert not described.is_error and len(json.dumps(described.data)) < 22_000

    studio.tell(story)


def test_what_the_library_has_is_found_and_said_to_be_embedded(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        icons = await good(client, "search_icons", query="shopping cart", perPage=3)
        assert icons["source"] == "embedded" and len(icons["results"]) == 3
        id = await create(client)
        element = {**icons["results"][0]["element"], "fill": "#222222"}
        await good(client, "add_element", designId=id, element=element)
        for tool in ("search_clipart", "search_illustrations", "search_stock_images"):
            found = await good(client, tool, query="mountain wave balloon")
            assert found["results"] and found["source"] == "embedded", tool
            assert all(one["source"] == "embedded" for one in found["results"])
            src = found["results"][0]["uri"]
            image = {"type": "image", "x": 0, "y": 0, "width": 300, "height": 200, "src": src}
            await good(client, "add_element", designId=id, element=image)
        prefixed = await good(client, "search_stock_images", query="icon: heart", perPage=1)
        assert prefixed["results"][0]["kind"] == "icon"
        arrows = await good(client, "list_shapes", category="arrows")
        assert arrows["shapes"] and {one["category"] for one in arrows["shapes"]} == {"arrows"}
        total, seen, offset = 1, 0, 0
        while seen < total:
            page = await good(client, "list_shapes", offset=offset)
            total, seen = page["total"], seen + len(page["shapes"])
            offset = page.get("nextOffset", 0)
        assert seen == total >= 70
        fonts = await good(client, "list_fonts")
        assert fonts["total"] >= 6 and fonts["pairings"] and fonts["recommendations"]
        nothing = await good(client, "search_icons", query="zzzzqqq")
        assert (nothing["total"], nothing["results"]) == (0, [])
        pages = [
            [one["name"] for one in found["results"]]
            for number in (1, 2)
            for found in [await good(client, "search_icons", query="arrow", page=number)]
        ]
        assert not set(pages[0]) & set(pages[1])

    studio.tell(story)


def test_the_api_key_of_the_hosted_service_is_taken_and_forgotten(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        key = "cvt_secret_key_of_somebody"
        made = await good(client, "create_design", name="A", apiKey=key)
        await good(client, "list_designs", apiKey=key)
        await good(client, "get_design", designId=made["designId"], apiKey=key)
        await good(client, "add_element", designId=made["designId"], element=box("a"), apiKey=key)

    tell(tmp_path, story)
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert kept and not any(b"cvt_secret" in data for data in kept)


@pytest.mark.parametrize(
    ("element", "said"),
    [
        (box("a", fontSize=3), "`fontSize` belongs to text"),
        (box("a", filll="red"), "did you mean `fill`"),
        (box("a", fill="reddish"), "reddish"),
        (box("a", opacity=7), "opacity"),
        ({**box("a"), "type": "square"}, '"rectangle", "circle"'),
        ({"type": "text", "x": 0, "y": 0, "width": 5, "height": 5}, "text"),
        ({"type": "qr", "x": 0, "y": 0, "width": 5, "height": 5, "qrValue": 5}, "qrValue"),
        (box("a", x=1e9), "x"),
    ],
)
def test_a_wrong_property_is_refused_and_the_right_one_named(
    studio: SharedStudio, element: dict[str, Any], said: str
) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        assert said in await refused(client, "add_element", designId=id, element=element)
        assert (await good(client, "get_design", designId=id))["design"]["version"] == 1

    studio.tell(story)
