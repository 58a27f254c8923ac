"""Limits of results and answers, permissions of files, and what a killed server leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import subprocess
from pathlib import Path

from tests.deep.vault.test_hostile_notes import most_memory_mb
from tests.deep.vault.test_nothing_lost import process_of
from tests.driving import eventually, good, refused
from tests.vault.driving import command, over_stdio, read, wait_until_indexed, write

MAX_MEMORY_MB = 400


def test_an_edit_stops_before_its_result_is_too_large(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, "long.md", "x" * 1_000_000)
    write(vault, "many.md", "a\n" * 10_000)
    edits = [
        ("long", {"op": "replace", "target": {"regex": "(?s)(.+)"}, "content": "\\1" * 1_000}),
        ("long", {"op": "insert_after", "target": {"regex": "x+"}, "content": "\\0" * 1_000}),
        (
            "many",
            {
                "op": "replace",
                "target": {"text": "a"},
                "content": "b" * 100_000,
                "expectedCount": 10_000,
            },
        ),
        (
            "many",
            {
                "op": "replace",
                "target": {"regex": "a"},
                "content": "b" * 100_000,
                "expectedCount": 10_000,
            },
        ),
    ]

    async def run() -> None:
        async with over_stdio(vault) as client:
            for name, edit in edits:
                for dry_run in (False, True):
                    text = await refused(
                        client, "edit-note", path=name, edits=[edit], dryRun=dry_run
                    )
                    assert "would have more than" in text
            assert most_memory_mb(vault) < MAX_MEMORY_MB

    asyncio.run(run())


def test_a_tag_is_not_renamed_in_a_note_that_would_be_too_large(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    text = "#t " * 50_000
    write(vault, "a.md", text)

    async def run() -> None:
        async with over_stdio(vault) as client:
            renamed = await good(client, "move-note", **{"from": "#t", "to": f"#{'n' * 20_000}"})
            assert "would have more than" in renamed["failed"][0]["error"]
            assert most_memory_mb(vault) < MAX_MEMORY_MB

    asyncio.run(run())
    assert (vault / "a.md").read_text() == text


def watched_folders(process: int) -> int:
    """Return how many folders a process watches with inotify."""
    count = 0
    for info in Path(f"/proc/{process}/fdinfo").iterdir():
        # A descriptor may be closed meanwhile.
        with contextlib.suppress(FileNotFoundError):
            count += info.read_text().count("inotify wd:")
    return count


def test_the_file_watcher_does_not_follow_links(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, "Sub/a.md", "oak")
    write(tmp_path, "outside/deep/b.md", "elm")
    (vault / "everything").symlink_to(tmp_path / "outside")

    async def run() -> None:
        async with over_stdio(vault) as client:
            process = process_of(vault)

            async def watches(count: int) -> bool:
                return watched_folders(process) == count

            await eventually(lambda: watches(2))
            write(vault, "New/Deep/c.md", "birch")
            (vault / "New" / "more").symlink_to("/")
            await eventually(lambda: watches(4))
            write(vault, "New/Deep/d.md", "birch")

            async def is_found() -> bool:
                found = await good(client, "search-vault", query="birch")
                return bool(found["total"] == 2)

            await eventually(is_found)

    asyncio.run(run())


def test_only_the_user_can_read_the_index(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, "a.md", "oak")
    index = tmp_path / "vault-index"

    def open_files() -> list[str]:
        return [p.name for p in index.glob("index*") if stat.S_IMODE(p.stat().st_mode) & 0o077]

    async def run() -> None:
        async with over_stdio(vault):
            assert len(list(index.glob("index*"))) == 3
            assert open_files() == []
        for path in index.glob("index*"):
            path.chmod(0o644)
        async with over_stdio(vault):
            assert open_files() == []

    asyncio.run(run())


def test_temporary_files_of_a_killed_server_are_deleted_at_the_next_start(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, "a.md", "oak")
    own = "from dovetail_vault.process_names import own_process_name as n; print(n())"

    async def name_of_process(*, is_killed: bool) -> tuple[str, asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            command(vault)[0],
            "-c",
            f"{own}; input()",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        name = (await process.stdout.readline()).decode().strip()
        if is_killed:
            process.send_signal(signal.SIGKILL)
            await process.wait()
        return name, process

    async def run() -> None:
        dead, _ = await name_of_process(is_killed=True)
        alive, process = await name_of_process(is_killed=False)
        left = write(vault, f".{dead}00.dovetail-tmp", "x")
        in_use = write(vault, f".{alive}00.dovetail-tmp", "x")
        async with over_stdio(vault) as client:
            await wait_until_indexed(client)

            async def is_deleted() -> bool:
                await good(client, "list-notes")
                return not left.exists()

            await eventually(is_deleted)
            assert in_use.exists()
        process.kill()
        await process.wait()

    asyncio.run(run())


def test_new_names_are_valid_on_every_system_and_old_ones_stay_readable(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, "old: note?.md", "oak")
    write(vault, "old|folder/a.md", "oak")

    async def run() -> None:
        async with over_stdio(vault) as client:
            for sign in '<>:"|?*\\\x07\x85':
                for path in (f"a{sign}b.md", f"x{sign}y/a.md"):
                    await refused(client, "write-note", path=path, content="x")
                    await refused(client, "move-note", **{"from": "old: note?.md", "to": path})
            assert "new names" in await refused(client, "write-note", path="a?.md", content="x")
            for path in ("a./b.md", "a /b.md", "nul.md", "Sub/com1.txt.md"):
                await refused(client, "write-note", path=path, content="x")
            assert (await read(client, path="old: note?.md"))[0] == "oak"
            await good(client, "write-note", path="old: note?.md", content="elm", mode="append")
            await good(client, "write-note", path="old|folder/b.md", content="x")
            await good(client, "move-note", **{"from": "old: note?.md", "to": "new note.md"})

    asyncio.run(run())
    assert (vault / "new note.md").exists()


def test_a_very_deep_tag_and_a_very_deep_folder_are_left_out(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, "a.md", f"#{'a/' * 20_000}a #b/c\n")
    folder = os.open(vault, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)

    async def run() -> None:
        async with over_stdio(vault) as client:
            tags = (await good(client, "list-tags"))["tags"]
            assert [tag["tag"] for tag in tags] == ["b", "b/c"]
            assert most_memory_mb(vault) < MAX_MEMORY_MB
            process = process_of(vault)

            async def is_watched() -> bool:
                return watched_folders(process) > 1

            await eventually(is_watched)
            await good(client, "write-note", path="b.md", content="oak")
            assert (await good(client, "search-vault", query="oak"))["total"] == 1

    try:
        asyncio.run(run())
    finally:
        # Deeper than what shutil.rmtree, and so pytest, can delete.
        subprocess.run(["rm", "-rf", str(vault)], check=True)
