"""Opens each page in one Chromium, in turns, every time with an empty cache."""

from __future__ import annotations

import contextlib
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from qa.bench.console.startup import StartFigures, measure_starts
from qa.bench.environments import python_of
from qa.bench.listening import free_port, listening
from qa.bench.npm_packages import NpmHome

__all__ = ["INSPECTOR", "ConsoleFigures", "PageFigures", "measure_console"]

_HERE = Path(__file__).parent
_PATIENCE = 60.0
_NAME = "@modelcontextprotocol/inspector"
INSPECTOR = NpmHome("console", _HERE / "package.json")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# A milestone of the page; the browser reports it some time after it has happened.
_FIRST_PAINT = """() => new Promise((done) => {
  const look = () => {
    const [found] = performance.getEntriesByName("first-contentful-paint");
    found ? done(found.startTime) : setTimeout(look, 10);
  };
  look();
})"""


class PageFigures(NamedTuple):
    """Milliseconds from the navigation, medians, and bytes that the page has loaded."""

    paint: float
    # Until all tools are on the page; None where the page waits for a click first.
    listed: float | None
    size: int


class ConsoleFigures(NamedTuple):
    """The pages by name, and the starts of a server by option."""

    pages: dict[str, PageFigures]
    starts: dict[str, StartFigures]


def measure_console(rounds: int) -> ConsoleFigures:
    """Our page and the Inspector's, and what the console costs a server at its start."""
    return ConsoleFigures(_measure_pages(rounds), measure_starts(rounds))


def _measure_pages(rounds: int) -> dict[str, PageFigures]:
    """The pages for the same server with 1,000 tools."""
    INSPECTOR.prepare()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port, peer_port = free_port(), free_port()
        home = {"HOME": str(folder)}
        server = [str(python_of("bench-dovetail")), "-m", "dovetail", "run"]
        server += [str(_HERE / "many_tools.py"), "--http", f"127.0.0.1:{port}"]
        stack.enter_context(listening(server, port, home, folder / "server.log"))
        launcher = INSPECTOR.file(_NAME, "clients/launcher/build/index.js")
        command = [INSPECTOR.node, launcher, "--web", "--transport", "http"]
        command += ["--server-url", f"http://127.0.0.1:{port}/mcp"]
        settings = {**home, "CLIENT_PORT": str(peer_port), "MCP_AUTO_OPEN_ENABLED": "false"}
        output = folder / "inspector.log"
        stack.enter_context(listening(command, peer_port, settings, output))
        peer = _find_url(output)
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=_ARGUMENTS)
        stack.callback(browser.close)
        pages = {"dovetail": (f"http://127.0.0.1:{port}/", True), "Inspector": (peer, False)}
        found: dict[str, list[PageFigures]] = {name: [] for name in pages}
        # The first round is to warm up.
        for number in range(rounds + 1):
            for name, (url, lists) in pages.items():
                figures = _open(browser, url, lists)
                found[name] += [figures] if number else []
    return {name: _median(each) for name, each in found.items()}


def _open(browser: Browser, url: str, lists: bool) -> PageFigures:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.goto(url, wait_until="commit")
        listed = None
        if lists:
            page.wait_for_function(
                "() => document.body.innerText.replace(',', '').includes('1000 tools')",
                timeout=_PATIENCE * 1000,
            )
            listed = float(page.evaluate("performance.now()"))
        paint = float(page.evaluate(_FIRST_PAINT))
        page.wait_for_load_state("load")
        size = page.evaluate(
            "performance.getEntriesByType('resource').reduce((n, e) => n + e.transferSize, 0)"
        )
        return PageFigures(paint, listed, int(size))
    finally:
        context.close()


def _median(figures: Sequence[PageFigures]) -> PageFigures:
    listed = [each.listed for each in figures if each.listed is not None]
    return PageFigures(
        statistics.median(each.paint for each in figures),
        statistics.median(listed) if listed else None,
        figures[-1].size,
    )


def _find_url(said: Path) -> str:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        found = re.search(r"http://127\.0\.0\.1:\d+\?MCP_INSPECTOR_API_TOKEN=\w+", said.read_text())
        if found is not None:
            return found[0]
        time.sleep(0.05)
    raise TimeoutError(f"the Inspector printed no URL: {said.read_text()}")


if __name__ == "__main__":
    print(measure_console(int(sys.argv[1])))
