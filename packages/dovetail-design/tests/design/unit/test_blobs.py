from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dovetail import ToolError, UsageError
from dovetail_design.blobs import BlobFolder


def test_a_content_is_kept_once_under_its_hash(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs")
    digest = blobs.keep(b"abc")
    assert digest == blobs.keep(b"abc") == hashlib.sha256(b"abc").hexdigest()
    assert blobs.load(digest) == b"abc"
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_what_is_not_kept_is_not_found(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs")
    digest = blobs.keep(b"abc")
    blobs.forget(digest)
    for name in (digest, "../../etc/passwd", "", "A" * 64):
        with pytest.raises(FileNotFoundError):
            blobs.load(name)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="Cannot store"):
        BlobFolder(tmp_path / "file" / "blobs")


def test_a_content_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs")
    digest = hashlib.sha256(b"abc").hexdigest()
    (tmp_path / "blobs" / digest[:2]).write_bytes(b"in the way")
    with pytest.raises(ToolError, match="Cannot store"):
        blobs.keep(b"abc")
