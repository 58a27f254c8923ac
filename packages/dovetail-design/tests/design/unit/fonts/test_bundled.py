from __future__ import annotations

from dovetail_design.fonts.bundled import (
    CATEGORIES,
    FALLBACKS,
    STAND_INS,
    bundled_faces,
)
from dovetail_design.fonts.font_files import read_faces

# The families that the clients of the hosted original know.
KNOWN = (
    "Inter, Roboto, Montserrat, Poppins, Open Sans, Lato, Raleway, Nunito, Ubuntu, "
    "Playfair Display, Merriweather, Lora, PT Serif, Crimson Text, Bebas Neue, Anton, Righteous, "
    "Oswald, Pacifico, Dancing Script, Great Vibes, JetBrains Mono, Roboto Mono, Source Code Pro"
)


def test_every_file_is_there_and_is_what_the_table_says() -> None:
    for face in bundled_faces():
        (read,) = read_faces(face.path)
        # This file calls itself by the name of its successor.
        if face.family != "Lobster":
            assert read == face


def test_no_file_lies_there_unused() -> None:
    used = {face.path.name for face in bundled_faces()}
    folder = bundled_faces()[0].path.parent
    assert {path.name for path in folder.iterdir()} == used
    assert sum(path.stat().st_size for path in folder.iterdir()) < 8_000_000


def test_stand_ins_and_fallbacks_are_here() -> None:
    families = {face.family for face in bundled_faces()}
    assert {*STAND_INS.values(), *FALLBACKS} <= families == CATEGORIES.keys()


def test_every_family_of_the_original_has_an_answer() -> None:
    families = {face.family.lower() for face in bundled_faces()}
    missing = [
        name for name in KNOWN.split(", ") if name.lower() not in families | STAND_INS.keys()
    ]
    assert missing == []
