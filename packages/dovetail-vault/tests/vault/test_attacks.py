"""Paths that try to leave the vault, for every tool; links that change during a call."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import RpcError
from dovetail_vault.exchange import exchange_names
from tests.driving import good, refused
from tests.vault.driving import over_stdio, snapshot, write

SECRET = "the treasure is below the oak"
# While a folder is swapped for a link; 400 for the whole proof (make durability).
CALLS = max(100, 4 * int(os.environ.get("DURABILITY_RUNS", "0")))

CLIMBING = (
    "../secret.md",
    "../../secret.md",
    "Notes/../../secret.md",
    "Notes/./a.md",
    "/etc/passwd",
    "/etc/passwd.md",
    "~/secret.md",
    "C:/secret.md",
    "c:secret.md",
    "\\\\server\\share\\secret.md",
    "..\\secret.md",
    "Notes\\..\\..\\secret.md",
    "%2e%2e/secret.md",
    "%2e%2e%2fsecret.md",
    "%252e%252e%252fsecret.md",
    "Notes/%2e%2e/%2e%2e/secret.md",
    "Notes%5c..%5csecret.md",
    "a.md%00.png",
    "a.md\x00",
    "a\nb.md",
    "Notes//a.md",
    "",
    " ",
    ".",
    "..",
    ".obsidian/app.md",
    ".trash/old.md",
    ".hidden.md",
    "Notes/.git/config.md",
    "con.md",
    "NUL.md",
    "Notes/aux.md",
    "com1.md",
    "LPT9.md",
    "name./a.md",
    "name /a.md",
    " a.md",
    "x" * 300 + ".md",
    "a/" * 600 + "a.md",
    "link-out.md",
    "folder-out/secret.md",
    "link-in.md",
    "device.md",
    "pipe.md",
)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, "Notes/a.md", "# A\n\nplain\n")
    write(root, ".obsidian/app.md", SECRET)
    write(root, ".trash/old.md", SECRET)
    write(tmp_path, "secret.md", SECRET)
    write(tmp_path / "outside", "secret.md", SECRET)
    (root / "link-out.md").symlink_to(tmp_path / "secret.md")
    (root / "folder-out").symlink_to(tmp_path / "outside")
    (root / "link-in.md").symlink_to("Notes/a.md")
    (root / "device.md").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.md")
    return root


def calls_with(path: str) -> list[tuple[str, dict[str, Any]]]:
    edit = {"op": "replace", "target": {"text": "plain"}, "content": "x"}
    return [
        ("read-note", {"path": path}),
        ("write-note", {"path": path, "content": "x", "mode": "overwrite"}),
        ("write-note", {"path": path, "content": "x", "mode": "append"}),
        ("edit-note", {"path": path, "edits": [edit]}),
        ("delete-note", {"path": path, "permanent": True}),
        ("move-note", {"from": path, "to": "Notes/b.md"}),
        ("move-note", {"from": "Notes/a.md", "to": path}),
        ("get-note-metadata", {"path": path}),
        ("get-links", {"path": path}),
    ]


def test_no_tool_reads_or_writes_outside_of_the_vault(vault: Path) -> None:
    before = snapshot_all(vault)

    async def run() -> None:
        async with over_stdio(vault) as client:
            for path in CLIMBING:
                for tool, arguments in calls_with(path):
                    text = await refused(client, tool, **arguments)
                    assert SECRET not in text, (tool, path)
                    assert "reference" not in text.lower(), f"{tool} failed inside: {text}"
            for folder in ("..", "../outside", "/etc", "%2e%2e", ".obsidian", "a\x00b", "~"):
                for tool in ("list-notes", "search-by-tags", "discover-mocs"):
                    extra = {"tags": ["x"]} if tool == "search-by-tags" else {}
                    await refused(client, tool, directory=folder, **extra)
                await refused(client, "get-note-metadata", batch=True, directory=folder)
                await refused(client, "search-vault", query="treasure", path=folder)
            assert (await good(client, "search-vault", query="treasure"))["total"] == 0
            listed = await good(client, "list-notes")
            assert listed["notes"] == ["Notes/a.md"]

    asyncio.run(run())
    assert snapshot_all(vault) == before


def snapshot_all(vault: Path) -> dict[str, bytes]:
    os.unlink(vault / "pipe.md")  # reading it would wait for ever
    found = {
        name: data
        for name, data in snapshot(vault.parent).items()
        if not name.startswith("vault-index")
    }
    os.mkfifo(vault / "pipe.md")
    return found


def test_no_resource_is_outside_of_the_vault(vault: Path) -> None:
    async def run() -> None:
        async with over_stdio(vault) as client:
            for path in ("../secret.md", "%2e%2e/secret.md", ".obsidian/app.md", "link-out.md"):
                with pytest.raises(RpcError) as caught:
                    await client.read(f"obsidian-note:///{path}")
                assert SECRET not in str(caught.value)
            listed = [one.uri for one in await client.list_resources()]
            assert [uri for uri in listed if uri.startswith("obsidian")] == [
                "obsidian-note:///Notes/a.md"
            ]

    asyncio.run(run())


class Swapper(threading.Thread):
    """Replaces a folder by a link to the outside and back, as fast as possible."""

    def __init__(self, vault: Path, outside: Path) -> None:
        super().__init__(daemon=True)
        self._vault, self._outside = vault, outside
        self._ended = threading.Event()
        self.swaps = 0

    def run(self) -> None:
        (self._vault / "Link").symlink_to(self._outside)
        folder = os.open(self._vault, os.O_RDONLY | os.O_DIRECTORY)
        try:
            while not self._ended.is_set():
                assert exchange_names(folder, "Swap", "Link")
                self.swaps += 1
            if (self._vault / "Swap").is_symlink():
                exchange_names(folder, "Swap", "Link")
        finally:
            os.close(folder)

    def stop(self) -> None:
        self._ended.set()
        self.join()


@pytest.mark.slow
def test_a_folder_replaced_by_a_link_during_a_call_is_not_followed(
    vault: Path, tmp_path: Path
) -> None:
    write(vault, "Swap/secret.md", "inside")
    outside = tmp_path / "outside"
    before = snapshot(outside)
    swapper = Swapper(vault, outside)

    async def run() -> tuple[int, int]:
        async with over_stdio(vault) as client:
            swapper.start()
            inside = missing = 0
            for number in range(CALLS):
                read = await client.call("read-note", {"path": "Swap/secret.md"})
                assert SECRET not in read.text
                inside += "inside" in read.text
                missing += read.is_error
                await client.call(
                    "write-note",
                    {"path": f"Swap/new{number}.md", "content": "x", "mode": "overwrite"},
                )
            return inside, missing

    try:
        inside, missing = asyncio.run(run())
    finally:
        swapper.stop()
    assert swapper.swaps > 100
    assert inside > 0, "no call ever found the folder, so nothing was shown"
    assert snapshot(outside) == before, f"{missing} reads were refused"
