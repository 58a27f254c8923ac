"""The structs, compared with the official models of 2025-11-25 and 2026-07-28."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import mcp_types._v2025_11_25 as v2025_11_25
import mcp_types._v2026_07_28 as v2026_07_28
import msgspec
import pytest
from msgspec import Raw, Struct

from dovetail.spec import models
from dovetail.wire import codec

VERSIONS = [v2025_11_25, v2026_07_28]

# Ours -> theirs, where the names differ.
NAMES: dict[str, str] = {
    "AcknowledgedParams": "SubscriptionsAcknowledgedNotificationParams",
    "BlobContents": "BlobResourceContents",
    "CallToolParams": "CallToolRequestParams",
    "CancelledParams": "CancelledNotificationParams",
    "ClientInfo": "Implementation",
    "CompleteArgument": "Argument",
    "CompleteContext": "Context",
    "CompleteParams": "CompleteRequestParams",
    "ElicitFormParams": "ElicitRequestFormParams",
    "ElicitUrlParams": "ElicitRequestURLParams",
    "GetPromptParams": "GetPromptRequestParams",
    "InitializeParams": "InitializeRequestParams",
    "InputParams": "InputResponseRequestParams",
    "ListParams": "PaginatedRequestParams",
    "ListenParams": "SubscriptionsListenRequestParams",
    "LogParams": "LoggingMessageNotificationParams",
    "Params": "RequestParams",
    "ProgressParams": "ProgressNotificationParams",
    "ReadResourceParams": "ReadResourceRequestParams",
    "ResourceParams": "SubscribeRequestParams",
    "SetLevelParams": "SetLevelRequestParams",
    "TaskRequest": "TaskMetadata",
    "TemplateReference": "ResourceTemplateReference",
    "TextContents": "TextResourceContents",
}

# Things that one of the two versions does not have at all.
ONLY_IN: dict[str, ModuleType] = {
    "AcknowledgedParams": v2026_07_28,
    "DiscoverResult": v2026_07_28,
    "InputParams": v2026_07_28,
    "ListenParams": v2026_07_28,
    "SubscriptionFilter": v2026_07_28,
    "InitializeParams": v2025_11_25,
    "InitializeResult": v2025_11_25,
    "ResourceParams": v2025_11_25,
    "SetLevelParams": v2025_11_25,
    "TaskRequest": v2025_11_25,
    "ToolExecution": v2025_11_25,
}

# Members that one of the two versions does not have, in a struct that serves both.
MEMBER_ONLY_IN: dict[tuple[str, str], ModuleType] = {
    ("CallToolParams", "inputResponses"): v2026_07_28,
    ("CallToolParams", "requestState"): v2026_07_28,
    ("GetPromptParams", "inputResponses"): v2026_07_28,
    ("GetPromptParams", "requestState"): v2026_07_28,
    ("ReadResourceParams", "inputResponses"): v2026_07_28,
    ("ReadResourceParams", "requestState"): v2026_07_28,
    ("CallToolParams", "task"): v2025_11_25,
    ("Tool", "execution"): v2025_11_25,
    ("ElicitUrlParams", "elicitationId"): v2025_11_25,
    ("ElicitResult", "_meta"): v2025_11_25,
}

# What the extension io.modelcontextprotocol/tasks has: the official models know no extensions, and
# to the same params at 2025-11-25 they give no name.
OF_EXTENSIONS = {"TaskParams", "TaskUpdateParams"}
MEMBERS_OF_EXTENSIONS = {("SubscriptionFilter", "taskIds")}

# Required there and not here -> why.
RELAXED: dict[str, str] = {
    "_meta": "a modern request without it is refused by the envelope, which says what is missing",
    "resultType": "stamped by the era",
    "ttlMs": "stamped by the era",
    "cacheScope": "stamped by the era",
    "elicitationId": "required at 2025-11-25, unknown to 2026-07-28",
    "requestId": "optional since 2025-11-25; a cancellation without it cancels nothing",
}

# A client that forgets its version is served all the same: the value is for display only.
RELAXED_IN: dict[str, set[str]] = {"ClientInfo": {"version"}}

STRUCTS = sorted(
    (
        kind
        for kind in vars(models).values()
        if isinstance(kind, type)
        and issubclass(kind, models.Model)
        and kind is not models.Model
        and kind.__name__ not in OF_EXTENSIONS
    ),
    key=lambda kind: kind.__name__,
)
PAIRS = [
    pytest.param(kind, version, id=f"{kind.__name__}-{version.__name__[-10:]}")
    for kind in STRUCTS
    for version in VERSIONS
    if ONLY_IN.get(kind.__name__, version) is version
]


def our_members(kind: type[Struct]) -> dict[str, bool]:
    """Wire name -> whether it is required; the tag of a union counts as a member."""
    members = {f.encode_name: f.required for f in msgspec.structs.fields(kind)}
    config = kind.__struct_config__
    return members if config.tag_field is None else {config.tag_field: True, **members}


def their_members(kind: type[Struct], version: ModuleType) -> dict[str, bool]:
    name = NAMES.get(kind.__name__, kind.__name__)
    fields: dict[str, Any] = getattr(version, name).model_fields
    return {field.alias or name: field.is_required() for name, field in fields.items()}


@pytest.mark.parametrize(("kind", "version"), PAIRS)
def test_every_member_exists_in_the_official_models(
    kind: type[Struct], version: ModuleType
) -> None:
    ours = {
        name
        for name in our_members(kind)
        if MEMBER_ONLY_IN.get((kind.__name__, name), version) is version
        and (kind.__name__, name) not in MEMBERS_OF_EXTENSIONS
    }
    assert ours <= their_members(kind, version).keys()


@pytest.mark.parametrize(("kind", "version"), PAIRS)
def test_members_required_by_the_official_models_are_required(
    kind: type[Struct], version: ModuleType
) -> None:
    required = {name for name, needed in their_members(kind, version).items() if needed}
    relaxed = RELAXED.keys() | RELAXED_IN.get(kind.__name__, set())
    assert required - relaxed <= {name for name, needed in our_members(kind).items() if needed}


@pytest.mark.parametrize(("kind", "version"), PAIRS)
def test_required_members_are_required_in_the_official_models(
    kind: type[Struct], version: ModuleType
) -> None:
    ours = {name for name, needed in our_members(kind).items() if needed}
    theirs = {name for name, needed in their_members(kind, version).items() if needed}
    assert ours - theirs <= RELAXED.keys()


def test_a_member_that_one_version_lacks_is_really_lacking_there() -> None:
    for (struct, member), version in MEMBER_ONLY_IN.items():
        kind = getattr(models, struct)
        [other] = [v for v in VERSIONS if v is not version]
        assert member in their_members(kind, version)
        assert member not in their_members(kind, other)
    for struct, version in ONLY_IN.items():
        [other] = [v for v in VERSIONS if v is not version]
        assert hasattr(version, NAMES.get(struct, struct))
        assert not hasattr(other, NAMES.get(struct, struct))


def test_the_tags_of_unions_are_the_types_of_the_protocol() -> None:
    tags = {k.__name__: k.__struct_config__.tag for k in STRUCTS if k.__struct_config__.tag}
    for name, tag in tags.items():
        official: Any = getattr(v2026_07_28, NAMES.get(name, name))
        assert official.model_fields["type"].annotation.__args__ == (tag,)


def test_none_is_omitted_and_names_are_camel_case() -> None:
    tool = models.Tool(
        name="a",
        input_schema={"type": "object"},
        annotations=models.ToolAnnotations(read_only_hint=True),
        meta={"k": 1},
    )
    assert codec.decode_json(codec.encode(tool)) == {
        "name": "a",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"k": 1},
    }


def test_params_keep_their_meta_raw() -> None:
    params = codec.decode_as(models.ListParams, b'{"cursor":"x","_meta":{"a" : 1},"else":true}')
    assert params.cursor == "x"
    assert isinstance(params.meta, Raw)
    assert bytes(params.meta) == b'{"a" : 1}'


@pytest.mark.parametrize(
    "block",
    [
        models.TextContent(text="a", annotations=models.Annotations(audience=["user"])),
        models.ImageContent(data="QQ==", mime_type="image/png"),
        models.AudioContent(data="QQ==", mime_type="audio/wav", meta={"a": 1}),
        models.ResourceLink(uri="a://b", name="n", size=3),
        models.EmbeddedResource(resource=models.TextContents(uri="a://b", text="t")),
        models.EmbeddedResource(resource=models.BlobContents(uri="a://b", blob="QQ==")),
    ],
    ids=lambda block: type(block).__name__,
)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.__name__[-10:])
def test_the_official_models_read_our_content(block: Struct, version: Any) -> None:
    encoded = codec.encode(models.CallToolResult(content=[block]))  # type: ignore[list-item]
    stamped = {"resultType": "complete", **codec.decode_json(encoded)}
    [read] = version.CallToolResult.model_validate(stamped).content
    assert type(read).__name__ == type(block).__name__
    assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == msgspec.to_builtins(
        block
    )


def test_every_public_name_exists() -> None:
    assert all(hasattr(models, name) for name in models.__all__)
    assert len(STRUCTS) > 40
