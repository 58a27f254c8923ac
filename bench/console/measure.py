"""Opens each page in one Chromium, in turns, every time with an empty cache."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from bench.environments import ROOT, python_of
from bench.npm_packages import NpmHome
from bench.processes import surroundings

__all__ = ["INSPECTOR", "ConsoleFigures", "measure_console"]

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


class ConsoleFigures(NamedTuple):
    """Milliseconds from the navigation, medians, and bytes that the page has loaded."""

    paint: float
    # Until all tools are on the page; None where the page waits for a click first.
    listed: float | None
    size: int


def measure_console(rounds: int) -> dict[str, ConsoleFigures]:
    """Our page and the Inspector's, for the same server with 1,000 tools."""
    INSPECTOR.prepare()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        port, peer_port = _free_port(), _free_port()
        server = [str(python_of("bench-dovetail")), "-m", "dovetail", "run"]
        server += [str(_HERE / "many_tools.py"), "--http", f"127.0.0.1:{port}"]
        stack.enter_context(_running(server, port, {}, folder))
        launcher = INSPECTOR.file(_NAME, "clients/launcher/build/index.js")
        command = [INSPECTOR.node, launcher, "--web", "--transport", "http"]
        command += ["--server-url", f"http://127.0.0.1:{port}/mcp"]
        settings = {"CLIENT_PORT": str(peer_port), "MCP_AUTO_OPEN_ENABLED": "false"}
        said = stack.enter_context(_running(command, peer_port, settings, folder))
        peer = _find_url(said)
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=_ARGUMENTS)
        stack.callback(browser.close)
        pages = {"dovetail": (f"http://127.0.0.1:{port}/", True), "Inspector": (peer, False)}
        found: dict[str, list[ConsoleFigures]] = {name: [] for name in pages}
        # The first round is to warm up.
        for number in range(rounds + 1):
            for name, (url, lists) in pages.items():
                figures = _open(browser, url, lists)
                found[name] += [figures] if number else []
    return {name: _median(each) for name, each in found.items()}


def _open(browser: Browser, url: str, lists: bool) -> ConsoleFigures:
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
        return ConsoleFigures(paint, listed, int(size))
    finally:
        context.close()


def _median(figures: Sequence[ConsoleFigures]) -> ConsoleFigures:
    listed = [each.listed for each in figures if each.listed is not None]
    return ConsoleFigures(
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


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def _running(
    command: Sequence[str], port: int, settings: Mapping[str, str], folder: str
) -> Iterator[Path]:
    """A process that listens; the file with its output."""
    said = Path(folder) / f"{port}.log"
    with (
        said.open("wb") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=surroundings({**settings, "HOME": folder}),
            start_new_session=True,
        ) as process,
    ):
        try:
            deadline = time.monotonic() + _PATIENCE
            while process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.05)
            else:
                raise ConnectionError(f"{command!r} does not listen: {said.read_text()}")
            yield said
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)


if __name__ == "__main__":
    print(measure_console(int(sys.argv[1])))
