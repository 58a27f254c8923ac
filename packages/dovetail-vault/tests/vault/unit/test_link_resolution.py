from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_vault.link_resolution import Resolver
from dovetail_vault.move_plan import Move, MovePlan
from dovetail_vault.vault import Vault
from tests.patience import CAP

NOTES = ("Note.md", "A/Note.md", "A/B/Note.md", "A/Only.md", "ns___page.md", "A/x y.md")


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    for name in NOTES:
        (tmp_path / "v" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "v" / name).write_text("x")
    opened = Vault("v", tmp_path / "v", index_dir=tmp_path / "i")
    opened.start()
    assert opened.wait_until_complete(CAP)
    yield opened
    opened.stop()


@pytest.mark.parametrize(
    ("source", "target", "kind", "path"),
    [
        ("z.md", "Note", "wikilink", "Note.md"),
        ("A/z.md", "note", "wikilink", "Note.md"),
        ("A/z.md", "A/Note", "wikilink", "A/Note.md"),
        ("z.md", "B/Note", "wikilink", "A/B/Note.md"),
        ("z.md", "only.md", "wikilink", "A/Only.md"),
        ("A/z.md", "./Only", "wikilink", "A/Only.md"),
        ("A/B/z.md", "../Only", "wikilink", "A/Only.md"),
        ("z.md", "ns/page", "wikilink", "ns___page.md"),
        ("A/z.md", "Note.md", "markdown", "A/Note.md"),
        ("A/z.md", "../Note.md", "markdown", "Note.md"),
        ("A/B/z.md", "A/x y.md", "markdown", "A/x y.md"),
        ("z.md", "/A/Only", "markdown", "A/Only.md"),
        ("z.md", "Nowhere", "wikilink", None),
        ("z.md", "../../Note.md", "markdown", None),
    ],
)
def test_links_resolve_as_in_obsidian(
    vault: Vault, source: str, target: str, kind: str, path: str | None
) -> None:
    assert Resolver(vault.index).resolve(source, target, kind).path == path


def test_a_new_name_does_not_capture_links_to_another_note(vault: Vault) -> None:
    plan = MovePlan(vault.index, Move("A/Only.md", "Only/x y.md"), "x")
    text, count = plan.rewrite("Only/z.md", "[[x y]] [[Only|o]] [[Note]]")
    assert (text, count) == ("[[A/x y]] [[x y|o]] [[Note]]", 2)
