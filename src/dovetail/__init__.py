"""MCP servers written once that speak all five protocol revisions.

from dovetail import Server

server = Server("weather")

@server.tool
async def forecast(city: str, days: int = 3) -> str: ...
"""

from dovetail.core.options import Options
from dovetail.errors import ResourceNotFoundError, ToolError, UsageError
from dovetail.features.content import Audio, EmbeddedResource, Image, Message, Text
from dovetail.features.context import Context
from dovetail.features.elicitation import Choices, Elicited
from dovetail.features.sampling import ModelPreferences, Sampled, SamplingMessage
from dovetail.features.tools import ToolResult
from dovetail.server import Server
from dovetail.spec.models import Annotations, Icon, ResourceLink, Tool, ToolAnnotations

__all__ = [
    "Annotations",
    "Audio",
    "Choices",
    "Context",
    "Elicited",
    "EmbeddedResource",
    "Icon",
    "Image",
    "Message",
    "ModelPreferences",
    "Options",
    "ResourceLink",
    "ResourceNotFoundError",
    "Sampled",
    "SamplingMessage",
    "Server",
    "Text",
    "Tool",
    "ToolAnnotations",
    "ToolError",
    "ToolResult",
    "UsageError",
]
