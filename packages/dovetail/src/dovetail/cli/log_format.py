"""`--log-format`: the format of the lines that a served process writes to stderr."""

from __future__ import annotations

import logging
import sys

__all__ = ["choose_log_format", "log_format_arguments", "make_formatter", "write_line"]


class _Chosen:
    """The format of this process."""

    is_json = False


def choose_log_format(value: str) -> None:
    """Use the format `text` or `json` in this process."""
    _Chosen.is_json = value == "json"
    if _Chosen.is_json:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(make_formatter())
        logging.getLogger().addHandler(handler)


def log_format_arguments() -> list[str]:
    """Return the option for a process that this one starts."""
    return ["--log-format=json"] if _Chosen.is_json else []


def make_formatter(text: str | None = None) -> logging.Formatter:
    """Return the chosen formatter; `text` is the format of text lines."""
    if not _Chosen.is_json:
        return logging.Formatter(text)
    from dovetail.observability.json_formatter import JsonFormatter  # noqa: PLC0415 - only for json

    return JsonFormatter()


def write_line(text: str, level: int = logging.INFO) -> None:
    """Write a line about the process itself to stderr."""
    if _Chosen.is_json:
        record = logging.LogRecord("dovetail", level, "", 0, text, (), None)
        text = make_formatter().format(record)
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
