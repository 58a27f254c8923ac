"""The engine: registry, schema, dispatch, one call in flight. Knows no event loop.

Whatever of it is imported first, the lines of our loggers cannot be forged: one log record is one
line, although peers choose names and texts, which may have line breaks.
"""

from __future__ import annotations

import logging
import re

__all__ = ["OneLine", "escape_line"]

# Line breaks, and characters that move the cursor of a terminal or start an escape sequence.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def escape_line(text: str) -> str:
    """Return the text as one line: its control characters are made visible."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class OneLine(logging.Filter):
    """Escapes the messages of a logger, for every handler; tracebacks keep their lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record if its message is not one line."""
        message = record.getMessage()
        if _CONTROL.search(message):
            record.msg, record.args = escape_line(message), ()
        return True


# Filters of a logger do not apply to its children.
for _name in ("dovetail", "dovetail.timing"):
    logging.getLogger(_name).addFilter(OneLine())
