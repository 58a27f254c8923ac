from __future__ import annotations

from dovetail_vault.note import Note
from dovetail_vault.passages import passages_of

LONG = "word " * 60


def test_passages_start_with_title_and_headings() -> None:
    text = f"---\ntags: [a]\n---\n# Trees\n\n{LONG}\n\n## Oak\n\n{LONG}\n\n### Bark\n\nrough\n"
    first, oak, bark = passages_of(Note("Trees.md", text))
    assert (first.line, first.text) == (6, f"Trees\n{LONG.strip()}")
    assert oak.line == 10
    assert oak.text.startswith("Trees\nOak\nword word")
    assert bark == (14, "Trees\nOak > Bark\nrough")


def test_short_sections_are_joined() -> None:
    [only] = passages_of(Note("a.md", "# A\n\none\n\n## B\n\ntwo\n\n## C\n\nthree\n"))
    assert (only.line, only.text) == (3, "A\none\nB\ntwo\nC\nthree")


def test_long_sections_are_split_between_paragraphs_lines_and_words() -> None:
    for sign in ("\n\n", "\n", " "):
        text = sign.join(f"piece{number} {'x' * 80}" for number in range(40))
        found = passages_of(Note("a.md", text))
        assert len(found) >= 4
        assert all(len(passage.text) <= 1_010 for passage in found)
        words = [word for passage in found for word in passage.text.split() if "piece" in word]
        assert words == [f"piece{number}" for number in range(40)]
        lines = text.split("\n")
        for passage in found:
            assert passage.text.split("\n")[1].split()[0] in lines[passage.line - 1]


def test_an_empty_note_has_its_title_and_passages_are_limited() -> None:
    [only] = passages_of(Note("Folder/Oak tree.md", ""))
    assert only.text == "Oak tree"
    assert len(passages_of(Note("a.md", "no blanks" * 100_000))) == 64


def test_lone_surrogates_are_replaced() -> None:
    [only] = passages_of(Note("a.md", "caf\udce9\n"))
    assert only.text == "a\ncaf\ufffd"
