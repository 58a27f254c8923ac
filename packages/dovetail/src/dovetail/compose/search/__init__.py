"""Search mode: clients see a few tools and find the others by searching."""

from dovetail.compose.search.tool_search import ToolSearch

__all__ = ["ToolSearch"]
