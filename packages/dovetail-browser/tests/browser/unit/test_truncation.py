"""Parts of a text fit into the limit with their note, and can be joined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_browser.truncation import truncate

TEXTS = st.text(alphabet="ab .\n<>&;p/\u0301\u200d\U0001f600\ud83d\ude00", max_size=600)


@given(TEXTS, st.integers(-5, 700), st.integers(-5, 500))
def test_text_and_note_never_exceed_the_limit(text: str, offset: int, max_chars: int) -> None:
    part = truncate(text, offset, max_chars)
    whole = f"{part.text}\n\n{part.note}" if part.note and part.text else part.text + part.note
    assert len(whole) <= max(0, max_chars)
    assert part.total == len(text)
    assert text[part.offset :].startswith(part.text)


@given(TEXTS, st.integers(1, 300))
def test_the_parts_make_up_the_whole(text: str, max_chars: int) -> None:
    parts, offset = [], 0
    while True:
        part = truncate(text, offset, max_chars)
        parts.append(part.text)
        if part.next_offset is None:
            break
        assert part.next_offset > offset
        assert part.next_offset == offset + len(part.text)
        offset = part.next_offset
    assert "".join(parts) == text


def test_short_text_is_not_truncated_and_has_no_note() -> None:
    assert truncate("abc", 0, 3) == ("abc", 0, 3, None, "")


def test_the_note_says_how_to_continue() -> None:
    part = truncate("word " * 1_000, 0, 500)
    assert part.note == (
        f"[truncated: characters 0 to {part.next_offset} of 5,000; "
        f"continue with offset={part.next_offset}]"
    )


def test_an_offset_past_the_end_has_a_note() -> None:
    part = truncate("abc", 10, 200)
    assert part.text == "" and part.next_offset is None
    assert "has 3 characters" in part.note


PLACES = {
    "between paragraphs": ("x" * 190 + "\n\n" + "y" * 400, "x" * 190 + "\n\n"),
    "before a tag": ("x" * 195 + "<a href=abcdefghijkl>y</a>" + "y" * 400, "x" * 195),
    "before an entity": ("x" * 198 + "&amp;" + "y" * 400, "x" * 198),
    "before a character and its mark": ("x" * 199 + "e\u0301" + "y" * 400, "x" * 199),
    "before a joined character": ("x" * 198 + "\U0001f468\u200d\U0001f469" + "y" * 400, "x" * 198),
    "before a pair": ("x" * 199 + "\ud83d\ude00" + "y" * 400, "x" * 199),
    "anywhere if need be": ("x" * 600, "x" * 200),
    "not before a mere sign": ("x" * 190 + "<" + "y" * 400, "x" * 190 + "<" + "y" * 9),
}


@pytest.mark.parametrize(("text", "expected"), PLACES.values(), ids=PLACES.keys())
def test_text_is_cut_at_a_sensible_place(text: str, expected: str) -> None:
    assert truncate(text, 0, 200 + _note_length(text)).text == expected


def _note_length(text: str) -> int:
    total = f"{len(text):,}"
    note = f"[truncated: characters 0 to {total} of {total}; continue with offset={len(text)}]"
    return len(note) + 2
