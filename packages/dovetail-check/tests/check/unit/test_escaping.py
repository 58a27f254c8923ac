"""Text of a server cannot control a terminal, a log of a CI system or a document."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dovetail.cli.app import app
from dovetail_check.escaping import clean, escape_json, shorten, shown
from dovetail_check.reports import FORMATS

COMMANDS = "::error::owned ::stop-commands::x ##[error]owned ##vso[task.x]y ##teamcity[z]"
CONTROLS = "\x1b[31m\x9b31m\u202eevil\u2066\u200b\u2028\x85\r\x00\U000e0041"
HOSTILE = f"line\n{COMMANDS}\n{CONTROLS}"
UNSAFE = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u202a-\u202e\u2066-\u2069\U000e0041]"
)
IS_COMMAND = re.compile(r"^\s*::[\w-]+.*?::|##\w*\[", re.MULTILINE)
# Everything that it names is hostile.
SERVER = f"""
import json, sys
BAD = {HOSTILE!r}
TOOL = {{"name": BAD, "title": BAD, "inputSchema": {{"type": BAD}}, BAD: BAD}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    results = {{
        "initialize": {{
            "protocolVersion": asked.get("params", {{}}).get("protocolVersion"),
            "capabilities": {{"tools": {{}}, BAD: {{}}}},
            "serverInfo": {{"name": BAD, "version": BAD}},
        }},
        "tools/list": {{"tools": [TOOL, TOOL]}},
        "ping": {{BAD: BAD}},
    }}
    answer = {{"jsonrpc": "2.0", "id": asked["id"]}}
    if asked["method"] in results:
        answer["result"] = results[asked["method"]]
    else:
        answer["error"] = {{"code": BAD, "message": BAD}}
    print(json.dumps(answer), flush=True)
    print(BAD, file=sys.stderr, flush=True)
"""


def test_unsafe_characters_become_visible() -> None:
    assert clean("a\nb\x1b\x9b\u202e\U000e0041") == "a\\nb\\x1b\\x9b\\u202e\\ue0041"
    assert clean("::error::x and ##vso[x]") == "\\x3a:error::x and \\x23#vso[x]"
    assert clean("std::vector and # heading: 漢字 ✓") == "std::vector and # heading: 漢字 ✓"


def test_json_keeps_its_value() -> None:
    value = {HOSTILE: [HOSTILE]}
    document = escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(document) == value
    assert not UNSAFE.search(document)
    assert not IS_COMMAND.search(document)


def test_a_shortened_text_ends_with_a_word() -> None:
    text = "a word " * 100
    short = shorten(text, 60)
    assert short.startswith("a word a word")
    assert short.endswith(" … (700 characters)")
    assert set(short.removesuffix(" … (700 characters)").split()) == {"a", "word"}
    assert len(short) <= 60
    assert shorten("short", 60) == "short"


def test_no_format_shows_unsafe_text(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    outputs = [
        word
        for name in FORMATS
        for word in ("--format", name, "-o", str(tmp_path / f"report.{name}"))
    ]
    selected = [word for glob in ("tools.*", "ping.*", "base.*") for word in ("--only", glob)]
    words = ["check", *outputs, *selected, "--revision", "2025-11-25"]
    done = CliRunner().invoke(app, words, obj=[sys.executable, str(server)])
    assert done.exit_code == 1, done.output
    for name in FORMATS:
        shown = (tmp_path / f"report.{name}").read_text("utf-8")
        # The format `github` consists of commands; a server adds none.
        own = r"^::(?:error|warning|notice) title=[^:]*::"
        rest = re.sub(own, "", shown, flags=re.MULTILINE) if name == "github" else shown
        assert "owned" in shown, name
        assert UNSAFE.findall(shown) == [], name
        assert IS_COMMAND.findall(rest) == [], name


@pytest.mark.parametrize("flag", ["--json", None])
def test_a_comparison_shows_no_unsafe_text(flag: str | None, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    report = tmp_path / "report.json"
    words = ["check", "-o", str(report), "--only", "ping.*", "--revision", "2025-11-25"]
    CliRunner().invoke(app, words, obj=[sys.executable, str(server)])
    healthy = tmp_path / "healthy.json"
    healthy.write_text(report.read_text().replace('"fail"', '"pass"'))
    done = CliRunner().invoke(app, ["diff", *([flag] if flag else []), str(healthy), str(report)])
    assert done.exit_code == 1, done.output
    assert "ping.empty-result" in done.output
    assert UNSAFE.findall(done.output) == []


def test_a_value_in_a_note_is_never_cut_inside() -> None:
    books = {"result": [{"title": f"Book {n}", "status": "to read"} for n in range(6)]}
    text = shown(books)
    assert text.startswith("{'result': [{'status': 'to read', 'title': 'Book 0'}, ")
    assert text.endswith(", ...]}")
    assert text.count("{") == text.count("}") == 5
    long = shown("x" * 1000)
    assert (long[:2], long[-2:], "..." in long) == ("'x", "x'", True)
    assert len(shown([[["deep"] * 9] * 9] * 9)) < 1000
