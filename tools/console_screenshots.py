"""Draw the pictures of the console in docs/images: light and dark, wide and narrow.

    python -m tools.console_screenshots

It starts the ready servers on a free port, and uses the console as a person does.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
# Bytes of one picture, so that a page of the documentation loads quickly.
MAX_BYTES = 150_000
SIZES = {1440: 900, 360: 740}
_TIMEOUT = 120_000
_URL = re.compile(r"serving (http://[^/]+)/\S*;")


@contextlib.contextmanager
def _serve(folder: Path) -> Iterator[str]:
    """The ready servers; the address of their console."""
    words = ["serve", "all", "--vault", f"sample={ROOT / 'examples' / 'vault'}", "--read-only"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dovetail", *words, "--db", str(folder / "graph.db"), "--http", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder)},
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            found = _URL.search(line)
            if found:
                yield f"{found[1]}/console/"
                return
        raise SystemExit("the servers did not start")
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


def _draw(page: Page, url: str, name: str) -> None:
    def shoot(view: str) -> None:
        page.wait_for_timeout(300)
        file = IMAGES / f"console-{view}-{name}.png"
        _reduce(page.screenshot(), file)
        print(f"{file.relative_to(ROOT)} {file.stat().st_size / 1000:.0f} kB")
        assert file.stat().st_size < MAX_BYTES, file

    page.goto(url)
    page.locator(".status.ready").nth(2).wait_for()
    shoot("start")
    page.goto(f"{url}#/vault/tools/search-by-title")
    page.locator("article[data-tool]").wait_for()
    page.locator('[data-path="/query"] input, [data-path="/query"] textarea').first.fill("tomato")
    page.locator(".call-form button.primary").click()
    page.locator("section.call .result").wait_for()
    shoot("tools")
    page.goto(f"{url}#/vault/traffic")
    page.locator(".frames li button").nth(3).click()
    shoot("traffic")
    page.goto(f"{url}#/vault/check")
    page.locator(".toolbar select").first.select_option(index=1)
    page.get_by_role("button", name="Run the check").click()
    page.locator(".rules li").first.wait_for()
    shoot("check")


def _reduce(png: bytes, file: Path) -> None:
    """Write the picture with a palette: text on few colours needs a quarter of the bytes."""
    width, height, pixels = _read_pixels(png)
    counts: dict[bytes, int] = {}
    for start in range(0, len(pixels), 3):
        # The most frequent colours are kept; the others are shades at the edges of letters.
        color = pixels[start : start + 3]
        counts[color] = counts.get(color, 0) + 1
    palette = sorted(counts, key=lambda color: -counts[color])[:256]
    index = {color: number for number, color in enumerate(palette)}
    for color in counts:
        if color not in index:
            index[color] = min(
                range(len(palette)),
                key=lambda n: sum((a - b) ** 2 for a, b in zip(palette[n], color, strict=True)),
            )
    rows = bytearray()
    for line in range(height):
        rows.append(0)
        begin = line * width * 3
        rows.extend(index[pixels[at : at + 3]] for at in range(begin, begin + width * 3, 3))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", b"".join(palette)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _read_pixels(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and RGB bytes of a screenshot of Chromium (8 bits, RGB or RGBA)."""
    at, data, header = 8, b"", (0, 0, 0, 0)
    while at < len(png):
        (length,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    width, height, _, color = header
    size = 4 if color == 6 else 3
    raw, stride = zlib.decompress(data), width * size
    previous, rows = bytearray(stride), bytearray()
    for line in range(height):
        begin = line * (stride + 1)
        row = bytearray(raw[begin + 1 : begin + 1 + stride])
        _unfilter(raw[begin], row, previous, size)
        previous = row
        rows.extend(row if size == 3 else b"".join(row[n : n + 3] for n in range(0, stride, 4)))
    return width, height, bytes(rows)


def _unfilter(kind: int, row: bytearray, above: bytearray, size: int) -> None:
    """Undo the filter of one line (PNG specification, section 9)."""
    for n in range(len(row)):
        left = row[n - size] if n >= size else 0
        corner = above[n - size] if n >= size else 0
        if kind == 1:
            add = left
        elif kind == 2:
            add = above[n]
        elif kind == 3:
            add = (left + above[n]) // 2
        elif kind == 4:
            guess = left + above[n] - corner
            add = min((left, above[n], corner), key=lambda value: abs(guess - value))
        else:
            return
        row[n] = (row[n] + add) & 255


def main() -> None:
    """Draw every picture."""
    program = os.environ.get("CHROME_PATH") or shutil.which("chromium")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        _serve(Path(folder)) as url,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        schemes: tuple[Any, ...] = ("light", "dark")
        for scheme in schemes:
            for width, height in SIZES.items():
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                context.set_default_timeout(_TIMEOUT)
                _draw(context.new_page(), url, f"{scheme}-{width}")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
