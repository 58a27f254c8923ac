"""`dovetail run FILE:NAME` with factories and ASGI applications."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect

from dovetail.client import Client
from tests.driving import serving_http
from tests.patience import CAP, wait_until

SITE = """
import contextlib
import sys

from fastapi import FastAPI, Request, WebSocket

from dovetail import Server


def make() -> Server:
    @contextlib.asynccontextmanager
    async def lifespan(server):
        yield
        print("server closed", file=sys.stderr, flush=True)

    server = Server("shop", lifespan=lifespan)

    @server.tool
    async def price(item: str) -> int:
        return len(item)

    return server


@contextlib.asynccontextmanager
async def lifespan(api: FastAPI):
    if {fails}:
        raise LookupError("no database")
    yield {{"opened": "today"}}
    print("site closed", file=sys.stderr, flush=True)


app = FastAPI(lifespan=lifespan)
app.mount("/tools", make().http_app())


@app.get("/health")
async def health(request: Request) -> str:
    return request.state.opened


@app.websocket("/echo")
async def echo(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text(await socket.receive_text())
    await socket.close()


async def make_later():
    return make()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "site.py"
    path.write_text(SITE.format(fails=False), "utf-8")
    return path


def command(file: Path, *words: str, name: str = "app") -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", f"{file}:{name}", *words]


async def price(target: str | list[str], mode: str = "auto") -> int:
    async with Client(target, mode=mode, timeout=CAP) as client:
        data: int = (await client.call("price", {"item": "tea"})).data
        return data


@pytest.mark.parametrize("parser", ["httptools", "h11"])
def test_the_whole_application_is_served_over_http(file: Path, parser: str) -> None:
    async def run() -> None:
        async with serving_http(command(file, "--http=0", f"--http-parser={parser}")) as [url]:
            assert urlsplit(url).path == "/tools/mcp"
            for mode in ("2025-11-25", "2026-07-28"):
                assert await price(url, mode) == 3
            site = urlsplit(url).netloc
            async with httpx.AsyncClient(timeout=CAP) as plain:
                assert (await plain.get(f"http://{site}/health")).json() == "today"
            async with asyncio.timeout(CAP), connect(f"ws://{site}/echo") as socket:
                await socket.send("hello")
                assert await socket.recv() == "hello"

    asyncio.run(run())


def test_both_lifespans_end_with_the_process(file: Path) -> None:
    log = file.parent / "said.txt"
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            command(file, "--http=0"), stderr=stderr, stdin=subprocess.DEVNULL
        ) as process,
    ):
        wait_until(lambda: "Client configuration" in log.read_text("utf-8"))
        url = log.read_text("utf-8").partition("serving ")[2].partition(";")[0]
        assert asyncio.run(price(url)) == 3
        process.terminate()
        assert process.wait(CAP) == 0
    assert log.read_text("utf-8").splitlines()[-2:] == ["site closed", "server closed"]


def test_the_server_inside_is_served_over_stdio(file: Path) -> None:
    for mode in ("2025-11-25", "2026-07-28"):
        assert asyncio.run(price(command(file), mode)) == 3


def test_factories_work_with_workers_and_commands(file: Path) -> None:
    async def run() -> None:
        words = command(file, "--http=0", "--workers=2", "--stateless", name="make_later")
        async with serving_http(words) as [url]:
            assert await price(url) == 3

    asyncio.run(run())
    for name in ("app", "make_later"):
        called = subprocess.run(
            [sys.executable, "-m", "dovetail", "call", f"{file}:{name}", "price", "item=tea"],
            capture_output=True,
            text=True,
            timeout=CAP,
            check=True,
        )
        assert called.stdout == "3\n"


@pytest.mark.parametrize(
    ("fails", "words", "code", "said"),
    [
        (True, ["--http=0"], 4, "The lifespan of the ASGI application failed to start"),
        (
            False,
            ["--http=0", "--path=/x", "--stateless", "--rate=1/s"],
            2,
            "is an ASGI application, to which --path, --stateless, --rate cannot be applied",
        ),
    ],
)
def test_an_application_that_cannot_be_served_is_reported(
    file: Path, fails: bool, words: list[str], code: int, said: str
) -> None:
    file.write_text(SITE.format(fails=fails), "utf-8")
    done = subprocess.run(
        command(file, *words), capture_output=True, text=True, timeout=CAP, check=False
    )
    assert done.returncode == code
    assert said in done.stderr
    assert ("LookupError: no database" in done.stderr) == fails
