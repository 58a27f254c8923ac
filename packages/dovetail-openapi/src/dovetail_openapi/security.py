"""Security schemes: which credentials an operation needs, and where they go in a request."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from dovetail import Context
from dovetail.errors import ToolError, UsageError
from dovetail_openapi.document import Document, DocumentNode

__all__ = ["ApiCredentials", "Credential", "CredentialSource", "Placement", "SecurityScheme"]

Credential: TypeAlias = str | tuple[str, str]
"""A key or a token; for HTTP basic authentication "user:password" or (user, password)."""


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """A security scheme of the document."""

    name: str
    # apiKey, http, oauth2 or openIdConnect.
    type: str
    # Where an API key goes (header, query, cookie) and under which name.
    place: str = ""
    key: str = ""
    # The HTTP authentication scheme in lower case, such as basic or bearer.
    scheme: str = ""


CredentialSource: TypeAlias = (
    Mapping[str, Credential]
    | Callable[[Context[Any], SecurityScheme], Credential | Awaitable[Credential | None] | None]
)
"""By the name of the scheme, or a function that returns the credential of the caller."""


@dataclass(slots=True)
class Placement:
    """Credentials, by the part of the request that they go in."""

    header: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    cookie: dict[str, str] = field(default_factory=dict)

    def add(self, scheme: SecurityScheme, value: Credential) -> None:
        """Put the credential of one scheme in its place."""
        if scheme.type == "apiKey":
            text = value if isinstance(value, str) else ":".join(value)
            part: dict[str, str] = getattr(self, scheme.place)
            part[scheme.key] = text if scheme.place == "header" else quote(text, safe="")
        elif scheme.scheme == "basic":
            pair = value if isinstance(value, str) else ":".join(value)
            self.header["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            prefix = scheme.scheme.capitalize() or "Bearer"
            self.header["Authorization"] = f"{prefix} {value}"


class ApiCredentials:
    """The credentials for requests, fixed ones or those of the caller."""

    def __init__(self, document: Document, source: CredentialSource | None) -> None:
        components = document.root.find("components")
        nodes = {} if components is None else dict(components.members("securitySchemes"))
        self.schemes: dict[str, SecurityScheme] = {
            name: _read_scheme(name, node.resolve()) for name, node in nodes.items()
        }
        self._source = source
        if isinstance(source, Mapping):
            unknown = [name for name in source if name not in self.schemes]
            if unknown:
                known = ", ".join(self.schemes) or "none"
                raise UsageError(
                    f"credentials: the document has no security scheme {unknown[0]!r}; it has: "
                    f"{known}"
                )

    @property
    def need_caller(self) -> bool:
        """Whether the credentials depend on the caller."""
        return self._source is not None and not isinstance(self._source, Mapping)

    def covers(self, place: str, name: str) -> bool:
        """Whether a parameter is a key that is filled in here, not by the model."""
        if self._source is None:
            return False
        return any(
            scheme.type == "apiKey"
            and scheme.place == place
            and scheme.key.lower() == name.lower()
            and (self.need_caller or scheme.name in self._source)  # type: ignore[operator]
            for scheme in self.schemes.values()
        )

    async def place(
        self, needed: tuple[tuple[str, ...], ...], context: Context[Any] | None, label: str
    ) -> Placement:
        """Return the credentials of the first alternative that is complete; raises ToolError."""
        if self._source is None or not needed:
            return Placement()
        # An alternative without schemes means that credentials are optional.
        for names in sorted(needed, key=lambda each: not each):
            found = Placement()
            for name in names:
                value = await self._find(name, context)
                if value is None:
                    break
                found.add(self.schemes[name], value)
            else:
                return found
        if not self.need_caller:
            # The API rejects the request, or the client has credentials of its own.
            return Placement()
        wanted = " or ".join(" and ".join(names) for names in needed)
        raise ToolError(f"{label} needs credentials that this caller does not have: {wanted}")

    async def _find(self, name: str, context: Context[Any] | None) -> Credential | None:
        scheme = self.schemes.get(name)
        if scheme is None or self._source is None:
            return None
        if isinstance(self._source, Mapping):
            return self._source.get(name)
        assert context is not None
        value = self._source(context, scheme)
        return await value if inspect.isawaitable(value) else value


def _read_scheme(name: str, node: DocumentNode) -> SecurityScheme:
    kind = node.text("type")
    if kind == "apiKey":
        place, key = node.text("in"), node.text("name")
        if place not in ("header", "query", "cookie") or not key:
            raise node.error("an apiKey needs name, and in: header, query or cookie")
        return SecurityScheme(name, kind, place, key)
    if kind == "http":
        return SecurityScheme(name, kind, scheme=node.text("scheme").lower())
    return SecurityScheme(name, kind, scheme="bearer")
