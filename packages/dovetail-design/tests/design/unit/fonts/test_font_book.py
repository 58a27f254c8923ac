from __future__ import annotations

from pathlib import Path

import pytest

from dovetail_design.fonts.bundled import bundled_faces
from dovetail_design.fonts.font_book import FontBook, FontChoice, bundled_book


@pytest.mark.parametrize(
    ("asked", "family", "is_substitute"),
    [
        ("Inter", "Inter", False),
        ("open sans", "Open Sans", False),
        ("'Open Sans', serif", "Open Sans", False),
        ("Nowhere Font, Roboto", "Roboto", True),
        ("Montserrat", "Inter", True),
        ("Playfair Display", "Noto Serif", True),
        ("monospace", "JetBrains Mono", True),
        ("Nowhere Font", "Inter", True),
    ],
)
def test_a_family_is_chosen(asked: str, family: str, is_substitute: bool) -> None:
    assert bundled_book().choose(asked) == FontChoice(family, asked, is_substitute)


def test_substitutions_are_reported_once() -> None:
    told = bundled_book().substitutions(["Inter", "Lato", "Lato", "Poppins"])
    assert [(choice.asked, choice.family) for choice in told] == [
        ("Lato", "Open Sans"),
        ("Poppins", "Inter"),
    ]


def test_families_are_listed_with_weights() -> None:
    inter = next(family for family in bundled_book().families() if family.name == "Inter")
    assert inter == ("Inter", "sans-serif", (300, 400, 500, 600, 700, 800), True, "embedded")


def test_letters_are_looked_for_in_other_families() -> None:
    chain = bundled_book().chain("Lobster")
    assert chain[0] == "Lobster"
    assert {"Inter", "Noto Sans Hebrew", "Noto Sans Arabic"} < {*chain}


def test_the_operators_folder_comes_first(tmp_path: Path) -> None:
    script = next(face for face in bundled_faces() if face.family == "Dancing Script")
    (tmp_path / "mine.otf").write_bytes(script.path.read_bytes())
    book = FontBook(tmp_path)
    assert book.families()[0][:1] + book.families()[0][4:] == ("Dancing Script", "folder")
    assert "Dancing Script" in book.chain("Inter")
