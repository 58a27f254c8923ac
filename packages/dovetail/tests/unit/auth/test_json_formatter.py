"""Log records as JSON lines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from opentelemetry.sdk.trace import TracerProvider

from dovetail.observability import JsonFormatter, Redaction

CANARY = "canary4711"


def write(text: str, *args: Any, formatter: JsonFormatter | None = None, **given: Any) -> Any:
    """The line of a record, decoded."""
    record = logging.LogRecord(
        "app.db", logging.WARNING, "f.py", 1, text, args, given.pop("exc_info", None), **given
    )
    record.created = datetime(2026, 1, 2, 3, 4, 5, 678, UTC).timestamp()
    line = (formatter or JsonFormatter()).format(record)
    assert "\n" not in line
    return json.loads(line)


def test_a_record_is_one_object() -> None:
    assert write("%d rows\nread", 3) == {
        "time": "2026-01-02T03:04:05.000678Z",
        "level": "WARNING",
        "logger": "app.db",
        "message": "3 rows\nread",
    }


def test_a_record_in_a_span_has_its_ids() -> None:
    with TracerProvider().get_tracer("test").start_as_current_span("work") as span:
        line = write("a")
    ids = span.get_span_context()
    assert line["trace_id"] == f"{ids.trace_id:032x}"
    assert line["span_id"] == f"{ids.span_id:016x}"


def test_an_exception_and_a_stack_are_part_of_the_object() -> None:
    try:
        raise ValueError("no")
    except ValueError as error:
        line = write("a", exc_info=(ValueError, error, error.__traceback__), sinfo="the stack")
    assert line["exception"].endswith("ValueError: no")
    assert line["stack"] == "the stack"


def test_secrets_are_redacted() -> None:
    error = ValueError(f"Bearer {CANARY}")
    line = write(f"GET /?token={CANARY}", exc_info=(ValueError, error, None))
    assert CANARY not in json.dumps(line)
    custom = JsonFormatter(redaction=Redaction(patterns=["canary[0-9]+"]))
    assert write("it is %s", CANARY, formatter=custom)["message"] == "it is [redacted]"


def test_text_that_cannot_be_encoded_is_replaced() -> None:
    assert write("name: \udc80")["message"] == "name: ?"
