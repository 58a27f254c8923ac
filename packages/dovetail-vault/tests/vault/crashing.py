"""A parser that a note with the word "segfault" crashes, as a defect in native code would."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

from dovetail_vault import parsed_notes, reader_process
from dovetail_vault.note_files import NoteFile
from dovetail_vault.parsed_notes import ParsedNote
from dovetail_vault.vault import Vault

_parse = parsed_notes.parse_note


def _crash(path: str, file: NoteFile) -> ParsedNote:
    if b"segfault" in file.data:
        signal.raise_signal(signal.SIGSEGV)
    return _parse(path, file)


def read_segment(folder: bytes, entries: list[Any]) -> bytes:
    """The function of a worker process, with this parser."""
    parsed_notes.parse_note = _crash
    return reader_process.read_segment(folder, entries)


def exit_at_once(folder: bytes, entries: list[Any]) -> None:
    """The function of a worker process that cannot run."""
    sys.exit(1)


if __name__ == "__main__":
    parsed_notes.parse_note = _crash
    vault = Vault("v", sys.argv[1], index_dir=Path(sys.argv[2]))
    vault.start()
    vault.wait_until_complete(float(sys.argv[3]))
