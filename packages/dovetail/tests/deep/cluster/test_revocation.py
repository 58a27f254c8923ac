"""API keys that are revoked on one machine and used on another, which has a file of its own."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail import Client, Options, Server
from dovetail.auth import ApiKeys, Guard, KeyFile
from dovetail.cli.app import app
from dovetail.errors import TransportError
from dovetail.runtime.state import open_state
from tests.cluster.in_process import serving_cluster
from tests.cluster.redis_server import RedisServer
from tests.cluster.shop import STATE_KEY
from tests.unit.fakes import drive


async def revoke(file: Path, id: str, url: str, *more: str) -> Result:
    """Run the command with the URL in the environment, where other users do not see it."""
    words = ["keys", "revoke", id, "--file", str(file), *more]
    runner = CliRunner(env={"DOVETAIL_CLUSTER": url})
    return await asyncio.to_thread(runner.invoke, app, words, obj=[])


def test_a_key_revoked_on_one_machine_is_refused_on_all(cluster_url: str, tmp_path: Path) -> None:
    files = [tmp_path / "one.json", tmp_path / "other.json"]
    record, key = KeyFile(files[0]).add("anna")
    _, other_key = KeyFile(files[0]).add("bert")
    shutil.copy(*files)
    waiting = iter(files)

    def make_server(url: str) -> Server:
        # Files are not read again, so what the server learns comes from the cluster.
        guard = Guard(ApiKeys(next(waiting), look_every=1e9))
        return Server("shop", options=Options(state=url, state_keys=[STATE_KEY]), guard=guard)

    async def connect(url: str, key: str) -> None:
        async with Client(url, headers={"authorization": f"Bearer {key}"}) as client:
            assert client.server_info

    async def run() -> None:
        async with serving_cluster(make_server, cluster_url) as cluster:
            for url in cluster.urls:
                await connect(url, key)
            result = await revoke(files[0], record.id, cluster_url, "--server", "shop")
            assert result.exit_code == 0, result.output
            assert result.output == f"Key {record.id} (anna) is revoked.\n"
            for url in cluster.urls:
                with pytest.raises(TransportError, match="401"):
                    while True:
                        await connect(url, key)
                await connect(url, other_key)

    drive(run())


@pytest.mark.parametrize(
    ("url", "more", "code", "message"),
    [
        ("redis://127.0.0.1:1/0?name=a", "", 2, "add --server NAME"),
        ("redis://127.0.0.1:1/0", "--server=shop", 1, "but not in the cluster: The shared store"),
        ("http://127.0.0.1", "--server=shop", 2, "expected a Backend, redis://HOST:PORT/DATABASE"),
    ],
)
def test_what_went_wrong_is_told(
    tmp_path: Path, url: str, more: str, code: int, message: str
) -> None:
    file = tmp_path / "keys.json"
    record, _ = KeyFile(file).add("anna")
    result = drive(revoke(file, record.id, url, *more.split()))
    assert (result.exit_code, message in result.output) == (code, True), result.output
    # After wrong usage nothing is done; otherwise the command can be repeated.
    assert (KeyFile(file).read()[0].revoked is None) == (code == 2)


def test_a_key_is_revoked_for_one_server(redis_server: RedisServer, tmp_path: Path) -> None:
    async def run() -> None:
        record, _ = KeyFile(tmp_path / "keys.json").add("anna")
        result = await revoke(tmp_path / "keys.json", record.id, redis_server.url, "--server", "Öl")
        assert result.exit_code == 0, result.output
        state = open_state(redis_server.url, "Öl")
        async with state.opened():
            assert record.id in state.revocations

    drive(run())
