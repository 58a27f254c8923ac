from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dovetail import UsageError
from dovetail_design.fonts.bundled import bundled_faces
from dovetail_design.fonts.font_files import read_faces, read_folder

FONT = next(face for face in bundled_faces() if face.family == "Dancing Script").path


def test_a_folder_is_read_with_its_folders(tmp_path: Path) -> None:
    inner = tmp_path / "more"
    inner.mkdir()
    (inner / "one.OTF").write_bytes(FONT.read_bytes())
    (tmp_path / "readme.txt").write_text("no font")
    (face,) = read_folder(tmp_path)
    assert (face.family, face.weight, face.is_italic) == ("Dancing Script", 400, False)


def test_the_fonts_of_a_collection_are_numbered(tmp_path: Path) -> None:
    data = FONT.read_bytes()
    # Offsets of tables count from the beginning of the file, so they move with the header.
    head = struct.pack(">4sLLL", b"ttcf", 0x10000, 1, 16)
    count = struct.unpack_from(">H", data, 4)[0]
    moved = bytearray(data)
    for at in range(12, 12 + 16 * count, 16):
        struct.pack_into(">L", moved, at + 8, struct.unpack_from(">L", data, at + 8)[0] + 16)
    path = tmp_path / "both.ttc"
    path.write_bytes(head + moved)
    assert [(face.family, face.number) for face in read_faces(path)] == [("Dancing Script", 0)]


@pytest.mark.parametrize("length", [3, 20, 100, 5000])
def test_a_font_that_is_cut_off_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "cut.otf"
    path.write_bytes(FONT.read_bytes()[:length])
    with pytest.raises(UsageError, match=r"'cut.otf' is not a font"):
        read_faces(path)


def test_a_font_without_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nameless.otf"
    path.write_bytes(FONT.read_bytes().replace(b"name", b"nome", 1))
    with pytest.raises(UsageError, match="has no table name"):
        read_faces(path)
