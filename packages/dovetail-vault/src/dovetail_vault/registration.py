"""Register the tools of the server, and decide which of them its list shows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Annotated, Any

import msgspec

from dovetail import Param, Server, ToolAnnotations
from dovetail_serverkit.tool_descriptions import schema_of
from dovetail_vault.limits import cut_errors

__all__ = ["LISTED", "NAMES", "Registrar"]

# The tools that a list shows, by the value of --tools.
LISTED: dict[str, frozenset[str]] = {
    "default": frozenset(
        {
            *("search-vault", "search-by-tags", "search-by-title", "list-notes", "list-tags"),
            *("read-note", "get-note-metadata", "get-links", "discover-mocs"),
            *("write-note", "edit-note", "move-note", "delete-note"),
        }
    ),
    "compact": frozenset({"search", "read", "edit"}),
}
# What the listed tools for a purpose are called; prompts tell a model to use them.
NAMES = {
    "default": {
        "search": "search-vault",
        "read": "read-note",
        "write": "write-note",
        "edit": "edit-note",
    },
    "compact": {"search": "search", "read": "read", "write": "edit", "edit": "edit"},
}

_VAULT = Annotated[str | None, "Name of the vault; default: the first one."]
_ONLY_VAULT = Annotated[str | None, Param(hidden=True)]


class Registrar:
    """Adds tools; all of them can be called, whether they are listed or not."""

    def __init__(self, server: Server, listed: Collection[str], *, several_vaults: bool) -> None:
        self._server = server
        self._listed = listed
        self._vault = _VAULT if several_vaults else _ONLY_VAULT
        self._functions: dict[str, Callable[..., Any]] = {}

    def add(
        self,
        name: str,
        function: Callable[..., Any],
        hints: ToolAnnotations,
        result: type[msgspec.Struct] | None = None,
        description: str | None = None,
        input_schema: dict[str, Any] | None = None,
    ) -> None:
        """Add a tool. Its parameter `vault` is listed only if there are several."""
        if input_schema is None:
            function.__annotations__["vault"] = self._vault
        elif self._vault is _VAULT:
            properties = {**input_schema["properties"], "vault": {"type": "string"}}
            input_schema = {**input_schema, "properties": properties}
        if not inspect.iscoroutinefunction(function):
            function = cut_errors(function)
        self._functions[name] = function
        self._server.tools.add(
            function,
            name=name,
            description=description,
            annotations=hints,
            input_schema=input_schema,
            output_schema=None if result is None else schema_of(result),
            hidden=name not in self._listed,
        )

    def call(self, tool: str, **arguments: Any) -> Any:
        """Return what a tool that was added returns."""
        return self._functions[tool](**arguments)
