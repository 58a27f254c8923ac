"""Many processes with one expired token make one refresh request."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from dovetail.client.auth import FileStore, login
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.auth.authority import fake_authority, make_auth

# All processes start before the token expires, so there are fewer of them by default.
PROCESSES = int(os.environ.get("DURABILITY_RUNS", "6"))
_SCRIPT = Path(__file__).with_name("refresher.py")


def test_many_processes_make_one_refresh_request(tmp_path: Path) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            await login(fake.url, make_auth(store=FileStore(tmp_path)))
            processes = [
                await asyncio.create_subprocess_exec(
                    sys.executable,
                    str(_SCRIPT),
                    fake.url,
                    str(tmp_path),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                )
                for _ in range(PROCESSES)
            ]
            # Each has connected with the first token.
            while fake.count("/mcp") < 1 + PROCESSES:
                await asyncio.sleep(0.01)
            fake.tokens.clear()
            outputs = await asyncio.gather(*(one.communicate(b"\n") for one in processes))
            assert [output for output, _ in outputs] == [b"done"] * PROCESSES
            assert len(fake.forms("refresh_token")) == 1
            assert fake.count("/authorize") == 1

    async def limited() -> None:
        async with asyncio.timeout(CAP):
            await use()

    run(limited())
