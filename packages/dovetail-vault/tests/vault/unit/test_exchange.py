from __future__ import annotations

import os
import threading
from pathlib import Path

from dovetail_vault.exchange import Lease, exchange_names


def test_exchange_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert exchange_names(folder, "a", "b")
    finally:
        os.close(folder)
    assert (tmp_path / "a").read_text() == "2"


def test_a_lease_waits_for_other_processes_and_detects_waiting_writers(tmp_path: Path) -> None:
    note = tmp_path / "note"
    note.write_text("x")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with Lease(folder, "note") as lease, open(note, "a"):
            assert not lease.acquire()
        with Lease(folder, "note") as lease:
            assert lease.acquire() and not lease.has_writer_waiting()
            writer = threading.Thread(target=lambda: note.open("a").close())
            writer.start()
            while not lease.has_writer_waiting():
                assert writer.is_alive()
            lease.release()
            writer.join()
    finally:
        os.close(folder)
