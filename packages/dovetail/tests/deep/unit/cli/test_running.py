"""`server.run()` at the end of a file, and the guard of a server in every way of serving."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from dovetail import Client
from dovetail.auth.api_keys import KeyFile
from dovetail.errors import TransportError
from tests.driving import serving_http
from tests.patience import CAP

FILE = """
from dovetail import Server
from dovetail.auth import ApiKeys, Guard

server = Server("weather", guard=Guard(ApiKeys({keys!r})) if {guarded} else None)

@server.tool
async def forecast(city: str) -> str:
    return f"sunny in {{city}}"

if __name__ == "__main__":
    server.run({options})
"""


def write_file(folder: Path, *, options: str = "", guarded: bool = False) -> tuple[str, str]:
    keys = KeyFile(folder / "keys.json")
    _, key = keys.add("ada")
    file = folder / "weather.py"
    file.write_text(FILE.format(keys=str(keys.path), guarded=guarded, options=options), "utf-8")
    return str(file), key


async def forecast(client: Client) -> str:
    async with client:
        return (await client.call("forecast", {"city": "Bonn"})).text


def test_a_file_serves_itself_over_stdio(tmp_path: Path) -> None:
    file, _ = write_file(tmp_path)
    client = Client([sys.executable, file], timeout=CAP)
    assert asyncio.run(forecast(client)) == "sunny in Bonn"


@pytest.mark.parametrize(
    "options",
    [
        "http=0, path='/weather'",
        "http=0, path='/weather', console=True",
        "transport='http', host='127.0.0.1', port=0, path='/weather'",
    ],
)
def test_a_file_serves_itself_over_http(tmp_path: Path, options: str) -> None:
    file, _ = write_file(tmp_path, options=options)

    async def run() -> str:
        async with serving_http([sys.executable, file]) as [url]:
            assert url.endswith("/weather")
            return await forecast(Client(url, timeout=CAP))

    assert asyncio.run(run()) == "sunny in Bonn"


@pytest.mark.parametrize("way", ["python", "dovetail run", "dovetail run --workers"])
def test_the_guard_of_a_server_is_honoured_over_http(tmp_path: Path, way: str) -> None:
    file, key = write_file(tmp_path, options="http=0", guarded=True)
    words = {
        "python": [sys.executable, file],
        "dovetail run": [sys.executable, "-m", "dovetail", "run", file, "--http", "0"],
    }.get(way) or [
        *(sys.executable, "-m", "dovetail", "run", file, "--http", "0"),
        *("--workers", "2", "--stateless"),
    ]

    async def run() -> str:
        async with serving_http(words) as [url]:
            with pytest.raises(TransportError, match="401"):
                await forecast(Client(url, timeout=CAP))
            headers = {"Authorization": f"Bearer {key}"}
            return await forecast(Client(url, headers=headers, timeout=CAP))

    assert asyncio.run(run()) == "sunny in Bonn"


@pytest.mark.parametrize("words", [[], ["-m", "dovetail", "run"]])
def test_the_guard_of_a_server_is_honoured_over_stdio(tmp_path: Path, words: list[str]) -> None:
    file, key = write_file(tmp_path, guarded=True)
    command = [sys.executable, *words, file]
    wrong = {"DOVETAIL_API_KEY": f"{key}x"}
    with pytest.raises(TransportError):
        asyncio.run(forecast(Client(command, env=wrong, timeout=CAP)))
    client = Client(command, env={"DOVETAIL_API_KEY": key}, timeout=CAP)
    assert asyncio.run(forecast(client)) == "sunny in Bonn"
