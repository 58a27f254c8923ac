"""Types of tool parameters, with the descriptions that clients see."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "MAX_CHARS",
    "MOST_CHARS",
    "AfterPause",
    "Clean",
    "DialogAnswer",
    "ElementTimeout",
    "FieldValue",
    "Label",
    "LoadTimeout",
    "MainOnly",
    "MaxChars",
    "Modifier",
    "NewTab",
    "Offset",
    "PageAfter",
    "PageFormat",
    "Part",
    "Pause",
    "PromptText",
    "Ref",
    "Role",
    "RoleName",
    "SaveTo",
    "SecretName",
    "Selector",
    "SessionHandle",
    "TabId",
    "TabUrl",
    "Url",
    "VisibleText",
]

# About 5,000 tokens. Clients reject results of four to five times this size.
MAX_CHARS = 20_000
MOST_CHARS = 80_000
_LEAST_CHARS = 2_000

# Lengths are not part of the schemas, which every conversation pays for: messages are limited, and
# results do not repeat long arguments.
Url = str
TabUrl = Annotated[str | None, "Use the tab of this URL's host."]
TabId = Annotated[str | None, "Tab id; default: the tab used last."]
SessionHandle = Annotated[
    str | None, "`session` of an earlier result, if it had one; 'new': a new isolated session."
]
MaxChars = Annotated[
    int, Meta(ge=_LEAST_CHARS, le=MOST_CHARS, description="Limit of the whole result.")
]
Offset = Annotated[int, Meta(ge=0, description="nextOffset of the previous result.")]
PageFormat = Annotated[
    Literal["html", "markdown", "text", "snapshot"],
    "html: cleaned; snapshot: accessibility tree with refs.",
]
# After an action, the page need not be returned.
PageAfter = Annotated[
    Literal["none", "html", "markdown", "text", "snapshot"], "How to return the page afterwards."
]
Clean = Annotated[bool, "false: raw HTML, with scripts and hidden text."]
MainOnly = Annotated[bool, "Omit navigation, headers, footers, side bars."]
Pause = Annotated[int, Meta(ge=0, le=60_000)]
AfterPause = Annotated[Pause | None, "Exact wait in ms; default: until the page settles."]
ElementTimeout = Annotated[Pause | None, "ms to wait for the element; default 0."]
LoadTimeout = Annotated[int, Meta(ge=100, le=120_000, description="ms.")]
NewTab = Annotated[bool, "Do not reuse the host's tab."]
Part = Annotated[str | None, "CSS selector: only this element."]
Selector = Annotated[str | None, "CSS selector; ` >> nth=1` picks a match."]
VisibleText = Annotated[str | None, "Visible text."]
Ref = Annotated[str | None, "Ref from a snapshot, like e5."]
Role = Annotated[str | None, "ARIA role, with `name`."]
RoleName = Annotated[str | None, "Accessible name, with `role`."]
Label = Annotated[str | None, "Label or placeholder of a field."]
SaveTo = Annotated[str | None, "Save to this new file in the operator's folder instead."]
SecretName = Annotated[str | None, "Operator's secret to type, by name."]
Modifier = Literal["Alt", "Control", "Meta", "Shift"]
DialogAnswer = Annotated[
    Literal["accept", "dismiss"] | None, "Answer to a dialog that this opens; default dismiss."
]
PromptText = Annotated[str | None, "Text for a prompt dialog."]


class FieldValue(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """One field of a form, and its new content."""

    ref: str | None = None
    selector: str | None = None
    label: Label = None
    role: str | None = None
    name: str | None = None
    value: Annotated[str | None, "Text."] = None
    checked: bool | None = None
    option: Annotated[str | list[str] | None, "Label or value, or several."] = None
    files: Annotated[
        Annotated[list[str], Meta(max_length=20)] | None, "In the operator's folder."
    ] = None
    secret: Annotated[str | None, "Operator's secret, by name."] = None
