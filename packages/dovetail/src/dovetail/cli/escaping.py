"""Makes control characters visible, so that a server cannot rewrite the terminal."""

from __future__ import annotations

import re

__all__ = ["escape_control"]

# Characters that move the cursor or start an escape sequence, except tab and newline.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def escape_control(text: str) -> str:
    """The text with its control characters made visible."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
