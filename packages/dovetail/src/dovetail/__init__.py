"""A framework for MCP servers that support all five protocol revisions.

from dovetail import Server

server = Server("weather")

@server.tool
async def forecast(city: str, days: int = 3) -> str: ...
"""

import typing as _typing

from dovetail.core.dependencies import Depends
from dovetail.core.options import Options
from dovetail.errors import MissingPackageError as _MissingPackageError
from dovetail.errors import ResourceNotFoundError, ToolError, UsageError
from dovetail.features.content import Audio, EmbeddedResource, Image, Message, Text
from dovetail.features.context import Context, current_context
from dovetail.features.custom_routes import RouteRequest, RouteResponse
from dovetail.features.elicitation import Accepted, Cancelled, Choices, Declined, Elicited
from dovetail.features.listing import Param
from dovetail.features.middleware import Middleware
from dovetail.features.prompts import PromptOptions
from dovetail.features.resource_lists import ResourceListOptions, ResourcePage
from dovetail.features.resources import ResourceOptions
from dovetail.features.sampling import ModelPreferences, Sampled, SamplingMessage
from dovetail.features.tools import ToolOptions, ToolResult
from dovetail.server import HttpAppOptions, Server
from dovetail.spec.header_params import Header
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
    from dovetail_gateway import Proxy, ToolSearch

__all__ = [
    "Accepted",
    "Annotations",
    "Audio",
    "Cancelled",
    "Choices",
    "Client",
    "Context",
    "Declined",
    "Depends",
    "Elicited",
    "EmbeddedResource",
    "Header",
    "HttpAppOptions",
    "Icon",
    "Image",
    "Message",
    "Middleware",
    "ModelPreferences",
    "Options",
    "Param",
    "PromptOptions",
    "Proxy",
    "Resource",
    "ResourceLink",
    "ResourceListOptions",
    "ResourceNotFoundError",
    "ResourceOptions",
    "ResourcePage",
    "RouteRequest",
    "RouteResponse",
    "Sampled",
    "SamplingMessage",
    "Server",
    "Text",
    "Tool",
    "ToolAnnotations",
    "ToolError",
    "ToolOptions",
    "ToolResult",
    "ToolResultContent",
    "ToolSearch",
    "UsageError",
    "current_context",
]


def __getattr__(name: str) -> _typing.Any:
    # Servers do not need the client, and importing it takes a fifth of their startup time.
    if name == "Client":
        from dovetail.client import Client  # noqa: PLC0415 - see above

        return Client
    if name in ("Proxy", "ToolSearch"):
        with _MissingPackageError.when_importing(
            "dovetail_gateway", f"dovetail.{name}", "dovetail-gateway"
        ):
            import dovetail_gateway  # noqa: PLC0415 - few servers use it, see test_layers

        return getattr(dovetail_gateway, name)
    if name in ("FastMCP", "MCPServer"):
        # `from dovetail import ...` does not show the text of an AttributeError.
        raise ImportError(
            f"dovetail has no {name!r}; its class is Server: from dovetail import Server"
        )
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
