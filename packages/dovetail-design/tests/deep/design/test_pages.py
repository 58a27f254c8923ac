"""Several pages in one design, tables, wide banners and new folders, with the official client."""

from __future__ import annotations

import asyncio
import base64
import io
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]  # it ships without types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pptx import Presentation

from tests.deep.design.driving import box, command, text
from tests.patience import CAP

Story = Callable[[ClientSession], Awaitable[None]]


def tell(directory: Path, story: Story, *options: str) -> None:
    words = command(directory, *options)

    async def run() -> None:
        server = StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))
        async with (
            asyncio.timeout(CAP),
            stdio_client(server) as (reader, writer),
            ClientSession(reader, writer) as session,
        ):
            await session.initialize()
            await story(session)

    asyncio.run(run())


async def call(session: ClientSession, tool: str, **given: Any) -> dict[str, Any]:
    told = await session.call_tool(tool, given)
    assert not told.is_error, told.content
    return dict(told.structured_content or {})


async def export(session: ClientSession, id: str, **given: Any) -> bytes:
    told = await call(session, "export_design", designId=id, **given)
    [content] = (await session.read_resource(told["file"]["uri"])).contents
    return base64.b64decode(getattr(content, "blob", ""))


def test_pages_are_exported_to_one_file(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    async def story(session: ClientSession) -> None:
        made = await call(session, "create_design", name="Deck", width=1280, height=720)
        id = made["designId"]
        title = {"designId": id, "templateId": "slide-title", "useSamples": True}
        await call(session, "apply_template", **title, page=1, data={"title": "Quiet streets"})
        end = {**title, "templateId": "slide-closing"}
        await call(session, "apply_template", **end, page=3, data={"title": "Thank you all"})
        same = [text("m", "Middle", page=2, name="middle"), box("b", 50, 50, page=3, name="last")]
        added = await call(session, "add_element", designId=id, elements=same)
        # Elements on different pages do not overlap.
        assert [one for one in added["warnings"] if set(one["elementIds"]) == {"m", "b"}] == []
        told = await call(session, "describe_design", designId=id)
        assert "Page 2 of 3" in told["text"]

        pdf = pypdfium2.PdfDocument(io.BytesIO(await export(session, id, format="pdf")))
        texts = [page.get_textpage().get_text_range() for page in pdf]
        assert len(texts) == 3 and texts[1].strip() == "Middle"
        assert "Quiet streets" in texts[0] and "Thank you all" in texts[2]
        pptx = Presentation(io.BytesIO(await export(session, id, format="pptx")))
        assert [slide.shapes[-1].name for slide in pptx.slides][1:] == ["middle", "last"]
        one = pypdfium2.PdfDocument(io.BytesIO(await export(session, id, format="pdf", page=2)))
        assert len(one) == 1
        first, third = [
            await export(session, id, format="png", scale=0.1, page=number) for number in (1, 3)
        ]
        assert first != third == await export(session, id, format="png", scale=0.1, page=3)
        # A page is replaced alone, and a page in no design is refused.
        await call(session, "apply_template", **end, page=1, data={"title": "Again"})
        found = await call(session, "get_design", designId=id)
        assert {one.get("page", 1) for one in found["elements"]} == {1, 2, 3}
        assert "m" in {one["id"] for one in found["elements"]}
        lone = await session.call_tool(
            "apply_template", {"templateId": "slide-title", "page": 2, "useSamples": True}
        )
        assert lone.is_error and "designId" in str(lone.content)

        saved = {"format": "png", "scale": 0.1, "saveTo": "new/folder/deck.png"}
        await call(session, "export_design", designId=id, **saved)
        assert (tmp_path / "out" / "new" / "folder" / "deck.png").exists()

    tell(tmp_path / "designs", story, "--folder", str(tmp_path / "out"))


def test_columns_are_aligned_and_banners_are_filled(tmp_path: Path) -> None:
    async def story(session: ClientSession) -> None:
        invoice = await call(session, "apply_template", templateId="invoice")
        data = await export(session, invoice["designId"], format="pptx")
        tables = [one for one in Presentation(io.BytesIO(data)).slides[0].shapes if one.has_table]
        cell = tables[0].table.cell(1, 3)
        assert str(cell.text_frame.paragraphs[0].alignment).startswith("RIGHT")

        sale = await call(session, "apply_template", templateId="instagram-sale")
        id = sale["designId"]
        told = await call(
            session, "resize_canvas", designId=id, width=1920, height=480, mode="smart"
        )
        assert told["warnings"] == []
        found = await call(session, "get_design", designId=id)
        texts = [one for one in found["elements"] if one["type"] == "text"]
        right = max(one["x"] + one["width"] for one in texts)
        assert right - min(one["x"] for one in texts) > 1920 * 0.55

    tell(tmp_path, story)
