"""The types of the protocol as structs: snake_case here, camelCase on the wire.

The structs have no behaviour. One struct is used for all revisions; `spec/fields.py` lists the
members that older revisions lack. A member that is None is omitted: the protocol has absent
members, but not null.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

__all__ = [
    "AcknowledgedParams",
    "Annotations",
    "AudioContent",
    "BlobContents",
    "CallToolParams",
    "CallToolResult",
    "CancelledParams",
    "ClientInfo",
    "CompleteParams",
    "CompleteResult",
    "Completion",
    "ContentBlock",
    "DiscoverResult",
    "ElicitFormParams",
    "ElicitResult",
    "ElicitUrlParams",
    "EmbeddedResource",
    "GetPromptParams",
    "GetPromptResult",
    "Icon",
    "ImageContent",
    "Implementation",
    "InitializeParams",
    "InitializeResult",
    "InputParams",
    "ListParams",
    "ListenParams",
    "LogParams",
    "Meta",
    "Params",
    "ProgressParams",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "ReadResourceParams",
    "ReadResourceResult",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceParams",
    "ResourceTemplate",
    "Role",
    "Root",
    "SetLevelParams",
    "SubscriptionFilter",
    "TaskParams",
    "TaskRequest",
    "TaskUpdateParams",
    "TextContent",
    "TextContents",
    "Tool",
    "ToolAnnotations",
    "ToolExecution",
    "ToolResultContent",
    "ToolUseContent",
]

Meta: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["user", "assistant"]


class Model(Struct, omit_defaults=True, rename="camel"):
    """The base class of the structs: omits defaults, uses camelCase on the wire."""


# -- common ---------------------------------------------------------------------------


class Icon(Model, kw_only=True):
    """An icon for user interfaces: an http(s) or data URI."""

    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: Literal["light", "dark"] | None = None


class Implementation(Model, kw_only=True):
    """Name and version of a client or server."""

    name: str
    title: str | None = None
    version: str
    description: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None


class ClientInfo(Model, kw_only=True):
    """The description that a client sends of itself; not verified."""

    name: str
    version: str = ""
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: list[dict[str, Any]] | None = None


class Annotations(Model, kw_only=True):
    """Hints about the audience and importance of content."""

    audience: list[Role] | None = None
    priority: float | None = None
    last_modified: str | None = None


class ToolAnnotations(Model, kw_only=True):
    """Hints about what a tool does; clients must not trust them blindly."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolExecution(Model, kw_only=True):
    """How a tool may be called."""

    task_support: Literal["forbidden", "optional", "required"] | None = None


# -- tools, prompts, resources ----------------------------------------------------------


class Tool(Model, kw_only=True):
    """A tool, as in tools/list."""

    name: str
    title: str | None = None
    description: str | None = None
    icons: list[Icon] | None = None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    execution: ToolExecution | None = None
    meta: Meta | None = field(default=None, name="_meta")


class PromptArgument(Model, kw_only=True):
    """One argument of a prompt."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class Prompt(Model, kw_only=True):
    """A prompt, as in prompts/list."""

    name: str
    title: str | None = None
    description: str | None = None
    icons: list[Icon] | None = None
    arguments: list[PromptArgument] | None = None
    meta: Meta | None = field(default=None, name="_meta")


class Resource(Model, kw_only=True):
    """A resource, as in resources/list."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    size: int | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ResourceTemplate(Model, kw_only=True):
    """A resource template, as in resources/templates/list."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


# -- content ----------------------------------------------------------------------------


class TextContents(Model, kw_only=True):
    """Text contents of a resource."""

    uri: str
    mime_type: str | None = None
    text: str
    meta: Meta | None = field(default=None, name="_meta")


class BlobContents(Model, kw_only=True):
    """Binary contents of a resource, in base64."""

    uri: str
    mime_type: str | None = None
    blob: str
    meta: Meta | None = field(default=None, name="_meta")


ResourceContents: TypeAlias = TextContents | BlobContents


class TextContent(Model, tag_field="type", tag="text", kw_only=True):
    """Text content."""

    text: str
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ImageContent(Model, tag_field="type", tag="image", kw_only=True):
    """Image content, in base64."""

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


class AudioContent(Model, tag_field="type", tag="audio", kw_only=True):
    """Audio content, in base64."""

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ResourceLink(Model, tag_field="type", tag="resource_link", kw_only=True):
    """A link to a resource that the client can read with resources/read."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    size: int | None = None
    meta: Meta | None = field(default=None, name="_meta")


class EmbeddedResource(Model, tag_field="type", tag="resource", kw_only=True):
    """Resource contents embedded in a result."""

    resource: ResourceContents
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
)


class ToolUseContent(Model, tag_field="type", tag="tool_use", kw_only=True):
    """A tool call by a sampled model."""

    id: str
    name: str
    input: dict[str, Any]
    meta: Meta | None = field(default=None, name="_meta")


class ToolResultContent(Model, tag_field="type", tag="tool_result", kw_only=True):
    """The result of a tool that a sampled model called."""

    tool_use_id: str
    content: list[ContentBlock]
    structured_content: Any = None
    is_error: bool | None = None
    meta: Meta | None = field(default=None, name="_meta")


class PromptMessage(Model, kw_only=True):
    """One message of a prompt."""

    role: Role
    content: ContentBlock


# -- params -----------------------------------------------------------------------------


class Params(Model, kw_only=True):
    """The params of any request. `_meta` stays raw JSON until the era decodes it."""

    meta: Raw | UnsetType = field(default=UNSET, name="_meta")


class InitializeParams(Params, kw_only=True):
    """initialize."""

    protocol_version: str
    capabilities: dict[str, Any]
    client_info: ClientInfo


class ListParams(Params, kw_only=True):
    """The params of every list method."""

    cursor: str | None = None


class InputParams(Params, kw_only=True):
    """The params of a request that can be retried with the inputs the server requested."""

    input_responses: Raw | UnsetType = UNSET
    request_state: str | UnsetType = UNSET


class CallToolParams(InputParams, kw_only=True):
    """tools/call. `task` stays raw JSON, because most revisions ignore it."""

    name: str
    arguments: Raw | UnsetType = UNSET
    task: Raw | UnsetType = UNSET


class TaskRequest(Model, kw_only=True):
    """The task options of a request: how long to keep the task, in milliseconds."""

    ttl: float | None = None


class TaskParams(Params, kw_only=True):
    """tasks/get, tasks/result and tasks/cancel."""

    task_id: str


class TaskUpdateParams(TaskParams, kw_only=True):
    """tasks/update."""

    input_responses: Raw


class GetPromptParams(InputParams, kw_only=True):
    """prompts/get."""

    name: str
    arguments: dict[str, str] | UnsetType = UNSET


class ReadResourceParams(InputParams, kw_only=True):
    """resources/read."""

    uri: str


class ResourceParams(Params, kw_only=True):
    """resources/subscribe and resources/unsubscribe."""

    uri: str


class PromptReference(Model, tag_field="type", tag="ref/prompt", kw_only=True):
    """A reference to a prompt."""

    name: str


class TemplateReference(Model, tag_field="type", tag="ref/resource", kw_only=True):
    """A reference to a resource template or a resource by its URI."""

    uri: str


class CompleteArgument(Model, kw_only=True):
    """The argument to complete, as typed so far."""

    name: str
    value: str


class CompleteContext(Model, kw_only=True):
    """The values of other arguments."""

    arguments: dict[str, str] | None = None


class CompleteParams(Params, kw_only=True):
    """completion/complete."""

    ref: PromptReference | TemplateReference
    argument: CompleteArgument
    context: CompleteContext | None = None


class SetLevelParams(Params, kw_only=True):
    """logging/setLevel."""

    level: str


class SubscriptionFilter(Model, kw_only=True):
    """The changes that a listen stream requests."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: list[str] | None = None
    task_ids: list[str] | None = None


class ListenParams(Params, kw_only=True):
    """subscriptions/listen."""

    notifications: SubscriptionFilter


class CancelledParams(Params, kw_only=True):
    """notifications/cancelled."""

    request_id: Raw
    reason: str | None = None


class ProgressParams(Params, kw_only=True):
    """notifications/progress."""

    progress_token: str | int
    progress: float
    total: float | None = None
    message: str | None = None


class LogParams(Params, kw_only=True):
    """notifications/message."""

    level: str
    logger: str | None = None
    data: Any


class AcknowledgedParams(Model, kw_only=True):
    """notifications/subscriptions/acknowledged."""

    meta: Meta = field(name="_meta")
    notifications: SubscriptionFilter


# -- results ----------------------------------------------------------------------------


class InitializeResult(Model, kw_only=True):
    """initialize."""

    protocol_version: str
    capabilities: dict[str, Any]
    server_info: Implementation
    instructions: str | None = None


class DiscoverResult(Model, kw_only=True):
    """server/discover."""

    supported_versions: list[str]
    capabilities: dict[str, Any]
    instructions: str | None = None


class CallToolResult(Model, kw_only=True):
    """tools/call. `structured_content` is raw JSON that has been validated."""

    content: list[ContentBlock]
    structured_content: Raw | UnsetType = UNSET
    is_error: bool = False
    meta: Meta | None = field(default=None, name="_meta")


class GetPromptResult(Model, kw_only=True):
    """prompts/get."""

    description: str | None = None
    messages: list[PromptMessage]
    meta: Meta | None = field(default=None, name="_meta")


class ReadResourceResult(Model, kw_only=True):
    """resources/read."""

    contents: list[ResourceContents]
    meta: Meta | None = field(default=None, name="_meta")


class Completion(Model, kw_only=True):
    """Suggestions, best first."""

    values: list[str]
    total: int | None = None
    has_more: bool | None = None


class CompleteResult(Model, kw_only=True):
    """completion/complete."""

    completion: Completion


class Root(Model, kw_only=True):
    """A root directory of the client."""

    uri: str
    name: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ElicitFormParams(Model, kw_only=True):
    """elicitation/create in form mode; `mode` is optional, and older clients do not know it."""

    message: str
    requested_schema: dict[str, Any]


class ElicitUrlParams(Model, kw_only=True):
    """elicitation/create in URL mode."""

    mode: str
    message: str
    url: str
    elicitation_id: str | None = None


class ElicitResult(Model, kw_only=True):
    """The user's action: accept, decline or cancel."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
    meta: Meta | None = field(default=None, name="_meta")
