"""OpenAPI: servers from documents, and documents and a REST interface from servers."""

from dovetail.compose.openapi.building import OpenApiOptions
from dovetail.compose.openapi.document import LoadRef, Spec
from dovetail.compose.openapi.rules import Rule
from dovetail.compose.openapi.security import Credential, CredentialSource, SecurityScheme

__all__ = [
    "Credential",
    "CredentialSource",
    "LoadRef",
    "OpenApiOptions",
    "Rule",
    "SecurityScheme",
    "Spec",
]
