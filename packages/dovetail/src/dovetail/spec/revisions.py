"""The five protocol revisions and their differences, as data.

Only `spec/` and `eras/` compare revisions or use their dates. Other code checks a property
(`revision.batching`) or looks up the method table (`spec.methods.methods_at`).
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
    """The terms of the specification: legacy has a handshake, modern has per-request metadata."""

    LEGACY = "legacy"
    MODERN = "modern"


class StructuredOutput(Enum):
    """What `structuredContent` and the root of `outputSchema` may be."""

    NONE = "none"
    OBJECT = "object"
    ANY = "any"


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """One revision; `order` is its position, for tables with a first and a last revision."""

    date: str
    order: int
    family: Family
    batching: bool = False
    structured_output: StructuredOutput = StructuredOutput.NONE
    # The error code for a resource that does not exist.
    resource_not_found: int = -32002
    # The id in an error for an unreadable request: null in JSON-RPC, omitted in later schemas.
    unreadable_id: bytes | None = b"null"
    # The types of content blocks.
    content_types: frozenset[str] = frozenset({"text", "image", "resource"})
    url_elicitation: bool = False
    url_elicitation_id: bool = False
    elicitation: bool = False
    elicitation_defaults: bool = False
    titled_enums: bool = False
    sampling_tools: bool = False
    # Tools have annotations, such as read-only or destructive.
    tool_annotations: bool = False
    progress_message: bool = False
    completions_capability: bool = False
    # An event stream begins with an id without data, for resuming (HTTP).
    priming_events: bool = False
    # Capabilities have an `extensions` map.
    extensions: bool = False
    # Tasks are part of the revision: a client requests one in the params of its request.
    tasks: bool = False
    # HTTP requests have a header with the revision.
    version_header: bool = False
    # A `_meta` key prefix is reserved by its second label; before, by any label but the last.
    second_label_reserves: bool = False
    # The HTTP transport is HTTP+SSE: one event stream, and another URL to post to.
    old_sse: bool = False
    # Authorization servers may use OpenID Connect discovery instead of RFC 8414.
    openid_discovery: bool = False

    def precedes(self, other: Revision) -> bool:
        """Whether this is the earlier one of two revisions."""
        return self.order < other.order

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
# The revision of an HTTP request without a version header (2025-11-25 basic/transports).
HEADERLESS = V2025_03_26

_BY_DATE = {r.date: r for r in REVISIONS}


def find_revision(date: str) -> Revision | None:
    """The revision with this date, or None if there is none."""
    return _BY_DATE.get(date)
