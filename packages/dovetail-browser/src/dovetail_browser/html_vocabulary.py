"""HTML element and attribute names that several modules use."""

from __future__ import annotations

__all__ = ["CODE_LANGUAGE", "SECRET_AUTOCOMPLETE", "VOID", "words"]


def words(text: str) -> frozenset[str]:
    """Split a text into a set of words."""
    return frozenset(text.split())


VOID = words("area base br col embed hr img input link meta source track wbr")
# Classes by which syntax highlighters mark the language of code.
CODE_LANGUAGE = r"(?:^|\s)(?:language|lang|highlight-source|highlight)-([\w+#.-]+)"
# Autocomplete values of fields whose content is secret.
SECRET_AUTOCOMPLETE = r"password|one-time-code|cc-number|cc-csc"
