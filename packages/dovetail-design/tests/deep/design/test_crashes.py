"""Native code that fails costs the call that used it, never the server."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from dovetail.auth import KeyFile
from dovetail.client import Client
from tests.deep.design.crashing import WAIT
from tests.deep.design.driving import box, text
from tests.deep.design.test_tools import create, tell
from tests.driving import eventually, good, refused, serving_http
from tests.patience import CAP

# More than the 15 to 30 failed exports that ended a server.
EXPORTS = 60
CRASHES = 8
DAMAGED = {
    **{"type": "image", "id": "i", "x": 0, "y": 0, "width": 80, "height": 40},
    "src": "data:image/png;base64,AAAA",
}


def crashing(directory: Path, *options: str) -> list[str]:
    """The command line of a server whose workers fail for designs of certain names."""
    start = "from tests.deep.design.crashing import main; main()"
    return [sys.executable, "-c", start, "serve", "design", "--dir", str(directory), *options]


def test_pdf_exports_that_fail_do_not_crash(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        await good(client, "add_element", designId=id, element=DAMAGED)
        for _ in range(EXPORTS):
            said = await refused(client, "export_design", designId=id, format="pdf")
            assert "cannot be read" in said

    tell(tmp_path, story)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crash", "Rendering crashed (signal 11)"),
        ("memory", "Rendering needed more than 2048 MB of memory"),
    ],
)
def test_a_crash_is_told_and_changes_nothing(tmp_path: Path, name: str, reason: str) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), Client(crashing(tmp_path), timeout=CAP) as client:
            made = await good(client, "create_design", name=name)
            id = made["designId"]
            for tool in ("render_preview", "export_design"):
                said = await refused(client, tool, designId=id)
                assert f"{reason}; the design is unchanged" in said
            # The change is stored, so it succeeds and says that it was not checked.
            added = await good(client, "add_element", designId=id, element=box("a"))
            [warning] = added["warnings"]
            assert warning["code"] == "not-checked" and reason in warning["message"]
            assert added["version"] == 2
            await good(client, "update_design", designId=id, name="healed")
            await good(client, "render_preview", designId=id)

    asyncio.run(run())


def test_an_export_whose_preview_crashes_stores_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), Client(crashing(tmp_path), timeout=CAP) as client:
            made = await good(client, "create_design", name="crash in previews")
            said = await refused(client, "export_design", designId=made["designId"])
            assert "crashed" in said

    asyncio.run(run())
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


@contextlib.asynccontextmanager
async def two_principals(folder: Path) -> AsyncIterator[tuple[Client, Client]]:
    """Clients of one server with a key each."""
    keys = KeyFile(folder / "keys.json")
    words = crashing(folder / "d", "--http", "0", "--keys", str(folder / "keys.json"))
    tokens = [keys.add(name)[1] for name in ("ann", "bo")]

    def connect(url: str, key: str) -> Client:
        return Client(url, timeout=CAP, headers={"authorization": f"Bearer {key}"})

    async with (
        asyncio.timeout(CAP),
        serving_http(words) as [url],
        connect(url, tokens[0]) as one,
        connect(url, tokens[1]) as two,
    ):
        yield one, two


def test_crashes_of_one_principal_do_not_reach_another(tmp_path: Path) -> None:
    async def crash(client: Client) -> None:
        id = (await good(client, "create_design", name="crash"))["designId"]
        for _ in range(CRASHES):
            said = await refused(client, "render_preview", designId=id)
            assert "crashed" in said

    async def work(client: Client, attack: asyncio.Task[None]) -> None:
        id = (await good(client, "create_design", name="Poster"))["designId"]
        number = 0
        while not attack.done() or number < CRASHES:
            element = text(f"t{number}", "words", y=number % 20 * 50)
            added = await good(client, "add_element", designId=id, element=element)
            assert all(one["code"] != "not-checked" for one in added["warnings"])
            await good(client, "render_preview", designId=id)
            number += 1

    async def run() -> None:
        async with two_principals(tmp_path) as (one, two):
            attack = asyncio.create_task(crash(one))
            await work(two, attack)
            await attack

    asyncio.run(run())


def test_a_principal_that_fills_the_workers_does_not_delay_another(tmp_path: Path) -> None:
    permits = tmp_path / "permits"
    permits.mkdir()
    # More calls than the server has threads.
    flood = 40
    finished: list[str] = []

    async def render(client: Client, id: str, name: str) -> None:
        await client.call("render_preview", {"designId": id})
        finished.append(name)

    async def is_next_done(before: int) -> bool:
        await asyncio.sleep(0.01)
        return len(finished) > before

    async def run() -> None:
        async with two_principals(tmp_path) as (ann, bo):
            slow = (await good(ann, "create_design", name=f"{WAIT}{permits}"))["designId"]
            quick = (await good(bo, "create_design", name="Poster"))["designId"]
            calls = [asyncio.create_task(render(ann, slow, "ann")) for _ in range(flood)]
            await good(bo, "list_designs")
            calls.append(asyncio.create_task(render(bo, quick, "bo")))
            # What needs no worker is answered while no other call is done.
            for _ in range(5):
                await good(bo, "list_designs")
            assert finished == []
            for number in range(flood):
                (permits / str(number)).touch()
                await eventually(partial(is_next_done, len(finished)))
            await asyncio.gather(*calls)

    asyncio.run(run())
    assert finished.index("bo") < flood / 4
