"""Names of HTML that several modules go by."""

from __future__ import annotations

__all__ = ["CODE_LANGUAGE", "SECRET_AUTOCOMPLETE", "VOID", "words"]


def words(text: str) -> frozenset[str]:
    """A set written as one text: tables of names stay readable."""
    return frozenset(text.split())


VOID = words("area base br col embed hr img input link meta source track wbr")
# Classes by which highlighters name the language of code.
CODE_LANGUAGE = r"(?:^|\s)(?:language|lang|highlight-source|highlight)-([\w+#.-]+)"
# Fields whose value is nobody's business, whatever their type.
SECRET_AUTOCOMPLETE = r"password|one-time-code|cc-number|cc-csc"
