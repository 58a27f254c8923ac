"""Read-only and full disks, and a note of 200 MB: a clear error, and nothing is lost.

The disks are real file systems, mounted only for the server process in an unprivileged mount
namespace. If the system does not allow that, file permissions replace the read-only disk and a file
size limit replaces the full one.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.errors import RpcError
from tests.driving import good, refused
from tests.patience import CAP
from tests.vault.driving import command, read, snapshot, wait_until_indexed, write

OAK = "# Oak\n\nHard wood #tree\n"
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("write-note", {"path": "New.md", "content": "x"}),
    ("write-note", {"path": "Sub/Deep/New.md", "content": "x"}),
    ("write-note", {"path": "Oak.md", "content": "x", "mode": "overwrite"}),
    ("write-note", {"path": "Oak.md", "content": "x", "mode": "append"}),
    ("edit-note", {"path": "Oak", "edits": [{"op": "delete", "target": {"text": "Hard"}}]}),
    ("move-note", {"from": "Oak.md", "to": "Elm.md"}),
    ("delete-note", {"path": "Oak.md"}),
    ("delete-note", {"path": "Oak.md", "permanent": True}),
]


def own_mounts() -> list[str]:
    """Return the command prefix for a private mount namespace; empty if that is not allowed."""
    # In a changed root the propagation of mounts cannot be changed.
    kinds = (
        ["unshare", "-Urm"],
        ["unshare", "-m"],
        ["unshare", "-m", "--propagation", "unchanged"],
    )
    for words in kinds:
        if shutil.which("unshare") and not subprocess.run([*words, "true"], check=False).returncode:
            return words
    return []


MOUNTS = own_mounts()


def after(script: str, words: list[str]) -> list[str]:
    """Return the command, preceded by a shell that prepares the mounts."""
    return [*MOUNTS, "sh", "-ec", f'{script}\nexec "$@"', "sh", *words]


def serve(words: list[str], use: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(words, timeout=CAP) as client:
            await wait_until_indexed(client)
            await use(client)

    asyncio.run(run())


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, "Oak.md", OAK)
    write(root, "Sub/Pine.md", "# Pine\n\nSoft wood, see [[Oak]]\n")
    return root


def test_on_a_read_only_disk_notes_are_read_and_writes_fail(vault: Path) -> None:
    before = snapshot(vault)
    words = command(vault)
    if MOUNTS:
        words = after(
            f'mount --bind "{vault}" "{vault}"\nmount -o remount,bind,ro "{vault}"', words
        )
        reason = "the disk is read-only"
    else:
        if os.geteuid() == 0:
            # Root may write whatever the permissions say, unless it gives that up.
            words = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *words]
        for folder in (vault / "Sub", vault):
            folder.chmod(0o555)
        reason = "permission denied"

    async def use(client: Client) -> None:
        assert (await good(client, "search-vault", query="wood"))["total"] == 2
        for tool, arguments in CHANGES:
            said = await refused(client, tool, **arguments)
            assert reason in said, (tool, said)
            assert "Nothing was changed" in said
        assert (await read(client, path="Oak"))[0] == OAK
        assert (await good(client, "search-vault", query="wood"))["total"] == 2

    try:
        serve(words, use)
    finally:
        for folder in (vault, vault / "Sub"):
            folder.chmod(0o755)
    assert snapshot(vault) == before


def test_an_unwritable_index_directory_is_replaced_by_a_temporary_one(vault: Path) -> None:
    words = command(vault)
    index = vault.parent / "vault-index"
    if MOUNTS:
        index.mkdir()
        script = f'mount --bind "{index}" "{index}"\nmount -o remount,bind,ro "{index}"'
        words = after(script, words)
    else:
        # A directory cannot be created inside a file, not even by root.
        (vault.parent / "file").write_text("in the way")
        words = [
            str(vault.parent / "file" / "index") if word == str(index) else word for word in words
        ]

    async def use(client: Client) -> None:
        assert (await good(client, "search-vault", query="wood"))["total"] == 2
        await good(client, "write-note", path="New", content="wood as well")
        assert (await good(client, "search-vault", query="wood"))["total"] == 3

    serve(words, use)


def test_on_a_full_disk_a_write_fails_and_keeps_the_note(vault: Path) -> None:
    if not MOUNTS:
        pytest.skip("no mounts of its own here; test_tools.py has a limit on files in its place")
    notes = vault.parent / "notes"
    vault.rename(notes)
    vault.mkdir()
    script = f'mount -t tmpfs -o size=400k tmpfs "{vault}"\ncp -r "{notes}/." "{vault}"'

    async def use(client: Client) -> None:
        large = "line of text\n" * 40_000
        for path, mode in (("Oak.md", "overwrite"), ("Oak.md", "append"), ("New.md", "create")):
            said = await refused(client, "write-note", path=path, content=large, mode=mode)
            assert "the disk is full. Nothing was changed" in said
            assert (await read(client, path="Oak"))[0] == OAK
        await refused(client, "read-note", path="New.md")
        # The failed write left nothing behind: this would not fit otherwise.
        half = "line of text\n" * 20_000
        await good(client, "write-note", path="Half.md", content=half)
        assert (await good(client, "search-vault", query='"line of text"'))["total"] == 1
        # There is no space for a second version; the first one stays.
        said = await refused(
            client, "write-note", path="Half.md", content=half + "x", mode="append"
        )
        assert "the disk is full" in said
        again, _ = await read(client, path="Half.md", maxChars=1_000_000)
        assert again == half

    serve(after(script, command(vault)), use)


def test_a_note_of_200_mb_is_listed_and_never_read(vault: Path) -> None:
    huge = write(vault, "Huge.md", "wood\n")
    os.truncate(huge, 200_000_000)

    async def use(client: Client) -> None:
        assert "Huge.md" in (await good(client, "list-notes"))["notes"]
        assert (await good(client, "search-vault", query="wood"))["total"] == 2
        said = await refused(client, "read-note", path="Huge")
        assert "200000000 bytes" in said and "10485760" in said
        for tool, arguments in (
            ("write-note", {"path": "Huge.md", "content": "x", "mode": "append"}),
            ("write-note", {"path": "Huge.md", "content": "x", "mode": "overwrite"}),
            ("edit-note", {"path": "Huge", "edits": [{"op": "delete", "target": {"text": "w"}}]}),
        ):
            assert "200000000 bytes" in await refused(client, tool, **arguments)
        with pytest.raises(RpcError, match="200000000 bytes"):
            await client.read("obsidian-note:///Huge.md")
        too_long = await refused(client, "write-note", path="New", content="x" * 11_000_000)
        assert "11000000 bytes" in too_long
        stats = (await client.read("vault://stats")).text
        assert '"unreadable":1' in stats.replace(" ", "")
        assert most_memory(vault) < 200_000, "kilobytes; somebody has read it"

    serve(command(vault), use)
    assert huge.stat().st_size == 200_000_000


def most_memory(vault: Path) -> int:
    """Return the peak memory (kB) of the server process, found by its command line."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.fsencode(vault) in Path(f"/proc/{name}/cmdline").read_bytes():
                status = Path(f"/proc/{name}/status").read_text("utf-8")
                return int(status.partition("VmHWM:")[2].split()[0])
        except OSError:
            continue
    raise AssertionError("no server process")
