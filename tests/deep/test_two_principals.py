"""All ready servers on one port: while one principal attacks them, another's calls are answered.

Mallory opens sessions, floods every server with calls, writes notes that exhaust parsers, crashes
and blocks the design server's workers, and opens pages that end or block a browser. Anna works with
all servers meanwhile; each of her calls succeeds, and what she stored is there in the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from dovetail.auth.api_keys import KeyFile
from dovetail.client import Client
from tests.deep.browser.driving import allowing, data_of
from tests.deep.browser.web_site import WebSite, serving_site
from tests.deep.design.driving import text
from tests.driving import good, serving_http
from tests.patience import CAP
from tests.vault.hostile import BOMBS, SLOW

SERVERS = ("vault", "graph", "browser", "design")
# Calls that are sent at once.
FLOOD = 60
# Each costs a worker process, which takes a second to start.
CRASHES = 6
SESSIONS = 300
# Seconds between the calls of the other principal, to save processor time.
PAUSE = 0.2
BAD_PAGES = (
    "const huge = 'x'.repeat(2e7); console.log(huge); prompt('', huge)",
    "for (let i = 0; i < 2e3; i++) console.log(i, 'x'.repeat(5e4))",
    "while (true);",
)

Clients = Mapping[str, Client]


@dataclass
class Work:
    """What Anna has done with one server."""

    client: Client
    site: WebSite
    rounds: int = 0
    # Her browser session.
    handle: dict[str, str] = field(default_factory=dict)


# -- the attacker -------------------------------------------------------------------------------


async def flood(client: Client, tool: str, **arguments: Any) -> None:
    """Many calls at once; what they answer does not matter."""
    calls = (client.call(tool, arguments) for _ in range(FLOOD))
    await asyncio.gather(*calls, return_exceptions=True)


async def open_sessions(url: str, headers: dict[str, str]) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "mallory", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    accept = {"accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(headers={**headers, **accept}, timeout=CAP) as client:
        for _ in range(SESSIONS):
            await client.post(url, json=message)


async def attack_vault(client: Client, site: WebSite) -> None:
    for number, content in enumerate((*(bomb for bomb, _ in BOMBS.values()), *SLOW)):
        await client.call("write-note", {"path": f"{number}.md", "content": content})
    await client.call("write-note", {"path": "Long.md", "content": "x" * 1_500_000})
    await flood(client, "search-vault", query=".", mode="regex")
    await flood(client, "read-note", path="Long.md", view="full")


async def attack_graph(client: Client, site: WebSite) -> None:
    nested: Any = "x"
    for _ in range(200):
        nested = [nested]
    thing = {"name": "Deep", "entityType": "t", "observations": [], "metadata": {"a": nested}}
    await client.call("create_entities", {"entities": [thing]})
    many = [
        {"name": f"Thing {n}", "entityType": "t", "observations": ["y" * 500]} for n in range(400)
    ]
    await client.call("create_entities", {"entities": many})
    await flood(client, "read_graph")
    await flood(client, "search_nodes", query="thing y")


async def attack_browser(client: Client, site: WebSite) -> None:
    for script in BAD_PAGES:
        url = f"{site.url}/script?do={quote(script)}"
        arguments = {"url": url, "format": "text", "timeout": 3_000, "session": "new"}
        await client.call("fetch_webpage", arguments)


async def attack_design(client: Client, site: WebSite) -> None:
    crashing = (await good(client, "create_design", name="crash"))["designId"]
    for _ in range(CRASHES):
        failed = await client.call("render_preview", {"designId": crashing})
        assert failed.is_error and "crashed" in failed.text
    calm = (await good(client, "create_design", name="calm"))["designId"]
    await flood(client, "render_preview", designId=calm)


ATTACKS: dict[str, Callable[[Client, WebSite], Awaitable[None]]] = {
    "vault": attack_vault,
    "graph": attack_graph,
    "browser": attack_browser,
    "design": attack_design,
}


# -- the other principal ------------------------------------------------------------------------


async def use_vault(work: Work) -> None:
    path = f"anna/{work.rounds}.md"
    await good(work.client, "write-note", path=path, content=f"# Oak {work.rounds}\n")
    read = await work.client.call("read-note", {"path": path})
    assert not read.is_error and f"Oak {work.rounds}" in read.text, read.text


async def use_graph(work: Work) -> None:
    name = f"Oak {work.rounds}"
    tree = {"name": name, "entityType": "tree", "observations": ["old"]}
    await good(work.client, "create_entities", entities=[tree])
    assert name in str(await good(work.client, "open_nodes", names=[name]))


async def use_browser(work: Work) -> None:
    # The session has a cookie, which ends with it.
    path = "/whoami" if work.handle else "/whoami?set=anna"
    arguments = {"url": f"{work.site.url}{path}", "format": "text", **work.handle}
    result = await work.client.call("fetch_webpage", arguments)
    assert not result.is_error, result.text
    assert not work.handle or data_of(result)["content"] == "You are anna"
    work.handle = {"session": data_of(result)["session"]}


async def use_design(work: Work) -> None:
    name = f"Poster {work.rounds}"
    id = (await good(work.client, "create_design", name=name))["designId"]
    added = await good(work.client, "add_element", designId=id, element=text("t", "words"))
    assert all(warning["code"] != "not-checked" for warning in added["warnings"])
    await good(work.client, "render_preview", designId=id)


USES: dict[str, Callable[[Work], Awaitable[None]]] = {
    "vault": use_vault,
    "graph": use_graph,
    "browser": use_browser,
    "design": use_design,
}


# -- both ---------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def serving_all(folder: Path, site: WebSite) -> AsyncIterator[dict[str, str]]:
    """All ready servers in one process; their URLs by name."""
    (folder / "vault").mkdir()
    # The workers of the design server crash for designs of a certain name.
    start = "from tests.deep.design.crashing import main; main()"
    options = {
        "--vault": folder / "vault",
        "--index-dir": folder / "index",
        "--db": folder / "graph.db",
        "--dir": folder / "designs",
        "--keys": folder / "keys.json",
        "--embeddings": "off",
        "--settle": "0.5",
        "--http": "0",
    }
    words = [str(word) for pair in options.items() for word in pair]
    command = [sys.executable, "-c", start, "serve", "all", *words, *allowing(site)]
    async with serving_http(command, len(SERVERS)) as urls:
        yield {name: next(url for url in urls if f"/{name}/" in url) for name in SERVERS}


@contextlib.asynccontextmanager
async def connected(urls: Mapping[str, str], headers: dict[str, str]) -> AsyncIterator[Clients]:
    async with contextlib.AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(
                Client(url, headers=headers, mode="modern", timeout=CAP)
            )
            for name, url in urls.items()
        }


@pytest.mark.slow
def test_calls_are_answered_while_another_principal_attacks(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    anna, mallory = (
        {"authorization": f"Bearer {keys.add(name, scopes=['*'])[1]}"}
        for name in ("anna", "mallory")
    )
    done: dict[str, Work] = {}

    async def attack(name: str, url: str, client: Client, site: WebSite) -> None:
        await open_sessions(url, mallory)
        await ATTACKS[name](client, site)

    async def work(name: str, attacks: Sequence[asyncio.Task[None]]) -> None:
        """Use one server until all attacks are over, and once more."""
        is_over = False
        while not is_over:
            is_over = all(each.done() for each in attacks)
            await USES[name](done[name])
            done[name].rounds += 1
            await asyncio.sleep(PAUSE)

    async def run(site: WebSite) -> None:
        async with (
            asyncio.timeout(CAP),
            serving_all(tmp_path, site) as urls,
            connected(urls, anna) as hers,
            connected(urls, mallory) as his,
            asyncio.TaskGroup() as tasks,
        ):
            attacks = [
                tasks.create_task(attack(name, urls[name], his[name], site)) for name in SERVERS
            ]
            for name in SERVERS:
                done[name] = Work(hers[name], site)
                tasks.create_task(work(name, attacks))

    with serving_site() as site:
        asyncio.run(run(site))
    assert min(each.rounds for each in done.values()) >= 2
    notes = sorted((tmp_path / "vault" / "anna").iterdir(), key=lambda path: int(path.stem))
    assert [note.read_text() for note in notes] == [
        f"# Oak {number}\n" for number in range(done["vault"].rounds)
    ]
