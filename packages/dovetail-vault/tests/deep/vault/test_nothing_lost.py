"""Concurrent writers on the same notes, and servers that are killed while they write.

Few kills and edits by default; `make durability` sets DURABILITY_RUNS=100.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import secrets
import signal
import threading
from pathlib import Path

import pytest

from dovetail.client import Client
from dovetail.errors import DovetailError
from tests.driving import eventually, good
from tests.vault.driving import over_stdio, write

NOTES = [f"Shared/n{number}.md" for number in range(4)]
RUNS = int(os.environ.get("DURABILITY_RUNS", "10"))
# By two servers together, and by the editor: 1,000 for 100 runs.
SERVER_EDITS = max(200, 7 * RUNS)
EDITOR_EDITS = max(100, 3 * RUNS)


async def edit_by_server(client: Client, name: str, count: int) -> list[tuple[str, str]]:
    """Add lines with every tool; return the confirmed ones."""
    draw = random.Random(name)
    done = []
    for number in range(count):
        path, line = draw.choice(NOTES), f"{name}-{number}"
        kind = draw.randrange(3)
        if kind == 0:
            call = client.call(
                "write-note", {"path": path, "content": f"- {line}\n", "mode": "append"}
            )
        elif kind == 1:
            edit = {"op": "append", "target": {"heading": "Log"}, "content": f"- {line}"}
            call = client.call("edit-note", {"path": path, "edits": [edit]})
        else:
            edit = {"op": "insert_after", "target": {"text": "## Log\n"}, "content": f"- {line}\n"}
            call = client.call("edit-note", {"path": path, "edits": [edit]})
        result = await call
        assert not result.is_error, result.text
        done.append((path, line))
    return done


def edit_by_hand(vault: Path, count: int, others: threading.Event) -> list[tuple[str, str]]:
    """An editor that appends in place, and waits for a server's write between edits."""
    draw = random.Random("editor")
    done = []
    for number in range(count):
        path, line = draw.choice(NOTES), f"editor-{number}"
        with open(vault / path, "a", encoding="utf-8") as file:
            file.write(f"- {line}\n")
        done.append((path, line))
        # Each write of a server creates and removes a hidden file, which changes the folder.
        before = (vault / "Shared").stat().st_mtime_ns
        while number % 2 and not others.is_set():
            if (vault / "Shared").stat().st_mtime_ns != before:
                break
    return done


@pytest.mark.slow
def test_two_servers_and_an_editor_lose_no_edit(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for path in NOTES:
        write(vault, path, f"---\nkind: log\n---\n# {path}\n\n## Log\n\n## End\n")

    async def run() -> list[tuple[str, str]]:
        done = threading.Event()
        async with over_stdio(vault) as one, over_stdio(vault) as two:
            by_hand = asyncio.create_task(
                asyncio.to_thread(edit_by_hand, vault, EDITOR_EDITS, done)
            )
            try:
                groups = await asyncio.gather(
                    edit_by_server(one, "one", SERVER_EDITS // 2),
                    edit_by_server(two, "two", SERVER_EDITS // 2),
                )
            finally:
                done.set()
            return [edit for group in [*groups, await by_hand] for edit in group]

    edits = asyncio.run(run())
    assert len(edits) == SERVER_EDITS + EDITOR_EDITS
    texts = {path: (vault / path).read_text("utf-8").splitlines() for path in NOTES}
    lost = [edit for edit in edits if texts[edit[0]].count(f"- {edit[1]}") != 1]
    assert not lost, f"{len(lost)} of {len(edits)}: {lost[:5]}"


@pytest.mark.slow
def test_a_killed_server_leaves_no_partial_note(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    paths = [f"n{number}.md" for number in range(8)]
    versions: dict[str, set[str]] = {}
    for path in paths:
        text = f"# {path}\n" + "old line\n" * 2000
        write(vault, path, text)
        os.chmod(vault / path, 0o640)
        versions[path] = {text}

    async def write_until_killed(pid_of: Client) -> None:
        while True:
            path = random.choice(paths)
            text = f"# {path}\n{secrets.token_hex(8)}\n" + "new line\n" * random.randint(1, 20_000)
            versions[path].add(text)
            await pid_of.call("write-note", {"path": path, "content": text, "mode": "overwrite"})

    async def run_once() -> None:
        async with over_stdio(vault, mode="2025-11-25") as client:
            await good(client, "list-notes", limit=1)
            process = process_of(vault)
            writers = [asyncio.create_task(write_until_killed(client)) for _ in range(3)]
            done, _ = await asyncio.wait(writers, timeout=random.uniform(0.0, 0.06))
            assert not done
            os.kill(process, signal.SIGKILL)
            await asyncio.gather(*writers, return_exceptions=True)

    for _ in range(RUNS):
        # Closing a client of a killed server may fail.
        with contextlib.suppress(DovetailError):
            asyncio.run(run_once())
        for path in paths:
            text = (vault / path).read_text("utf-8")
            assert text in versions[path], f"{path} is neither an old nor a new version"
            versions[path] = {text}
            assert (vault / path).stat().st_mode & 0o777 == 0o640
    asyncio.run(expect_no_leftovers(vault))


async def expect_no_leftovers(vault: Path) -> None:
    """The next server deletes the temporary files of the killed ones."""

    async def is_clean() -> bool:
        return not list(vault.rglob("*.dovetail-tmp"))

    async with over_stdio(vault):
        await eventually(is_clean)


def process_of(vault: Path) -> int:
    """Return the server process of a vault, found by its command line."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(vault) in line and b"serve" in line:
                return int(name)
    raise AssertionError("no server process")
