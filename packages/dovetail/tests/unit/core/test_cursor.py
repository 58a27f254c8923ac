"""Cursors: they come back as they went, and nothing else is taken for one."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dovetail.core.cursor import (
    decode_cursor,
    decode_text_cursor,
    encode_cursor,
    encode_text_cursor,
)
from dovetail.errors import InvalidParamsError, UsageError

POSITIONS = st.integers(min_value=0, max_value=2**63 - 1)


def assert_refused(text: str, kind: str = "tools/list", salt: str = "salt") -> None:
    with pytest.raises(InvalidParamsError, match="start again without a cursor") as caught:
        decode_cursor(text, kind, salt=salt)
    assert kind in caught.value.message


@given(POSITIONS, st.text(), st.text())
def test_a_cursor_gives_back_its_position(position: int, kind: str, salt: str) -> None:
    cursor = encode_cursor(kind, position, salt=salt)
    assert decode_cursor(cursor, kind, salt=salt) == position
    assert set(cursor) <= set(string.ascii_letters + string.digits + "-_")


def test_a_cursor_of_an_ordinary_list_is_ten_characters_long() -> None:
    assert len(encode_cursor("tools/list", 100, salt="salt")) == 10


@pytest.mark.parametrize("position", [0, 127, 128, 2**63 - 1])
def test_positions_at_the_edges_come_back(position: int) -> None:
    cursor = encode_cursor("tools/list", position, salt="salt")
    assert decode_cursor(cursor, "tools/list", salt="salt") == position


@pytest.mark.parametrize("position", [-1, 2**63])
def test_a_position_outside_the_range_is_the_callers_mistake(position: int) -> None:
    with pytest.raises(UsageError, match=str(position)):
        encode_cursor("tools/list", position, salt="salt")


def test_a_cursor_of_another_list_is_refused() -> None:
    assert_refused(encode_cursor("prompts/list", 5, salt="salt"))


def test_a_cursor_of_another_server_is_refused() -> None:
    assert_refused(encode_cursor("tools/list", 5, salt="other"))


@pytest.mark.parametrize(
    "text", ["", "A", "5", "-1", "null", "AAAAAAAAAA", "_" * 20, "A" * 21, "é", "a b", "=" * 10]
)
def test_text_that_was_never_a_cursor_is_refused(text: str) -> None:
    assert_refused(text)


@given(POSITIONS, st.data())
def test_a_cut_or_padded_cursor_is_refused(position: int, data: st.DataObject) -> None:
    cursor = encode_cursor("tools/list", position, salt="salt")
    assert_refused(cursor[: data.draw(st.integers(0, len(cursor) - 1))])
    assert_refused(cursor + data.draw(st.sampled_from(["=", "==", "A", "\n", " "])))


@given(st.text() | st.text(alphabet=string.ascii_letters + string.digits + "-_", max_size=20))
def test_random_text_is_refused(text: str) -> None:
    assert_refused(text)


@given(POSITIONS, st.data())
def test_a_cursor_with_one_character_changed_is_refused(position: int, data: st.DataObject) -> None:
    cursor = encode_cursor("tools/list", position, salt="salt")
    index = data.draw(st.integers(0, len(cursor) - 1))
    character = data.draw(
        st.sampled_from(string.ascii_letters + string.digits + "-_+/=") | st.characters()
    )
    assume(character != cursor[index])
    assert_refused(cursor[:index] + character + cursor[index + 1 :])


def test_the_unused_bits_of_the_last_character_are_not_a_second_spelling() -> None:
    cursor = encode_cursor("tools/list", 5, salt="salt")
    for last in string.ascii_letters + string.digits + "-_":
        if last != cursor[-1]:
            assert_refused(cursor[:-1] + last)


@given(POSITIONS, st.text(), st.text(), st.text())
def test_a_cursor_of_an_authors_own_gives_back_its_list_and_text(
    number: int, text: str, kind: str, salt: str
) -> None:
    cursor = encode_text_cursor(kind, number, text, salt=salt)
    assert decode_text_cursor(cursor, kind, salt=salt) == (number, text)
    assert decode_text_cursor(cursor, f"{kind}x", salt=salt) is None
    assert decode_text_cursor(cursor, kind, salt=f"{salt}x") is None
    assert set(cursor) <= set(string.ascii_letters + string.digits + "-_")


def test_a_lone_surrogate_in_an_authors_cursor_comes_back() -> None:
    cursor = encode_text_cursor("resource", 1, "a\ud800", salt="")
    assert decode_text_cursor(cursor, "resource", salt="") == (1, "a\ud800")


@given(st.binary(max_size=40))
def test_bytes_that_were_never_a_cursor_of_an_authors_own_are_refused(data: bytes) -> None:
    cursor = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    assert decode_text_cursor(cursor, "resource", salt="") is None


@given(POSITIONS)
def test_the_two_kinds_of_cursors_are_never_taken_for_each_other(number: int) -> None:
    assert decode_text_cursor(encode_cursor("k", number, salt=""), "k", salt="") is None
    assert_refused(encode_text_cursor("k", number, "", salt=""), "k", "")


@pytest.mark.parametrize("text", ["", "a", "❄", "A" * 20_000, "_" * 15_000])
def test_text_that_was_never_a_cursor_of_an_authors_own_is_refused(text: str) -> None:
    assert decode_text_cursor(text, "resource", salt="") is None


@pytest.mark.parametrize("payload", [b"\x01" + b"a" * 9000, b"\xff" * 9 + b"\x7f"])
def test_a_cursor_that_claims_too_much_is_refused(payload: bytes) -> None:
    cursor = base64.urlsafe_b64encode(payload + bytes(6)).rstrip(b"=").decode()
    assert decode_text_cursor(cursor, "resource", salt="") is None


def test_an_authors_cursor_is_bounded() -> None:
    encode_text_cursor("resource", 1, "x" * 8192, salt="")
    with pytest.raises(UsageError, match="up to 8,192 bytes of text, got 8,193"):
        encode_text_cursor("resource", 1, "x" * 8193, salt="")
