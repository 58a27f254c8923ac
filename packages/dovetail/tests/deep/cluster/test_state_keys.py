"""State keys in a cluster: any process opens a state, and Redis never has a key."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis_py

from dovetail import Client
from dovetail.runtime.key_files import KEYS_FILE
from tests.cluster.in_process import serving_cluster
from tests.cluster.shop import STATE_KEY, make_shop
from tests.unit.fakes import drive

OTHER_KEY = bytes(range(64, 96))


def test_a_key_from_a_file_opens_states_in_all_processes_and_is_not_in_redis(
    cluster_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.keys"
    file.write_text(f"{OTHER_KEY.hex()}\n{STATE_KEY.hex()}\n")
    monkeypatch.setenv(KEYS_FILE, os.fspath(file))

    async def run() -> None:
        async with serving_cluster(make_shop, cluster_url) as cluster:
            # The questions and the answers of a call reach the two processes in turns.
            turns = iter(range(10_000))
            cluster.balancer.choose = lambda _: next(turns) % 2
            async with Client(
                cluster.url, mode="modern", elicit=lambda request: {"amount": 3}
            ) as client:
                assert (await client.call("order")).text == "3 ordered"
            dumped = await dump(cluster_url)
        assert b"used" in dumped
        for key in (OTHER_KEY, STATE_KEY):
            for text in (key, key.hex().encode(), base64.b64encode(key)):
                assert text not in dumped

    drive(run())


async def dump(url: str) -> bytes:
    """All keys and values in Redis."""
    client: Any = redis_py.from_url(url.partition("?")[0])
    try:
        # Compressed values would hide what is in them.
        await client.config_set("rdbcompression", "no")
        names = await client.keys("*")
        return b"".join([name + (await client.dump(name) or b"") for name in names])
    finally:
        await client.aclose()
