"""Files and pictures: exports, previews, descriptions, uploads."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from dovetail.client import Client
from dovetail.errors import RpcError
from tests.deep.design.driving import SharedStudio, box, over_stdio, text
from tests.deep.design.test_tools import create, tell
from tests.driving import good, refused
from tests.patience import CAP

FORMATS = {
    "png": ("image/png", b"\x89PNG"),
    "jpg": ("image/jpeg", b"\xff\xd8\xff"),
    "jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    "webp": ("image/webp", b"RIFF"),
    "pdf": ("application/pdf", b"%PDF"),
    "svg": ("image/svg+xml", b"<svg"),
    "pptx": (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        b"PK",
    ),
    "json": ("application/json", b"{"),
}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStudio]:
    with SharedStudio.start(tmp_path_factory.mktemp("studio")) as started:
        yield started


async def fill(client: Client) -> str:
    id = await create(client, background="#f4f4f4")
    elements = [box("a", 100, 300), text("t", "Hello")]
    await good(client, "add_element", designId=id, elements=elements)
    return id


async def read(client: Client, uri: str) -> bytes:
    content: Any = (await client.read(uri)).contents[0]
    blob = getattr(content, "blob", None)
    return content.text.encode() if blob is None else base64.b64decode(blob)


def picture(data: bytes) -> PIL.Image.Image:
    return PIL.Image.open(io.BytesIO(data))


def test_each_format_is_a_file_that_is_linked_and_saved(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    async def story(client: Client) -> None:
        id = await fill(client)
        for format, (mime, head) in FORMATS.items():
            name = f"file.{format}"
            given = {"designId": id, "format": format, "saveTo": name}
            result = await client.call("export_design", given)
            assert not result.is_error, result.text
            kinds = [type(block).__name__ for block in result.content]
            assert kinds == ["TextContent", "ResourceLink", "ImageContent"]
            # A link and a small preview, whatever the file is.
            assert len(json.dumps([str(block) for block in result.content])) < 30_000
            file = result.data["file"]
            assert (file["mimeType"], file["savedTo"]) == (mime, name)
            data = await read(client, file["uri"])
            assert head in data[:60] and len(data) == file["size"]
            assert (folder / name).read_bytes() == data
        assert zipfile.is_zipfile(folder / "file.pptx")
        assert json.loads((folder / "file.json").read_text())["elements"][1]["text"] == "Hello"

    tell(tmp_path / "d", story, "--folder", str(folder))


def test_scale_transparency_and_a_choice_of_elements(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await fill(client)

        async def draw(**how: Any) -> PIL.Image.Image:
            made = await good(client, "export_design", designId=id, **how)
            return picture(await read(client, made["file"]["uri"]))

        assert (await draw()).size == (800, 600)
        assert (await draw(scale=0.5)).size == (400, 300)
        clear = await draw(transparent=True, elementIds=["a"])
        assert clear.convert("RGBA").getpixel((5, 5)) == (0, 0, 0, 0)
        assert clear.convert("RGBA").getpixel((150, 350)) == (0x33, 0x66, 0xCC, 255)
        # The text was not asked for.
        assert clear.convert("RGBA").crop((50, 50, 750, 130)).getchannel("A").getextrema() == (0, 0)
        assert "no element" in await refused(
            client, "export_design", designId=id, elementIds=["nobody"]
        )

    studio.tell(story)


def test_the_same_version_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(CAP),
            over_stdio(tmp_path) as one,
            over_stdio(tmp_path) as two,
        ):
            id = await fill(one)
            for format in ("png", "pdf", "svg", "pptx", "webp"):
                files = [
                    await read(client, made["file"]["uri"])
                    for client in (one, two)
                    for made in [await good(client, "export_design", designId=id, format=format)]
                ]
                assert files[0] == files[1], format

    asyncio.run(run())


def test_fonts_that_are_not_there_are_told(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        words = text("t", "Hello", fontFamily="Papyrus")
        added = await good(client, "add_element", designId=id, element=words)
        assert "missing-font" in [one["code"] for one in added["warnings"]]
        made = await good(client, "export_design", designId=id)
        assert list(made["substitutedFonts"]) == ["Papyrus"]

    studio.tell(story)


def test_a_preview_is_small_and_labelled(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await fill(client)
        plain = await client.call("render_preview", {"designId": id, "maxWidth": 200})
        image: Any = plain.content[1]
        assert picture(base64.b64decode(image.data)).size == (200, 150)
        assert (plain.data["width"], plain.data["scale"]) == (200, 0.25)
        marked = await client.call("render_preview", {"designId": id, "labels": True, "grid": True})
        assert marked.data["labels"] == {"1": "a", "2": "t"}
        other: Any = marked.content[1]
        assert other.data != image.data
        # Noise is the worst there is to compress: still within the bound.
        noise = await good(client, "create_design", name="N", width=1200, height=1200)
        stripes = [
            {
                "type": "rectangle",
                "x": (number * 131) % 1170,
                "y": (number * 377) % 1170,
                "width": 30,
                "height": 30,
                "rotation": number * 7 % 360,
                "fill": f"linear-gradient({number % 360}deg, hsl({number * 37 % 360}, 90%, 50%), "
                f"hsl({number * 91 % 360}, 90%, 50%))",
            }
            for number in range(800)
        ]
        await good(client, "add_element", designId=noise["designId"], elements=stripes)
        big = await client.call("render_preview", {"designId": noise["designId"], "maxWidth": 1200})
        worst: Any = big.content[1]
        assert len(base64.b64decode(worst.data)) == big.data["size"] < 60_000

    studio.tell(story)


def test_a_description_names_elements_and_faults(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        faults = [
            text("pale", "Can you read this?", fill="#fefefe"),
            text("long", "far too many words " * 20, y=300, height=40),
            box("gone", 900, 590),
            text("field", "Hi {{name}}", y=500),
        ]
        added = await good(client, "add_element", designId=id, elements=faults)
        wanted = {
            ("low-contrast", "pale"),
            ("text-overflow", "long"),
            ("off-canvas", "gone"),
            ("unfilled-field", "field"),
        }
        found = {(one["code"], name) for one in added["warnings"] for name in one["elementIds"]}
        assert wanted <= found
        described = await good(client, "describe_design", designId=id)
        assert all(name in described["text"] for name in ("pale", "long", "gone", "field"))
        told = {(one["code"], name) for one in described["findings"] for name in one["elementIds"]}
        assert wanted <= told
        part = await good(
            client,
            "describe_design",
            designId=id,
            region={"x": 0, "y": 0, "width": 800, "height": 150},
        )
        assert {one["code"] for one in part["findings"]} == {"low-contrast"}
        assert "gone" not in part["text"]

    studio.tell(story)


def test_an_uploaded_picture_is_kept_and_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    PIL.Image.new("RGB", (40, 20), "#ff0000").save(folder / "red.png")
    red = base64.b64encode((folder / "red.png").read_bytes()).decode()
    svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><path d='M0 0H9V9Z'/></svg>"

    async def story(client: Client) -> None:
        made = await good(client, "upload_asset", file="red.png", name="Red", type="IMAGE")
        assert (made["width"], made["height"], made["mimeType"]) == (40, 20, "image/png")
        again = await good(
            client,
            "upload_asset",
            file=f"data:image/png;base64,{red}",
            name="Red again",
            type="IMAGE",
        )
        drawing = await good(
            client, "upload_asset", file=f"data:image/svg+xml,{svg}", name="Tri", type="IMAGE"
        )
        listed = await good(client, "list_assets", type="IMAGE", limit=2)
        assert [one["id"] for one in listed["assets"]] == [drawing["id"], again["id"]]
        assert listed["total"] == 3 and listed["hasMore"]
        assert (await good(client, "list_assets", type="FONT"))["total"] == 0
        assert (await read(client, made["uri"])) == (folder / "red.png").read_bytes()
        id = await create(client)
        for src in (made["uri"], again["id"]):
            image = {"type": "image", "x": 0, "y": 0, "width": 80, "height": 40, "src": src}
            await good(client, "add_element", designId=id, element=image)
            exported = await good(client, "export_design", designId=id)
            drawn = picture(await read(client, exported["file"]["uri"])).convert("RGB")
            assert drawn.getpixel((40, 20)) == (255, 0, 0)
            await good(client, "clear_canvas", designId=id)
        # A picture that is nowhere is told, and nothing is fetched.
        wrong = {"type": "image", "x": 0, "y": 0, "width": 80, "height": 40}
        added = await good(
            client,
            "add_element",
            designId=id,
            element={**wrong, "src": "https://example.org/a.png"},
        )
        assert [one["code"] for one in added["warnings"]] == ["missing-picture"]

    tell(tmp_path / "d", story, "--folder", str(folder))
    # The same content is on the disk once.
    blobs = [path for path in (tmp_path / "d" / "blobs").rglob("*") if path.is_file()]
    assert (
        sum(path.read_bytes()[:4] == b"\x89PNG" and path.stat().st_size < 200 for path in blobs)
        == 1
    )


def test_what_is_erased_leaves_no_file(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        ids = [await fill(client), await fill(client)]
        files = [(await good(client, "export_design", designId=id))["file"]["uri"] for id in ids]
        await good(client, "delete_design", designId=ids[0], permanent=True)
        with pytest.raises(RpcError, match="not found"):
            await client.read(files[0])
        # The other design's file has the same content and is still there.
        assert await read(client, files[1])
        await good(client, "delete_design", designId=ids[1], permanent=True)

    tell(tmp_path, story)
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


def test_many_calls_at_once_do_not_disturb_each_other(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        ids = [await fill(client), await fill(client)]
        asked: list[tuple[str, dict[str, Any]]] = [
            ("render_preview", {}),
            ("export_design", {"format": "png"}),
            ("export_design", {"format": "pdf"}),
            ("describe_design", {}),
            ("update_element", {"elementId": "t", "updates": {"text": "Hello again"}}),
        ]
        calls = [
            good(client, tool, designId=id, **more)
            for _ in range(5)
            for tool, more in asked
            for id in ids
        ]
        done = await asyncio.gather(*calls)
        assert all(one["designId"] in ids for one in done)
        # The text was changed once in each; the same words again are no version.
        assert {one["version"] for one in done} <= {2, 3}

    studio.tell(story)
