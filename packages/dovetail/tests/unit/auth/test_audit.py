"""The audit log."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from dovetail import Server
from dovetail.auth import Guard
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.observability import AuditLog
from tests.unit.core.test_hooks import talk
from tests.unit.fakes import make_request
from tests.unit.talk import call


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_call_is_one_line(path: Path) -> None:
    talk(AuditLog(path), name="echo", arguments={"text": "a"})
    [line] = lines_of(path)
    assert line.pop("time").endswith("Z")
    assert line.pop("ms") > 0
    assert line.pop("bytes") > 100
    digest = hashlib.sha256(b'{"text": "a"}').hexdigest()
    assert line == {
        "principal": "anna",
        "transport": "stdio",
        "revision": "2026-07-28",
        "method": "tools/call",
        "outcome": "ok",
        "name": "echo",
        "arguments": f"sha256:{digest}",
    }


def test_failed_and_rejected_calls_are_logged(path: Path) -> None:
    audit = AuditLog(path)
    for name in ("crash", "absent"):
        talk(audit, name=name, arguments={})
    talk(audit, method="no/such")
    found = [(line["outcome"], line.get("code")) for line in lines_of(path)]
    assert found == [("tool_error", None), ("error", -32602), ("error", -32601)]


def test_arguments_are_logged_redacted_or_not_at_all(path: Path) -> None:
    arguments = {"text": "Bearer abcdefgh12345678", "password": "x", "n": [1]}
    talk(AuditLog(path, arguments="redacted"), name="echo", arguments=arguments)
    talk(AuditLog(path, arguments="none"), name="echo", arguments=arguments)
    clean, none = lines_of(path)
    assert clean["arguments"] == {"text": "[redacted]", "password": "[redacted]", "n": [1]}
    assert "arguments" not in none


def test_names_from_the_caller_are_redacted_and_cut(path: Path) -> None:
    key = "dtk_0123456789ab_abcdefghijklmnopqrstuvwxyz"
    talk(AuditLog(path), name=key, arguments={})
    talk(AuditLog(path), name="n" * 1000, arguments={})
    # A secret is redacted before the name is cut: half of it would not be recognized.
    talk(AuditLog(path), name="n" * 240 + f" {key}", arguments={})
    names = ["[redacted]", "n" * 256 + "[cut]", "n" * 240 + " [redacted]"]
    assert [line["name"] for line in lines_of(path)] == names
    talk(AuditLog(path), method=key)
    assert lines_of(path)[-1]["method"] == "[redacted]"


def test_rejected_requests_are_logged_at_a_limited_rate(path: Path) -> None:
    audit = AuditLog(path)
    for _ in range(1000):
        audit.record_rejection("http", 401, "no credentials")
    lines = lines_of(path)
    assert 50 <= len(lines) < 100
    assert lines[0] == {
        "time": lines[0]["time"],
        "transport": "http",
        "outcome": "rejected",
        "status": 401,
        "reason": "no credentials",
    }


def test_the_next_line_counts_the_skipped_ones(path: Path) -> None:
    audit = AuditLog(path)
    audit._skipped = 7
    audit.record_rejection("http", 401, "x")
    audit.record_rejection("http", 401, "x")
    assert [line.get("more") for line in lines_of(path)] == [7, None]


def test_without_a_path_it_logs_to_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stderr", written)
    audit = AuditLog()
    talk(audit, method="tools/list")
    audit.close()
    written.seek(0)
    assert json.loads(written.read())["method"] == "tools/list"


class Full:
    """A file with no room left."""

    def __init__(self) -> None:
        self.has_room = False
        self.lines = 0

    def write(self, line: bytes) -> None:
        if not self.has_room:
            raise OSError("no room")
        self.lines += 1


def test_a_write_error_is_logged_once_and_calls_continue(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = AuditLog(path)
    audit.close()
    audit._file = Full()  # type: ignore[assignment]
    caplog.set_level(logging.ERROR)
    for _ in range(3):
        assert "result" in talk(audit, method="tools/list")
    assert caplog.text.count("cannot be written") == 1


def test_in_strict_mode_calls_are_rejected_until_the_log_is_writable(path: Path) -> None:
    audit = AuditLog(path, strict=True)
    audit.close()
    audit._file = full = Full()  # type: ignore[assignment]
    assert "result" in talk(audit, method="tools/list")
    assert talk(audit, method="tools/list")["error"]["code"] == -32603
    full.has_room = True
    assert "result" in talk(audit, method="tools/list")
    assert full.lines == 2


@pytest.mark.parametrize(
    "options", [{"arguments": "all"}, {"max_bytes": 0}, {"keep": -1}, {"path": "/no/such/folder/x"}]
)
def test_invalid_options_are_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        AuditLog(**options)


def test_invalid_json_arguments_are_marked(path: Path) -> None:
    audit = AuditLog(path, arguments="redacted")

    class Odd:
        raw_arguments = b"{"

    assert audit._format_arguments(Odd()) == "[invalid JSON]"  # type: ignore[arg-type]


def test_a_guard_logs_rejected_requests(path: Path) -> None:
    class Nobody:
        credential_headers = ()

        def authenticate(self, credentials: object) -> Principal | None:
            return None

    guard = Guard(Nobody(), audit=AuditLog(path))
    guard.protect(Server("s").engine, "http")
    guard.identify(make_request({}))
    assert lines_of(path)[0]["reason"] == "no credentials"


def test_lines_without_personal_data_go_to_a_function() -> None:
    lines: list[str] = []
    for key in (b"k" * 32, b"k" * 32, None):
        audit = AuditLog(lines.append, arguments="names", principals="digest", key=key)
        talk(audit, name="echo", arguments={"text": "hunter2", "b": 1})
    found = [json.loads(line) for line in lines]
    assert [line["arguments"] for line in found] == [["b", "text"]] * 3
    same, again, other = (line["principal"] for line in found)
    assert same == again != other
    assert "anna" not in "".join(lines) and "hunter2" not in "".join(lines)


def test_a_function_that_fails_does_not_change_the_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def write(line: str) -> None:
        raise ValueError("no room")

    assert talk(AuditLog(write), name="echo", arguments={"text": "a"})["result"]
    assert "the audit log cannot be written: no room" in caplog.text


def test_a_line_has_the_ids_of_the_span_around_it() -> None:
    lines: list[str] = []
    with TracerProvider().get_tracer("test").start_as_current_span("work") as span:
        talk(AuditLog(lines.append), name="echo", arguments={"text": "a"})
    assert json.loads(lines[0])["trace_id"] == f"{span.get_span_context().trace_id:032x}"


def test_a_server_without_a_transport_has_an_audit_log_too() -> None:
    lines: list[str] = []
    server = Server("s", guard=Guard(audit=AuditLog(lines.append)))
    server.tools.add(lambda: "x", name="t", blocking=False)
    call(server, "t")
    assert json.loads(lines[0])["name"] == "t"


def test_an_unknown_way_to_log_principals_is_refused() -> None:
    with pytest.raises(UsageError, match="'id' or 'digest'"):
        AuditLog(print, principals="all")  # type: ignore[arg-type]
