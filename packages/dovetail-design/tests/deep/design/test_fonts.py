"""The fonts of exported files and characters without a font, as the official client sees them."""

from __future__ import annotations

import asyncio
import base64
import io
import os
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]  # it ships without types
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.deep.design.driving import command, text
from tests.patience import CAP

WORDS = "A well-known TV-show, 12-34 -> 8 pm"


async def call(session: ClientSession, tool: str, **given: Any) -> dict[str, Any]:
    told = await session.call_tool(tool, given)
    assert not told.is_error, told.content
    assert told.structured_content is not None
    return dict(told.structured_content)


async def export(session: ClientSession, id: str, **given: Any) -> tuple[dict[str, Any], bytes]:
    told = await call(session, "export_design", designId=id, **given)
    [content] = (await session.read_resource(told["file"]["uri"])).contents
    data = getattr(content, "blob", None)
    if data is not None:
        return told, base64.b64decode(data)
    return told, getattr(content, "text", "").encode()


def test_files_have_their_fonts_and_missing_characters_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine without system fonts.
    (tmp_path / "fonts.conf").write_text("<fontconfig/>")
    monkeypatch.setenv("FONTCONFIG_FILE", str(tmp_path / "fonts.conf"))
    words = command(tmp_path / "designs")
    server = StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))

    async def run() -> None:
        async with (
            asyncio.timeout(CAP),
            stdio_client(server) as (reader, writer),
            ClientSession(reader, writer) as session,
        ):
            await session.initialize()
            made = await call(session, "create_design", name="Fonts", width=800, height=400)
            id = made["designId"]
            elements = [
                text("a", WORDS, fontSize=24),
                text("b", WORDS, fontSize=24, y=150, fontFamily="Lobster"),
                text("c", "日本 हिन्दी 🎉", y=250, name="greeting"),
            ]
            added = await call(session, "add_element", designId=id, elements=elements)
            [lost] = [one for one in added["warnings"] if one["code"] == "missing-glyph"]
            assert lost["elementIds"] == ["c"] and "greeting" in lost["message"]
            for letter in ("日 (U+65E5)", "ह (U+0939)", "🎉 (U+1F389)"):
                assert letter in lost["message"]

            shown = {"elementIds": ["a", "b"]}
            told, data = await export(session, id, format="pdf", **shown)
            page = pypdfium2.PdfDocument(io.BytesIO(data))[0].get_textpage().get_text_range()
            assert "".join(page.split()) == 2 * "".join(WORDS.split())
            assert b"/Type3" not in data and b"/CIDFontType2" in data
            assert [one["code"] for one in told["warnings"]] == ["missing-glyph"]

            plain = {"elementIds": ["a"], "format": "svg"}
            await call(
                session, "update_element", designId=id, elementId="a", updates={"text": "Word-s"}
            )
            _, markup = await export(session, id, **plain)
            assert b"@font-face" in markup and b"<text" in markup
            _, markup = await export(session, id, outlines=True, **plain)
            assert b"@font-face" not in markup and b"<text" not in markup

    asyncio.run(run())
