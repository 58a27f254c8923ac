"""The five revisions of the protocol and what sets them apart, as data.

Nobody outside `spec/` and `eras/` compares revisions or spells their dates: a
revision is asked for the property that matters (`revision.batching`), or the
method table is asked whether a method exists (`spec.methods.methods_at`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "HEADERLESS",
    "LATEST_LEGACY",
    "LEGACY",
    "MODERN",
    "REVISIONS",
    "V2024_11_05",
    "V2025_03_26",
    "V2025_06_18",
    "V2025_11_25",
    "V2026_07_28",
    "Family",
    "Revision",
    "StructuredOutput",
    "find_revision",
]


class Family(Enum):
    """The specification's own words: legacy has a handshake, modern has per-request metadata."""

    LEGACY = "legacy"
    MODERN = "modern"


class StructuredOutput(Enum):
    """What `structuredContent` and the root of `outputSchema` may be."""

    NONE = "none"
    OBJECT = "object"
    ANY = "any"


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """One revision; `order` is its place in history, for tables that say since and until."""

    date: str
    order: int
    family: Family
    batching: bool = False
    structured_output: StructuredOutput = StructuredOutput.NONE
    # The code for a resource that does not exist.
    resource_not_found: int = -32002
    # What stands for an id that could not be read: JSON-RPC says null, later schemas say nothing.
    unreadable_id: bytes | None = b"null"
    # The `type` of content blocks that exist.
    content_types: frozenset[str] = frozenset({"text", "image", "resource"})
    url_elicitation: bool = False
    url_elicitation_id: bool = False
    elicitation: bool = False
    elicitation_defaults: bool = False
    titled_enums: bool = False
    sampling_tools: bool = False
    # Tools say whether they are read-only or destructive.
    tool_annotations: bool = False
    progress_message: bool = False
    completions_capability: bool = False
    # A stream of events begins with an id and no data, to come back with (HTTP).
    priming_events: bool = False
    # Capabilities have a map of extensions.
    extensions: bool = False
    # Tasks are part of the revision: a client asks for one in the params of its request.
    tasks: bool = False
    # HTTP requests name the revision in a header.
    version_header: bool = False
    # A prefix of `_meta` keys is the protocol's by its second label; before, by any but the last.
    second_label_reserves: bool = False
    # HTTP is a stream for all that the server says, and another URL to post to (HTTP+SSE).
    old_sse: bool = False
    # Authorization servers may be described by OpenID Connect instead of RFC 8414.
    openid_discovery: bool = False

    def __str__(self) -> str:
        return self.date

    def __repr__(self) -> str:
        return f"<Revision {self.date}>"


_AUDIO = frozenset({"text", "image", "audio", "resource"})
_LINKS = _AUDIO | {"resource_link"}

V2024_11_05 = Revision("2024-11-05", 0, Family.LEGACY, old_sse=True)

V2025_03_26 = Revision(
    "2025-03-26",
    1,
    Family.LEGACY,
    batching=True,
    content_types=_AUDIO,
    progress_message=True,
    tool_annotations=True,
    completions_capability=True,
)

V2025_06_18 = Revision(
    "2025-06-18",
    2,
    Family.LEGACY,
    structured_output=StructuredOutput.OBJECT,
    content_types=_LINKS,
    elicitation=True,
    progress_message=True,
    tool_annotations=True,
    completions_capability=True,
    version_header=True,
)

V2025_11_25 = Revision(
    "2025-11-25",
    3,
    Family.LEGACY,
    structured_output=StructuredOutput.OBJECT,
    unreadable_id=None,
    content_types=_LINKS,
    elicitation=True,
    elicitation_defaults=True,
    url_elicitation=True,
    url_elicitation_id=True,
    priming_events=True,
    titled_enums=True,
    sampling_tools=True,
    progress_message=True,
    tool_annotations=True,
    completions_capability=True,
    tasks=True,
    version_header=True,
    second_label_reserves=True,
    openid_discovery=True,
)

V2026_07_28 = Revision(
    "2026-07-28",
    4,
    Family.MODERN,
    structured_output=StructuredOutput.ANY,
    resource_not_found=-32602,
    unreadable_id=None,
    content_types=_LINKS,
    elicitation=True,
    elicitation_defaults=True,
    url_elicitation=True,
    titled_enums=True,
    sampling_tools=True,
    progress_message=True,
    tool_annotations=True,
    completions_capability=True,
    extensions=True,
    version_header=True,
    second_label_reserves=True,
    openid_discovery=True,
)

REVISIONS = (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28)
LEGACY = tuple(r for r in REVISIONS if r.family is Family.LEGACY)
MODERN = tuple(r for r in REVISIONS if r.family is Family.MODERN)
LATEST_LEGACY = LEGACY[-1]
# What an HTTP request without a version header is taken for (2025-11-25 basic/transports).
HEADERLESS = V2025_03_26

_BY_DATE = {r.date: r for r in REVISIONS}


def find_revision(date: str) -> Revision | None:
    """The revision of this date, or None for a date that was never released."""
    return _BY_DATE.get(date)
