"""The tools of the transcripts: what they read, and that they can fail."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dovetail.spec.revisions import REVISIONS, V2025_03_26, V2025_11_25, V2026_07_28
from tests.transcripts import script as script_module
from tests.transcripts.matching import fill_in, find_differences, spell
from tests.transcripts.player import play, raw_bytes
from tests.transcripts.record import rewrite
from tests.transcripts.script import Kind, read_script, read_window

PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
PONG = '{"jsonrpc": "2.0", "id": 1, "result": {}}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(script_module, "FOLDER", tmp_path)
    (tmp_path / "2025-11-25").mkdir()
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "2025-11-25" / "page.txt"
    path.write_text(text, "utf-8")
    return path


def run(folder: Path, text: str) -> None:
    asyncio.run(play(read_script(write(folder, text)), V2025_11_25, "memory"))


def test_a_transcript_that_holds_passes(folder: Path) -> None:
    run(folder, f"--> {PING}\n<-- {PONG}\n==> silence\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f'--> {PING}\n<-- {{"jsonrpc": "2.0", "id": 2, "result": {{}}}}\n', r"\$\.id: expected 2"),
        (f'--> {PING}\n<-- {{"jsonrpc": "2.0", "id": 1}}\n', r"\$\.result: not expected"),
        (f"--> {PING}\n==> silence\n", "expected silence, got"),
        (f"--> {PING}\n", "after the end of the transcript came"),
        (f'--> {PING}\n<~~ {{"id": 7}}\n', "none of those left expects"),
        (f"--> {PING}\n<-- {PONG}\n==> close\n<-- {PONG}\n", "the server closed"),
    ],
)
def test_a_transcript_that_does_not_hold_fails(folder: Path, text: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        run(folder, text)


def test_what_does_not_come_is_missed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.transcripts.player.CAP", 0.01)
    with pytest.raises(AssertionError, match="nothing came"):
        run(folder, f"--> {PING}\n<-- {PONG}\n<-- {PONG}\n")


def test_lines_have_kinds_guards_and_continuations(folder: Path) -> None:
    (folder / "more.inc").write_text("let x = 1\n", "utf-8")
    path = write(
        folder,
        "# Title\n# guards: a.b c.d\nserver: bare\nrevisions: 2025-03-26..2025-11-25\n"
        'include: more.inc\n\n--> {"a":\n    1}\n[..2025-06-18] <-- {}\n<~~ {}\n'
        "--> raw: x\n==> close\n",
    )
    script = read_script(path)
    assert (script.server, script.clauses) == ("bare", ["a.b", "c.d"])
    assert script.revisions == REVISIONS[1:4]
    assert [step.kind for step in script.steps] == [
        Kind.LET,
        Kind.SEND,
        Kind.EXPECT,
        Kind.EXPECT_UNORDERED,
        Kind.SEND_RAW,
        Kind.CLOSE,
    ]
    assert script.steps[1].text == '{"a": 1}'
    assert len(script.steps_at(V2025_03_26)) == 6
    assert len(script.steps_at(V2025_11_25)) == 5


@pytest.mark.parametrize("text", ["what is this\n", "# nothing is sent\n"])
def test_a_file_that_makes_no_sense_is_refused(folder: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"page\.txt"):
        read_script(write(folder, text))


def test_windows() -> None:
    assert read_window("2025-03-26") == (V2025_03_26,)
    assert read_window("2025-11-25..") == (V2025_11_25, V2026_07_28)
    assert read_window("..2025-03-26,2026-07-28") == (*REVISIONS[:2], V2026_07_28)
    with pytest.raises(ValueError, match="no revision"):
        read_window("2025-03-27")


def test_references_are_filled_in() -> None:
    names = {"state": 's"', "meta": {"a": 1}}
    assert fill_in('{"x": "$state", "y": $meta}', names) == '{"x": "s\\"", "y": {"a": 1}}'
    assert fill_in('{"x": "A$state"}', names) == '{"x": "As\\""}'
    assert fill_in('{"$ref": "#/$defs/A"}', names) == '{"$ref": "#/$defs/A"}'
    with pytest.raises(KeyError, match="stat is not known"):
        fill_in('"$stat"', names)


@pytest.mark.parametrize(
    ("expected", "actual", "differences"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1.0}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, ["$.a: expected 1, got true"]),
        ({"a": None}, {}, ["$.a: missing, expected null"]),
        ([1, 2], [1, 3], ["$[1]: expected 2, got 3"]),
        ([1], [1, 2], ["$: expected 1 items, got 2"]),
        ("a <b> c", "a x c", []),
        ("a <b> c", "a c", ['$: expected "a <b> c", got "a c"']),
        ("a", 1, ['$: expected "a", got 1']),
        ("<any>", {"x": 1}, []),
    ],
)
def test_differences_are_named(expected: Any, actual: Any, differences: list[str]) -> None:
    assert list(find_differences(expected, actual, {})) == differences


def test_placeholders_capture() -> None:
    names: dict[str, Any] = {}
    assert not list(
        find_differences({"a": "<x>", "b": "no. <y>."}, {"a": [1], "b": "no. 7."}, names)
    )
    assert names == {"x": [1], "y": "7"}


def test_raw_lines_are_bytes() -> None:
    assert raw_bytes(r"a\xff\\x@{[*3}@{}*2}") == b"a\xff\\x[[[}}"


def test_long_messages_are_broken_where_they_can_be_read_again() -> None:
    message = {"a": ["word"] * 40, "b": [{"c": "d" * 80}, {}], "e": {"known": 1}}
    text = spell(message, {"k": {"known": 1}})
    assert max(map(len, text.splitlines())) <= 100
    assert all(line.startswith(" ") for line in text.splitlines()[1:])
    assert eval(text.replace("$k", "{'known': 1}")) == message


def test_recording_fills_in_and_keeps_what_holds(folder: Path) -> None:
    call = PING.replace('"ping"', '"tools/call"')
    path = write(
        folder,
        f"# Page\nrevisions: 2025-06-18..2025-11-25\n\n--> {PING}\n"
        '<-- {"jsonrpc": "2.0", "id": 1, "result": "<kept>"}\n'
        f"--> {call}\n<-- {PONG}\n[2025-11-25] --> {PING}\n",
    )
    rewrite(path)
    written = path.read_text("utf-8").splitlines()
    assert written[4] == '<-- {"jsonrpc": "2.0", "id": 1, "result": "<kept>"}'
    assert written[5] == f"--> {call}"
    assert written[6].startswith("<-- {")
    assert "-32602" in written[10]
    assert written[-1] == f"[2025-11-25] <-- {PONG}"
