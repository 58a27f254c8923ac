"""Links, FIFOs and other files in the exports folder that must not be read or written through."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from pathlib import Path

import pytest

from dovetail.client import Client
from dovetail.errors import RpcError
from dovetail_graph.export_folder import MAX_FILE_BYTES
from tests.driving import good, refused
from tests.graph.driving import children, entity, over_stdio
from tests.patience import CAP

SECRET = "the treasure is below the oak"
OUTSIDE = json.dumps({"type": "entity", "name": SECRET, "entityType": "place"})
# While a file is swapped for a link; 400 for the whole proof (make durability).
CALLS = max(40, 4 * int(os.environ.get("DURABILITY_RUNS", "0")))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.jsonl").write_text(OUTSIDE)
    exports_of(tmp_path / "graph.db").mkdir(parents=True)
    return tmp_path / "graph.db"


def exports_of(database: Path, namespace: str = "default") -> Path:
    return database.parent / "graph-exports" / namespace


async def assert_not_read(client: Client, name: str) -> str:
    """Neither the tool nor the resource reads the file; return the tool's error."""
    text = await refused(client, "transfer_graph", action="import", loadFrom=name)
    assert "Cannot read" in text or "file name" in text, f"{name}: {text}"
    with pytest.raises(RpcError) as caught:
        await client.read(f"graph://export/{name}")
    assert SECRET not in text + str(caught.value)
    return text


def test_only_regular_files_of_the_folder_are_read(database: Path) -> None:
    exports, secret = exports_of(database), database.parent / "outside" / "secret.jsonl"
    (exports / "link.jsonl").symlink_to(secret)
    (exports / "inside.jsonl").write_text("")
    (exports / "link-inside.jsonl").symlink_to("inside.jsonl")
    (exports / "hard.jsonl").hardlink_to(secret)
    (exports / "zero.jsonl").symlink_to("/dev/zero")
    (exports / "folder.jsonl").mkdir()
    with (exports / "large.jsonl").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    (exports / "latin.jsonl").write_bytes(b"\xff")
    expected = {
        "link.jsonl": "symbolic link",
        "link-inside.jsonl": "symbolic link",
        "descriptor.jsonl": "symbolic link",
        "zero.jsonl": "symbolic link",
        "hard.jsonl": "hard link",
        "folder.jsonl": "not a regular file",
        "socket.jsonl": "not a regular file",
        "large.jsonl": "more than",
        "latin.jsonl": "not UTF-8",
        "missing.jsonl": "no such file",
        "x" * 101: "file name",
        "a\x00b": "file name",
        "..": "file name",
    }

    async def run() -> None:
        with socket.socket(socket.AF_UNIX) as listener, secret.open() as opened:
            listener.bind(str(exports / "socket.jsonl"))
            magic = f"/proc/{os.getpid()}/fd/{opened.fileno()}"
            (exports / "descriptor.jsonl").symlink_to(magic)
            async with asyncio.timeout(CAP), over_stdio(database) as client:
                [descriptors] = [Path(f"/proc/{pid}/fd") for pid in children()]
                for name, reason in expected.items():
                    assert reason in await assert_not_read(client, name), name
                    if name == "link.jsonl":
                        before = len(list(descriptors.iterdir()))
                assert len(list(descriptors.iterdir())) == before, "descriptors are left open"
                assert (await good(client, "graph_stats"))["entities"] == 0

    asyncio.run(run())


def test_a_fifo_does_not_block_a_call(database: Path) -> None:
    os.mkfifo(exports_of(database) / "pipe.jsonl")

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(database) as client:
            assert "not a regular file" in await assert_not_read(client, "pipe.jsonl")

    asyncio.run(run())


@pytest.mark.parametrize("level", ["graph-exports", "graph-exports/default"])
def test_a_linked_exports_folder_is_neither_read_nor_written(database: Path, level: str) -> None:
    outside = database.parent / "outside"
    folder = database.parent / level
    exports_of(database).rmdir()
    if level == "graph-exports":
        folder.rmdir()
        (outside / "default").mkdir()
        (outside / "default" / "secret.jsonl").write_text(OUTSIDE)
    folder.symlink_to(outside)
    before = sorted(outside.rglob("*"))

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(database) as client:
            assert "symbolic link" in await assert_not_read(client, "secret.jsonl")
            said = await refused(client, "transfer_graph", action="export", saveTo="new.jsonl")
            assert "symbolic link" in said

    asyncio.run(run())
    assert sorted(outside.rglob("*")) == before


def test_an_export_replaces_a_link_and_not_its_target(database: Path) -> None:
    exports, secret = exports_of(database), database.parent / "outside" / "secret.jsonl"
    (exports / "soft.jsonl").symlink_to(secret)
    (exports / "hard.jsonl").hardlink_to(secret)
    (exports / "dangling.jsonl").symlink_to(secret.with_name("created"))
    os.mkfifo(exports / "pipe.jsonl")
    (exports / "folder.jsonl").mkdir()

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(database) as client:
            await good(client, "create_entities", entities=[entity("Ann")])
            for name in ("soft.jsonl", "hard.jsonl", "dangling.jsonl", "pipe.jsonl"):
                await good(client, "transfer_graph", action="export", saveTo=name)
                assert "Ann" in (await client.read(f"graph://export/{name}")).text
            said = await refused(client, "transfer_graph", action="export", saveTo="folder.jsonl")
            assert "folder" in said

    asyncio.run(run())
    assert [path.name for path in secret.parent.iterdir()] == ["secret.jsonl"]
    assert secret.read_text() == OUTSIDE
    assert not [path for path in exports.iterdir() if path.name.startswith(".")]


def test_the_temporary_file_of_an_export_is_not_predictable(database: Path) -> None:
    victim = database.parent / "outside" / "victim"
    victim.write_text(SECRET)
    exports = exports_of(database)

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(database) as client:
            # Older versions wrote to a name made of the process id.
            for pid in children():
                (exports / f".all.jsonl.{pid}").symlink_to(victim)
            await good(client, "transfer_graph", action="export", saveTo="all.jsonl")

    asyncio.run(run())
    assert victim.read_text() == SECRET
    assert not (exports / "all.jsonl").is_symlink()


def test_files_are_private_whatever_the_umask(database: Path) -> None:
    exports_of(database).rmdir()
    exports_of(database).parent.rmdir()

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(database) as client:
            await good(client, "create_entities", entities=[entity("Ann")])
            await good(client, "transfer_graph", action="export", saveTo="all.jsonl")
            # The write-ahead log exists only while a server runs.
            names = ("graph.db", "graph.db-wal", "graph.db-shm", "graph-exports/default/all.jsonl")
            modes = {name: (database.parent / name).stat().st_mode & 0o777 for name in names}
            assert modes == dict.fromkeys(names, 0o600)
            assert exports_of(database).stat().st_mode & 0o777 == 0o700

    before = os.umask(0)
    try:
        asyncio.run(run())
    finally:
        os.umask(before)


class Swapper(threading.Thread):
    """Replaces a file by a link to the outside and back, as fast as possible."""

    def __init__(self, file: Path, target: Path) -> None:
        super().__init__(daemon=True)
        self._file, self._target = file, target
        self._ended = threading.Event()
        self.swaps = 0

    def run(self) -> None:
        beside = self._file.with_name("beside")
        while not self._ended.is_set():
            beside.symlink_to(self._target)
            beside.replace(self._file)
            beside.write_text("inside")
            beside.replace(self._file)
            self.swaps += 1

    def stop(self) -> None:
        self._ended.set()
        self.join()


@pytest.mark.slow
def test_a_file_replaced_by_a_link_during_a_call_is_not_followed(database: Path) -> None:
    file, secret = exports_of(database) / "swap.jsonl", database.parent / "outside" / "secret.jsonl"
    file.write_text("inside")
    swapper = Swapper(file, secret)

    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(database) as client:
            swapper.start()
            found = ""
            calls = 0
            while calls < CALLS or not found:
                calls += 1
                try:
                    found = (await client.read("graph://export/swap.jsonl")).text or found
                except RpcError as error:
                    assert SECRET not in str(error)
                assert SECRET not in found

    try:
        asyncio.run(run())
    finally:
        swapper.stop()
    assert swapper.swaps > 0
    assert secret.read_text() == OUTSIDE
