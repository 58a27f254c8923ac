"""Framing: lines and events do not depend on how the input is split; limits hold."""

from __future__ import annotations

import itertools
import json
import re
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dovetail.errors import PeerError, UsageError
from dovetail.wire.framing import (
    LineBuffer,
    Oversized,
    SseBuffer,
    SseEvent,
    encode_line,
    encode_sse,
    encode_sse_comment,
)

CUTS = st.lists(st.integers(0, 60))
LINE_STREAMS = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"\r", b" ", b"a", b"bc", b'{"id":1}', b"0123456789"])
).map(b"".join)
SSE_LINES = [b"data", b"data:", b"data: x", b"event: e", b"id: 1", b"id", b"retry: 5", b": c"]
SSE_STREAMS = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n"])
    | st.sampled_from(SSE_LINES)
    | st.sampled_from([b":", b" ", b"\xef\xbb\xbf", b"\0", b"other: y", b"\xff"])
).map(b"".join)


def pieces(stream: bytes, cuts: list[int]) -> Iterator[bytes]:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return (stream[start:end] for start, end in itertools.pairwise(edges))


def read_lines(stream: bytes, cuts: list[int], limit: int) -> list[bytes | Oversized]:
    buffer = LineBuffer(limit)
    lines = [line for piece in pieces(stream, cuts) for line in buffer.feed(piece)]
    last = buffer.finish()
    return lines if last is None else [*lines, last]


def read_events(stream: bytes, cuts: list[int] | None = None, limit: int = 1000) -> list[SseEvent]:
    buffer = SseBuffer(limit)
    return [event for piece in pieces(stream, cuts or []) for event in buffer.feed(piece)]


def test_complete_lines_are_returned_without_line_ends() -> None:
    assert LineBuffer(100).feed(b"one\ntwo\r\nthree\n") == [b"one", b"two", b"three"]


def test_a_split_line_is_returned_when_it_ends() -> None:
    buffer = LineBuffer(100)
    assert buffer.feed(b"o") == []
    assert buffer.feed(b"") == []
    assert buffer.feed(b"n") == []
    assert buffer.feed(b"e\ntwo\nth") == [b"one", b"two"]
    assert buffer.feed(b"ree\r") == []
    assert buffer.feed(b"\n") == [b"three"]


def test_blank_lines_are_skipped() -> None:
    buffer = LineBuffer(100)
    assert buffer.feed(b"\n \t\n\r\none\n \r") == [b"one"]
    assert buffer.feed(b"\n\n") == []


def test_only_one_carriage_return_belongs_to_the_line_end() -> None:
    assert LineBuffer(100).feed(b"a\r\r\n\rb\n") == [b"a\r", b"\rb"]


def test_the_last_line_needs_no_newline() -> None:
    buffer = LineBuffer(100)
    assert buffer.feed(b"one\ntwo\r") == [b"one"]
    assert buffer.finish() == b"two"
    assert buffer.finish() is None


def test_a_blank_rest_is_not_a_last_line() -> None:
    buffer = LineBuffer(100)
    assert buffer.feed(b" \r") == []
    assert buffer.finish() is None


def test_a_line_of_exactly_the_limit_is_accepted() -> None:
    assert LineBuffer(4).feed(b"1234\n12345\n") == [b"1234", Oversized(limit=4, length_seen=5)]
    assert read_lines(b"1234\n12345", [2, 6], 4) == [b"1234", Oversized(4, 5)]


def test_an_oversized_line_is_marked_once_and_the_next_line_works() -> None:
    buffer = LineBuffer(4)
    assert [buffer.feed(b"123") for _ in range(10)] == [[]] * 10
    assert buffer.feed(b"\nok\n") == [Oversized(4, 30), b"ok"]


def test_an_endless_line_is_marked_when_the_stream_ends() -> None:
    buffer = LineBuffer(4)
    assert buffer.feed(b"12345") == []
    assert buffer.finish() == Oversized(4, 5)
    assert buffer.feed(b"ok\n") == [b"ok"]


@given(LINE_STREAMS, CUTS, st.integers(1, 12))
@example(b"a\r\n", [2], 5)
@example(b"0123456789\n", [5], 5)
def test_lines_do_not_depend_on_the_splits(stream: bytes, cuts: list[int], limit: int) -> None:
    lines = read_lines(stream, cuts, limit)
    assert lines == read_lines(stream, [], limit)
    assert lines == list(expected_lines(stream, limit))


def expected_lines(stream: bytes, limit: int) -> Iterator[bytes | Oversized]:
    for line in stream.split(b"\n"):
        if len(line) > limit:
            yield Oversized(limit, len(line))
        elif line.strip():
            yield line.removesuffix(b"\r")


def test_an_oversized_line_is_not_kept_in_memory() -> None:
    buffer = LineBuffer(100_000)
    chunk = b"x" * 10_000
    tracemalloc.start()
    for _ in range(1000):
        buffer.feed(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000
    assert buffer.feed(b"\nok\n") == [Oversized(100_000, 10_000_000), b"ok"]


def test_a_line_fed_byte_by_byte_takes_no_more_memory_than_its_length() -> None:
    buffer = LineBuffer(20_000)
    tracemalloc.start()
    for _ in range(20_000):
        buffer.feed(b"x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60_000


def test_a_long_line_in_many_pieces_takes_linear_time() -> None:
    buffer = LineBuffer(2**24)
    chunk = b"x" * 2**16
    start = time.process_time()
    for _ in range(2**8):
        buffer.feed(chunk)
    assert buffer.feed(b"\n") == [b"x" * 2**24]
    # Copying the whole line for every piece would move 2 GB.
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_at_least_one_byte(limit: int) -> None:
    with pytest.raises(UsageError, match=f"got {limit}"):
        LineBuffer(limit)
    with pytest.raises(UsageError, match=f"got {limit}"):
        SseBuffer(limit)


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # The examples of the standard.
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [SseEvent(b"message", b"YHOO\n+2\n10")]),
        (b"data\n\ndata\ndata\n\ndata:", [SseEvent(b"message", b""), SseEvent(b"message", b"\n")]),
        (b"data:test\n\ndata: test\n\n", [SseEvent(b"message", b"test")] * 2),
        (
            b": test stream\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n",
            [
                SseEvent(b"message", b"first", b"1"),
                SseEvent(b"message", b"second", b""),
                SseEvent(b"message", b" third"),
            ],
        ),
        # Line ends.
        (b"data: a\rdata: b\r\rdata: c\r\n\r\n", [(b"message", b"a\nb"), (b"message", b"c")]),
        (b"data: a\n\r\n", [SseEvent(b"message", b"a")]),
        # The byte order mark goes once, at the start.
        (b"\xef\xbb\xbfdata: a\n\n", [SseEvent(b"message", b"a")]),
        (b"\xef\xbb\xbf\ndata: a\n\n", [SseEvent(b"message", b"a")]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [SseEvent(b"message", b"a")]),
        # Fields.
        (b"event: add\ndata: 1\n\ndata: 2\n\n", [(b"add", b"1"), (b"message", b"2")]),
        (b"event: add\nevent\ndata: 1\n\n", [SseEvent(b"message", b"1")]),
        (b"id: a\0b\ndata: 1\n\n", [SseEvent(b"message", b"1")]),
        (b"retry: 1500\ndata: 1\n\n", [SseEvent(b"message", b"1", None, 1500)]),
        (b"retry: 1.5\nretry: -1\nretry:\ndata: 1\n\n", [SseEvent(b"message", b"1")]),
        (b"retry: " + b"9" * 900 + b"\ndata: 1\n\n", [SseEvent(b"message", b"1")]),
        (b"Data: 1\n data: 2\nunknown: 3\ndata: 4\n\n", [SseEvent(b"message", b"4")]),
        (b"data: \xff: :\n\n", [SseEvent(b"message", b"\xff: :")]),
        # Without data, or without its end, there is no event.
        (b"event: add\nid: 1\n\n\n\n", []),
        (b"data: 1\n", []),
    ],
)
def test_events_follow_the_standard(
    stream: bytes, events: list[SseEvent | tuple[bytes, bytes]]
) -> None:
    expected = [SseEvent(*event) for event in events]
    assert read_events(stream) == expected
    assert read_events(stream, list(range(len(stream)))) == expected


def test_an_event_is_returned_before_the_second_half_of_its_line_end() -> None:
    buffer = SseBuffer(100)
    assert buffer.feed(b"data: 1\r\n\r") == [SseEvent(b"message", b"1")]
    assert buffer.feed(b"") == []
    assert buffer.feed(b"\n") == []
    assert buffer.feed(b"\ndata: 2\n\n") == [SseEvent(b"message", b"2")]


def test_the_last_id_and_the_retry_time_are_kept() -> None:
    buffer = SseBuffer(100)
    assert (buffer.last_event_id, buffer.retry) == (b"", None)
    assert buffer.feed(b"id: 7\nretry: 20\n") == []
    assert (buffer.last_event_id, buffer.retry) == (b"", 20)
    assert buffer.feed(b"\ndata: 1\n\n") == [SseEvent(b"message", b"1")]
    assert (buffer.last_event_id, buffer.retry) == (b"7", 20)
    buffer.feed(b"id\n\n")
    assert buffer.last_event_id == b""


@given(SSE_STREAMS, CUTS, st.integers(1, 40))
def test_events_do_not_depend_on_the_splits(stream: bytes, cuts: list[int], limit: int) -> None:
    try:
        expected = read_events(stream, limit=limit)
    except PeerError:
        with pytest.raises(PeerError):
            read_events(stream, cuts, limit)
    else:
        assert read_events(stream, cuts, limit) == expected


@pytest.mark.parametrize(
    "stream",
    [b"data: 12345", b"data: 12345\n\n", b"data: 1\ndata", b"data: 1\nid: 2\n\n", b":1234567890"],
)
def test_an_event_beyond_the_limit_ends_the_stream_and_names_the_limit(stream: bytes) -> None:
    with pytest.raises(PeerError, match="limit of 10 bytes"):
        read_events(stream, limit=10)
    with pytest.raises(PeerError, match="limit of 10 bytes"):
        read_events(stream, list(range(len(stream))), limit=10)


def test_the_limit_counts_one_event_and_no_comments() -> None:
    assert len(read_events(b"data: 1234\n\n" * 5, limit=10)) == 5
    assert read_events(b": comment\n" * 5 + b"data: 1\n\n", limit=10) == [
        (b"message", b"1", None, None)
    ]


def test_an_event_is_encoded_with_its_fields() -> None:
    assert encode_sse(b"{}") == b"data: {}\n\n"
    assert encode_sse(b"") == b"data: \n\n"
    assert (
        encode_sse(b"{}", event=b"endpoint", id=b"7", retry=0)
        == b"event: endpoint\nid: 7\nretry: 0\ndata: {}\n\n"
    )


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b" ", b":", b"\r\n", b"data: "])).map(b"".join),
    st.sampled_from([None, b"add", b" x", b"a:b"]),
    st.sampled_from([None, b"", b"7", b" 7 "]),
    st.none() | st.integers(0, 10**14),
)
def test_encoded_events_are_decoded_again(
    data: bytes, event: bytes | None, id: bytes | None, retry: int | None
) -> None:
    wire = encode_sse_comment(b"ping") + encode_sse(data, event=event, id=id, retry=retry)
    newlines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert read_events(wire, limit=10_000) == [SseEvent(event or b"message", newlines, id, retry)]


def test_a_comment_is_one_line() -> None:
    assert encode_sse_comment() == b": \n\n"
    assert encode_sse_comment(b"ping") == b": ping\n\n"


@pytest.mark.parametrize("text", [b"a\nb", b"a\rb"])
def test_a_line_end_cannot_be_injected_into_a_field(text: bytes) -> None:
    with pytest.raises(UsageError, match="event of an event must be one line"):
        encode_sse(b"", event=text)
    with pytest.raises(UsageError, match="id of an event must be one line"):
        encode_sse(b"", id=text)
    with pytest.raises(UsageError, match="comment"):
        encode_sse_comment(text)


def test_fields_that_a_reader_would_ignore_are_rejected() -> None:
    with pytest.raises(UsageError, match="NUL"):
        encode_sse(b"", id=b"a\0")
    with pytest.raises(UsageError, match="got -1"):
        encode_sse(b"", retry=-1)


# -- writing lines ------------------------------------------------------------------------------

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
# What separates tokens, drawn anew for each place.
WHITE_SPACE = st.text("\n\r\t ", max_size=3)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@given(value=JSON_VALUES, data=st.data())
def test_any_json_becomes_one_line_that_means_the_same(value: object, data: st.DataObject) -> None:
    tokens = TOKEN.findall(json.dumps(value, ensure_ascii=False))
    spread = "".join(data.draw(WHITE_SPACE) + token for token in tokens) + data.draw(WHITE_SPACE)
    line = encode_line(spread.encode())
    assert line.endswith(b"\n")
    # `str.splitlines` ends lines at every character that any reader might.
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == value


def test_a_message_on_one_line_is_not_changed() -> None:
    assert encode_line(b'{"text":"\\n caf\xc3\xa9"}') == b'{"text":"\\n caf\xc3\xa9"}\n'
