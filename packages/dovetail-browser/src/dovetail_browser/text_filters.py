"""Filters for text: drop invisible characters, hide secrets."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["drop_invisible", "hide_secrets"]

# Unpaired surrogates, controls, zero-width and direction marks, and the tag and variation
# characters, which can encode whole sentences invisibly. The joiners U+200C and U+200D and the
# first sixteen variation selectors are kept: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_HIDDEN = "[secret]"


def drop_invisible(text: str) -> str:
    """Return the text without invisible characters."""
    return _UNSEEN.sub("", text) if not text.isascii() or _has_controls(text) else text


def _has_controls(text: str) -> bool:
    return _UNSEEN.search(text) is not None


def hide_secrets(text: str, secrets: Collection[str]) -> str:
    """Return the text with these values replaced, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, _HIDDEN)
    return text
