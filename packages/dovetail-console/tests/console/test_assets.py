from __future__ import annotations

import gzip
import os
from pathlib import Path

from dovetail_console.app import INDEX, find_assets


def test_the_page_is_among_the_files() -> None:
    assert INDEX in find_assets()


def test_files_of_other_kinds_are_not_served(tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "main.js").write_text("1")
    (tmp_path / "notes.py").write_text("1")
    assert list(find_assets(tmp_path)) == ["js/main.js"]


def test_a_file_is_read_again_after_a_change(tmp_path: Path) -> None:
    file = tmp_path / "style.css"
    file.write_text("one")
    asset = find_assets(tmp_path)["style.css"]
    content = asset.read()
    assert (content.body, asset.content_type) == (b"one", b"text/css; charset=utf-8")
    assert gzip.decompress(content.compressed) == b"one"
    assert asset.read() is content
    file.write_text("two")
    os.utime(file, (1, 1))
    changed = asset.read()
    assert (changed.body, gzip.decompress(changed.compressed)) == (b"two", b"two")
    assert changed.etag != content.etag
