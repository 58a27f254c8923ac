"""The lines that a served process writes to stderr: `--log-format` and `--access-log`.

Control characters are escaped, so that a server cannot rewrite the terminal.
"""

from __future__ import annotations

import logging
import re
import sys

__all__ = [
    "LOG_LEVELS",
    "choose_log_format",
    "choose_log_level",
    "chosen_log_format",
    "chosen_log_level",
    "escape_control",
    "log_requests",
    "write_line",
]

LOG_LEVELS = ("debug", "info", "warning", "error")

# Characters that move the cursor or start an escape sequence, except tab and newline.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def escape_control(text: str) -> str:
    """The text with its control characters made visible."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class _Chosen:
    """The format and the level of this process."""

    is_json = False
    level: str | None = None


def choose_log_format(value: str) -> None:
    """Use the format `text` or `json` in this process."""
    _Chosen.is_json = value == "json"
    if _Chosen.is_json:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_make_formatter())
        logging.getLogger().addHandler(handler)


def chosen_log_format() -> str:
    """Return the format of this process."""
    return "json" if _Chosen.is_json else "text"


def choose_log_level(level: str | None) -> None:
    """Write log lines from this level on to stderr; None leaves logging as it is."""
    _Chosen.level = level
    if level is None:
        return
    root = logging.getLogger()
    root.setLevel(level.upper())
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_make_formatter("%(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)


def chosen_log_level() -> str | None:
    """Return the level of this process, if one was chosen."""
    return _Chosen.level


def _make_formatter(text: str | None = None) -> logging.Formatter:
    """Return the chosen formatter; `text` is the format of text lines."""
    if not _Chosen.is_json:
        return logging.Formatter(text)
    from dovetail.observability.logs import JsonFormatter  # noqa: PLC0415 - only for json

    return JsonFormatter()


def write_line(text: str, level: int = logging.INFO) -> None:
    """Write a line about the process itself to stderr."""
    if _Chosen.is_json:
        record = logging.LogRecord("dovetail", level, "", 0, text, (), None)
        text = _make_formatter().format(record)
    # An error of the start may have a traceback.
    sys.stderr.write(f"{escape_control(text)}\n")
    sys.stderr.flush()


class _WithoutQuery(logging.Filter):
    """Removes the query of a URL, which may contain a secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        # uvicorn logs: client, method, path with query, HTTP version, status
        if isinstance(record.args, tuple) and len(record.args) == 5:
            client, method, path, *rest = record.args
            record.args = (client, method, str(path).partition("?")[0], *rest)
        return True


def log_requests() -> None:
    """Send uvicorn's access log to stderr."""
    logger = logging.getLogger("uvicorn.access")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_make_formatter("%(asctime)s %(message)s"))
    handler.addFilter(_WithoutQuery())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
