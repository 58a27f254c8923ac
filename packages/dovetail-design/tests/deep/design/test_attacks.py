"""What nobody should send: refused in words, and nothing of it is kept."""

from __future__ import annotations

import asyncio
import base64
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from tests.deep.design.driving import SharedStudio, box, over_stdio
from tests.deep.design.test_tools import create, tell
from tests.driving import good, refused
from tests.patience import CAP

SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'>{}</svg>"
ENTITIES = (
    "<!DOCTYPE svg [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>"
    "<svg xmlns='http://www.w3.org/2000/svg'><title>&b;</title></svg>"
)


def png_bomb(side: int) -> bytes:
    """A PNG of a few bytes that says it is enormous."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(1_000_000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def uri(data: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def drawing(inner: str) -> str:
    return uri(SVG.format(inner).encode(), "image/svg+xml")


def clips(count: int, references: int) -> str:
    """Clips that are each clipped by the next."""
    inner = "<rect width='9' height='9' clip-path='url(#c{})'/>"
    chain = "".join(
        f"<clipPath id='c{number}'>{inner.format(number + 1) * references}</clipPath>"
        for number in range(count)
    )
    return f"{chain}<clipPath id='c{count}'/>{inner.format(0)}"


PICTURES = {
    "script": drawing("<script>alert(1)</script>"),
    "handler": drawing("<rect onload='alert(1)' width='5' height='5'/>"),
    "external": drawing("<use href='https://example.org/a.svg#b'/>"),
    "image": drawing("<image href='file:///etc/passwd'/>"),
    "style": drawing("<rect fill='url(https://example.org/x)' width='5' height='5'/>"),
    "foreign": drawing("<foreignObject><body/></foreignObject>"),
    # A chain of clips overflows the stack of the renderer, and a tree of them takes forever.
    "clip chain": drawing(clips(9_000, 1)),
    "clip tree": drawing(clips(40, 2)),
    "entities": uri(ENTITIES.encode(), "image/svg+xml"),
    "bomb": uri(png_bomb(60_000), "image/png"),
    "broken": uri(b"\x89PNG\r\n\x1a\n" + b"nonsense" * 20, "image/png"),
    "cut": uri(png_bomb(100)[:60], "image/png"),
    "program": uri(b"MZ\x90\x00" * 50, "image/png"),
    "page": uri(b"<html><script>1</script></html>", "image/svg+xml"),
    "base64": "data:image/png;base64,***",
    "empty": "data:image/png;base64,",
    "large": uri(b"\x89PNG\r\n\x1a\n" + bytes(20_000_001), "image/png"),
}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStudio]:
    with SharedStudio.start(tmp_path_factory.mktemp("studio")) as started:
        yield started


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_that_is_none_is_refused_and_not_kept(studio: SharedStudio, name: str) -> None:
    async def story(client: Client) -> None:
        said = await refused(
            client, "upload_asset", file=PICTURES[name], name="a.png", type="IMAGE"
        )
        assert "Internal error" not in said and len(said) < 2_000
        assert (await good(client, "list_assets"))["total"] == 0

    studio.tell(story)
    assert not [path for path in (studio.directory / "blobs").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "name", ["script", "clip chain", "clip tree", "entities", "bomb", "broken", "base64"]
)
def test_a_picture_inside_an_element_is_checked_as_well(studio: SharedStudio, name: str) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        image = {"type": "image", "id": "i", "x": 0, "y": 0, "width": 80, "height": 40}
        result = await client.call(
            "add_element", {"designId": id, "element": {**image, "src": PICTURES[name]}}
        )
        assert "Internal error" not in result.text
        if not result.is_error:
            # It is told at once; drawing it is refused in words or shows that it is missing.
            assert [one["elementIds"] for one in result.data["warnings"]] == [["i"]]
        for tool in ("render_preview", "describe_design"):
            drawn = await client.call(tool, {"designId": id})
            assert "Internal error" not in drawn.text, drawn.text

    studio.tell(story)


def test_fonts_that_are_no_fonts_are_refused(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        for data in (b"OTTO" + b"x" * 100, b"\x00\x01\x00\x00" + b"\xff" * 200, b"text"):
            said = await refused(
                client, "upload_asset", file=uri(data, "font/ttf"), name="f.ttf", type="FONT"
            )
            assert "not a font" in said or "not a valid FONT" in said, said
        assert (await good(client, "list_assets"))["total"] == 0

    studio.tell(story)


def test_no_path_leads_out_of_the_folders(tmp_path: Path) -> None:
    inside = tmp_path / "open"
    inside.mkdir()
    secret = tmp_path / "secret.png"
    secret.write_bytes(png_bomb(10))
    (inside / "link.png").symlink_to(secret)
    (inside / "up").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe.png")
    before = sorted(os.listdir(tmp_path))

    async def story(client: Client) -> None:
        id = await create(client)
        for path in (
            *("../secret.png", str(secret), "link.png", "up/secret.png", "pipe.png"),
            *("/etc/passwd", "/proc/self/environ", ".", "open\0.png", "~/.bashrc"),
        ):
            said = await refused(client, "upload_asset", file=path, name="x", type="OTHER")
            assert "Internal error" not in said, said
        for path in (
            "../out.png",
            str(tmp_path / "out.png"),
            "link.png",
            "up/out.png",
            "",
        ):
            said = await refused(client, "export_design", designId=id, saveTo=path)
            assert "Internal error" not in said, said
        assert (await good(client, "list_assets"))["total"] == 0

    tell(tmp_path / "open" / "d", story, "--folder", str(inside))
    assert sorted(os.listdir(tmp_path)) == before
    assert secret.read_bytes() == png_bomb(10)


def test_without_a_folder_no_path_is_taken(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        assert "--folder" in await refused(client, "upload_asset", file="/etc/passwd", name="x")
        assert "--folder" in await refused(client, "export_design", designId=id, saveTo="a.png")

    studio.tell(story)


def test_what_is_too_large_is_refused_and_nothing_is_changed(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        made = await good(client, "create_design", name="Huge", width=10_000, height=10_000)
        id = made["designId"]
        assert "10001" in await refused(
            client, "resize_canvas", designId=id, width=10_001, height=10
        )
        for format in ("png", "jpg", "webp"):
            said = await refused(client, "export_design", designId=id, format=format)
            assert "pixels" in said and "scale" in said
        await good(client, "export_design", designId=id, format="png", scale=0.2)
        # Few pixels, but a side that the format cannot count to.
        strip = await good(client, "create_design", name="Strip", width=9_000, height=10)
        for format in ("jpg", "webp"):
            said = await refused(
                client, "export_design", designId=strip["designId"], format=format, scale=8
            )
            assert "sides" in said
        await good(client, "export_design", designId=id, format="pdf")
        await good(client, "render_preview", designId=id)
        small = {"type": "circle", "x": 0, "y": 0, "width": 5, "height": 5}
        many = [small] * 50_000
        for tool, more in (
            ("add_element", {"elements": many}),
            ("update_design", {"canvasData": {"elements": many}}),
            ("edit_design", {"operations": [{"op": "add", "element": small}] * 50_000}),
        ):
            said = await refused(client, tool, designId=id, **more)
            assert "Internal error" not in said and len(said) < 3_000, said[:200]
        assert (await good(client, "get_design", designId=id))["design"]["version"] == 1

    studio.tell(story)


def test_a_design_of_the_most_elements_can_be_worked_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path) as client:
            id = await create(client)
            small = {"type": "circle", "width": 2, "height": 2, "fill": "#123456"}
            elements = [{**small, "x": n % 400 * 2, "y": n // 400 * 2} for n in range(10_000)]
            await good(client, "update_design", designId=id, canvasData={"elements": elements})
            said = await refused(client, "add_element", designId=id, element=box("one too many"))
            assert "at most 10,000" in said
            page = await good(client, "get_design", designId=id, offset=9_990)
            assert len(page["elements"]) == 10

    asyncio.run(run())


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("create_design", {"name": ""}),
        ("create_design", {"name": "a\u0000b"}),
        ("create_design", {"name": "a", "width": 0}),
        ("create_design", {"name": "a", "preset": "cinema"}),
        ("create_design", {"name": "a", "preset": "badge", "width": 5}),
        ("create_design", {"name": "a", "background": "reddish"}),
        ("create_design", {"name": "a", "visibility": "SECRET"}),
        ("list_designs", {"page": 0}),
        ("list_designs", {"limit": 1_000}),
        ("get_design", {"designId": "x" * 200}),
        ("get_design", {"designId": "DESIGN", "version": 99}),
        ("get_design", {"designId": "DESIGN", "elementIds": ["nobody"]}),
        ("update_design", {"designId": "DESIGN"}),
        ("update_design", {"designId": "DESIGN", "canvasData": {"things": []}}),
        ("update_design", {"designId": "DESIGN", "canvasData": {"elements": [5]}}),
        ("update_design", {"designId": "DESIGN", "background": "linear-gradient(x)"}),
        ("add_element", {"designId": "DESIGN"}),
        ("add_element", {"designId": "DESIGN", "element": box("a"), "elements": [box("b")]}),
        ("update_element", {"designId": "DESIGN", "elementId": "a", "updates": {}}),
        ("update_element", {"designId": "DESIGN", "elementId": "nobody", "updates": {"x": 1}}),
        ("delete_element", {"designId": "DESIGN", "elementId": "nobody"}),
        ("edit_design", {"designId": "DESIGN", "operations": []}),
        ("edit_design", {"designId": "DESIGN", "operations": [{"op": "explode"}]}),
        ("arrange_elements", {"designId": "DESIGN", "elementIds": ["nobody"], "mode": "grid"}),
        ("export_design", {"designId": "DESIGN", "format": "gif"}),
        ("export_design", {"designId": "DESIGN", "quality": 0}),
        ("export_design", {"designId": "DESIGN", "scale": 100}),
        ("render_preview", {"designId": "DESIGN", "maxWidth": 5_000}),
        ("describe_design", {"designId": "DESIGN", "region": {"x": 0, "y": 0, "width": 0}}),
        ("design_history", {"designId": "DESIGN", "action": "forget"}),
        ("design_history", {"designId": "DESIGN", "action": "restore"}),
        ("design_history", {"designId": "DESIGN", "action": "restore", "version": 99}),
        ("design_history", {"designId": "DESIGN", "action": "restore", "label": "none"}),
        ("design_history", {"designId": "DESIGN", "action": "snapshot"}),
        ("design_history", {"designId": "DESIGN", "action": "undo"}),
        ("apply_template", {"templateId": "DESIGN"}),
        ("apply_template", {"templateId": "nothing"}),
        ("create_template", {"designId": "nobody", "name": "T"}),
        ("upload_asset", {"file": "data:,x", "name": ""}),
        ("list_fonts", {"category": "pretty"}),
        ("list_shapes", {"category": "pretty"}),
        ("search_icons", {"query": ""}),
        ("generate_design", {"prompt": ""}),
        ("chat_with_civi", {"message": "x", "designId": "nobody"}),
    ],
)
def test_wrong_arguments_are_refused_in_words(
    studio: SharedStudio, tool: str, given: dict[str, Any]
) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        arguments = {key: id if value == "DESIGN" else value for key, value in given.items()}
        said = await refused(client, tool, **arguments)
        assert "Internal error" not in said and said, said
        found = await good(client, "get_design", designId=id)
        assert found["design"]["version"] == 1

    studio.tell(story)


def test_containers_that_hold_each_other_do_no_harm(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        pair = [
            {**box("a", 10, 10), "type": "container", "groupId": "b"},
            {**box("b", 200, 10), "type": "container", "groupId": "a"},
        ]
        result = await client.call("add_element", {"designId": id, "elements": pair})
        assert "Internal error" not in result.text
        for tool, more in (
            ("edit_design", {"operations": [{"op": "move", "elementIds": ["a"], "dx": 5}]}),
            ("render_preview", {}),
            ("describe_design", {}),
            ("export_design", {"format": "svg"}),
            ("export_design", {"format": "pptx"}),
        ):
            done = await client.call(tool, {"designId": id, **more})
            assert "Internal error" not in done.text, done.text

    studio.tell(story)
