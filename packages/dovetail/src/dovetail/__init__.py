"""MCP servers written once that speak all five protocol revisions.

from dovetail import Server

server = Server("weather")

@server.tool
async def forecast(city: str, days: int = 3) -> str: ...
"""

import typing as _typing

from dovetail.core.options import Options
from dovetail.errors import ResourceNotFoundError, ToolError, UsageError
from dovetail.features.content import Audio, EmbeddedResource, Image, Message, Text
from dovetail.features.context import Context
from dovetail.features.elicitation import Choices, Elicited
from dovetail.features.header_params import Header
from dovetail.features.resource_lists import ResourcePage
from dovetail.features.sampling import ModelPreferences, Sampled, SamplingMessage
from dovetail.features.tools import ToolResult
from dovetail.server import Server
from dovetail.spec.models import (
    Annotations,
    Icon,
    Resource,
    ResourceLink,
    Tool,
    ToolAnnotations,
    ToolResultContent,
)

if _typing.TYPE_CHECKING:
    from dovetail.client import Client

__all__ = [
    "Annotations",
    "Audio",
    "Choices",
    "Client",
    "Context",
    "Elicited",
    "EmbeddedResource",
    "Header",
    "Icon",
    "Image",
    "Message",
    "ModelPreferences",
    "Options",
    "Resource",
    "ResourceLink",
    "ResourceNotFoundError",
    "ResourcePage",
    "Sampled",
    "SamplingMessage",
    "Server",
    "Text",
    "Tool",
    "ToolAnnotations",
    "ToolError",
    "ToolResult",
    "ToolResultContent",
    "UsageError",
]


def __getattr__(name: str) -> _typing.Any:
    # A server never needs the client; importing it would be a fifth of its start-up time.
    if name == "Client":
        from dovetail.client import Client  # noqa: PLC0415 - see above

        return Client
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")
