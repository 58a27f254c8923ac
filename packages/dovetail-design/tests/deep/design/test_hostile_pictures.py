"""Damaged pictures of every kind, uploaded and drawn: each is stored or rejected with a reason.

100 files by default; HOSTILE_DOCUMENTS=10000 is the whole test.
"""

from __future__ import annotations

import base64
import io
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import PIL.Image
import pytest

from dovetail.client import Client
from tests.deep.design.driving import SharedStudio
from tests.deep.design.test_tools import create
from tests.driving import good

PDF = {"format": "pdf"}
FILES = int(os.environ.get("HOSTILE_DOCUMENTS", "100"))
# Pictures are decoded in workers, so the server itself stays small.
MOST_MB = 200
SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
viewBox="0 0 40 40"><defs><linearGradient id="a" gradientTransform="rotate(45)"><stop offset="0.5"
stop-color="#f97316" stop-opacity=".5"/></linearGradient><radialGradient id="b" xlink:href="#a"
fx="0.2"/><clipPath id="c"><circle cx="9" cy="9" r="7"/></clipPath></defs><g fill="url(#a)"
clip-path="url(#c)" transform="scale(2) skewX(9)"><path d="M0 0h9v-9q1 2 3 4t5 5a1 2 30 0 1 9 9z"
stroke-dasharray="1 2" stroke="red" stroke-width="2"/><polygon points="1,2 3,4 5,6"/>
<ellipse cx="5" cy="6" rx="7" ry="8" style="fill:url(#b);opacity:0.5"/></g></svg>"""
# What numbers and references in SVG are replaced with.
VALUES = (b"-1", b"0", b"1e38", b"-1e-38", b"nan", b"99999999999", b"url(#a)", b"#c", b"", b"%")


def picture(kind: str, mode: str = "RGB", **options: object) -> bytes:
    image = PIL.Image.radial_gradient("L").resize((60, 40)).convert(mode)
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


SEEDS: dict[str, list[bytes]] = {
    "png": [picture("PNG", "RGBA"), picture("PNG", "P"), picture("PNG", "I;16")],
    "jpeg": [picture("JPEG"), picture("JPEG", "CMYK", progressive=True)],
    "webp": [picture("WEBP", quality=50), picture("WEBP", "RGBA", lossless=True)],
    "gif": [picture("GIF", "P"), picture("GIF", "P", interlace=1)],
    "svg": [SVG],
}


def damage(seed: bytes, chance: random.Random) -> bytes:
    """Change, remove, repeat or cut some bytes, after the first ones, which tell the format."""
    data = bytearray(seed)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(8, max(9, len(data)))
        length = chance.choice((1, 2, 4, 16))
        match chance.randrange(5):
            case 0:
                data[at : at + length] = chance.randbytes(length)
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at : at + length] * chance.choice((1, 2, 50))
            case 3:
                data[at : at + length] = chance.choice((b"\xff", b"\0")) * length
            case 4 if chance.random() < 0.2:
                del data[at:]
    return bytes(data)


def damage_svg(seed: bytes, chance: random.Random) -> bytes:
    """Replace words of the markup, so that it stays well-formed more often."""
    words = seed.replace(b'"', b'"\0').split(b'"')
    for _ in range(chance.choice((1, 2, 5))):
        at = chance.randrange(1, len(words), 2)
        words[at] = b"\0" + chance.choice((*VALUES, *words[1::2])).strip(b"\0")
    return b'"'.join(words).replace(b"\0", b"")


def memory_of(directory: Path) -> int:
    """The most memory that the server of this directory has used, in MB."""
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if str(directory).encode() in words:
                status = (process / "status").read_text()
                return int(status.partition("VmHWM:")[2].split()[0]) // 1024
        except (OSError, IndexError):
            continue
    raise AssertionError("the server is gone")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStudio]:
    with SharedStudio.start(tmp_path_factory.mktemp("studio")) as started:
        yield started


@pytest.mark.parametrize("kind", SEEDS)
def test_damaged_pictures_are_stored_or_rejected(studio: SharedStudio, kind: str) -> None:
    chance = random.Random(kind)
    ways: list[Callable[[bytes, random.Random], bytes]] = [damage]
    if kind == "svg":
        ways.append(damage_svg)
    count = max(1, FILES // len(SEEDS))
    files = (chance.choice(ways)(chance.choice(SEEDS[kind]), chance) for _ in range(count))
    # In batches, because each story has a time limit.
    while batch := list(islice(files, 50)):
        studio.tell(partial(upload_and_draw, kind, batch))


async def upload_and_draw(kind: str, files: Sequence[bytes], client: Client) -> None:
    id = await create(client)
    image = {"type": "image", "id": "i", "x": 0, "y": 0, "width": 80, "height": 40}
    await good(client, "add_element", designId=id, element=image)
    for number, data in enumerate(files):
        src = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
        kept = await client.call("upload_asset", {"file": src, "name": "a"})
        # Elements may contain what upload_asset rejects.
        used = src if kept.is_error else kept.data["uri"]
        change = {"designId": id, "elementId": "i", "updates": {"src": used}}
        changed = await client.call("update_element", change)
        tool = "render_preview" if number % 2 else "export_design"
        drawn = await client.call(tool, {"designId": id, **({} if number % 2 else PDF)})
        for result in (kept, changed, drawn):
            assert "Internal error" not in result.text, data.hex()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_server_stays_small(studio: SharedStudio) -> None:
    studio.tell(partial(upload_and_draw, "png", SEEDS["png"]))
    assert memory_of(studio.directory) < MOST_MB
