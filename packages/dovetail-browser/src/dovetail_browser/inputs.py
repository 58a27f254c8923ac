"""Types of tool parameters, with the descriptions that clients see."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "MAX_CHARS",
    "MOST_CHARS",
    "Clean",
    "ElementTimeout",
    "FieldValue",
    "Label",
    "LoadTimeout",
    "MaxChars",
    "Modifier",
    "NewTab",
    "Offset",
    "PageFormat",
    "Pause",
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

_Short = Annotated[str, Meta(min_length=1, max_length=1000)]
_Name = Annotated[str, Meta(min_length=1, max_length=200)]

Url = Annotated[str, Meta(min_length=1, max_length=8000)]
TabUrl = Annotated[Url | None, "Use the tab of this URL's host; `tab` is more exact."]
TabId = Annotated[
    Annotated[str, Meta(pattern=r"^t[0-9]{1,9}$")] | None,
    "Id of the tab from a result; default: the tab used last.",
]
SessionHandle = Annotated[
    Annotated[str, Meta(pattern=r"^(new|s-[A-Za-z0-9_-]{10,64})$")] | None,
    "The `session` of an earlier result, if it had one; 'new': a new isolated session.",
]
MaxChars = Annotated[
    int,
    Meta(
        ge=_LEAST_CHARS,
        le=MOST_CHARS,
        description="Limit for the whole result, text blocks and structured content together.",
    ),
]
Offset = Annotated[
    int, Meta(ge=0, le=1_000_000_000, description="nextOffset of the previous result.")
]
PageFormat = Annotated[
    Literal["html", "markdown", "text", "snapshot"],
    "html: cleaned; snapshot: accessibility tree with refs.",
]
Clean = Annotated[bool, "false: the page's own HTML, with scripts and hidden text (format html)."]
Pause = Annotated[int, Meta(ge=0, le=60_000, description="Milliseconds.")]
ElementTimeout = Annotated[
    Annotated[int, Meta(ge=0, le=60_000)] | None,
    "Milliseconds to wait for the element; default: it must exist already.",
]
LoadTimeout = Annotated[int, Meta(ge=100, le=120_000, description="Milliseconds.")]
NewTab = Annotated[bool, "Open a new tab instead of reusing the host's tab."]
Selector = Annotated[
    _Short | None,
    "CSS selector; searches open shadow roots and iframes; ` >> nth=1` picks a match.",
]
VisibleText = Annotated[_Short | None, "Visible text of the element."]
Ref = Annotated[
    Annotated[str, Meta(pattern=r"^(f[0-9]{1,6})*e[0-9]{1,9}$")] | None,
    "Ref from a snapshot, like e5 or f1e2.",
]
Role = Annotated[
    Annotated[str, Meta(pattern=r"^[a-z]{1,40}$")] | None, "ARIA role, with `name`: button, link."
]
RoleName = Annotated[_Short | None, "Accessible name, with `role`."]
Label = Annotated[_Short | None, "Label or placeholder of a form field."]
SaveTo = Annotated[_Name | None, "New file in the operator's folder; it must not exist."]
SecretName = Annotated[
    Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,99}$")] | None,
    "Name of one of the operator's secrets to type instead; its value is never shown.",
]
Modifier = Literal["Alt", "Control", "Meta", "Shift"]


class FieldValue(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """One field of a form, and its new content."""

    ref: Ref = None
    selector: Selector = None
    label: Label = None
    role: Role = None
    name: RoleName = None
    value: Annotated[Annotated[str, Meta(max_length=100_000)] | None, "Text to enter."] = None
    checked: Annotated[bool | None, "For check boxes and radio buttons."] = None
    option: Annotated[
        _Short | list[_Short] | None, "Label or value of the option; a list for several."
    ] = None
    files: Annotated[
        Annotated[list[_Name], Meta(max_length=20)] | None, "Files in the operator's folder."
    ] = None
    secret: SecretName = None
