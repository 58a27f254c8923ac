"""The operations of a document: parameters, body, responses, security."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from dovetail.errors import UsageError
from dovetail_openapi.document import Document, DocumentNode

__all__ = [
    "Body",
    "Operation",
    "OperationHead",
    "OperationParameter",
    "Place",
    "Rule",
    "Target",
    "choose",
    "find_operations",
]

Place = Literal["path", "query", "header", "cookie"]

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_VARIABLE = re.compile(r"\{([^{}]*)\}")
# Place -> its styles, the default first.
_STYLES: dict[str, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# The specification takes three of them from other parts of the document. The rest belongs to
# the connection: with one of these a model could choose the host or split the request.
_OWN_HEADERS = {
    "accept",
    "accept-encoding",
    "content-type",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
# In order of preference; a prefix, or a suffix behind "+".
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class OperationParameter:
    """A parameter of an operation."""

    name: str
    place: Place
    style: str
    explode: bool
    required: bool
    allow_reserved: bool
    # Whether the value is sent as JSON text, whatever its style.
    is_json: bool
    schema: DocumentNode | None
    description: str


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request, in the media type that it is sent in."""

    media_type: str
    required: bool
    schema: DocumentNode | None
    # By property, for forms.
    encodings: dict[str, DocumentNode]
    description: str

    @property
    def kind(self) -> Literal["json", "form", "multipart", "text", "binary"]:
        """How the value is encoded."""
        essence = self.media_type.partition(";")[0].strip().lower()
        if is_json_type(essence):
            return "json"
        if essence == _FORM:
            return "form"
        if essence.startswith("multipart/"):
            return "multipart"
        return "text" if essence.startswith("text/") or essence.endswith("xml") else "binary"


@dataclass(frozen=True, slots=True)
class OperationHead:
    """What rules look at, read before the rest of the operation."""

    method: str
    path: str
    id: str
    tags: tuple[str, ...]
    node: DocumentNode
    path_item: DocumentNode

    @property
    def label(self) -> str:
        """The operation in messages; never with values, which may be secret."""
        return f"{self.method.upper()} {self.path}"

    def read(self) -> Operation:
        """Read the whole operation; raises UsageError."""
        node = self.node
        body = node.find("requestBody")
        schema, media_types = _read_success(node)
        return Operation(
            head=self,
            summary=node.text("summary") or self.path_item.text("summary"),
            description=node.text("description"),
            parameters=tuple(_read_parameters(self)),
            body=None if body is None else _read_body(body.resolve()),
            output=schema,
            media_types=media_types,
            security=_read_security(node),
            server=_find_server(node, self.path_item),
        )


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: one method of one path."""

    head: OperationHead
    summary: str
    description: str
    parameters: tuple[OperationParameter, ...]
    body: Body | None
    # The schema that all successful responses have, if they have one.
    output: DocumentNode | None
    media_types: tuple[str, ...]
    # Alternatives; each is the names of the schemes that are needed together.
    security: tuple[tuple[str, ...], ...]
    server: DocumentNode | None


def find_operations(document: Document) -> Iterator[OperationHead]:
    """Yield the operations in the order of the document."""
    root = document.root
    paths = root.find("paths")
    if paths is None:
        if "webhooks" in root.value or "components" in root.value:
            return
        raise root.error("the document has no paths")
    for path, node in paths.members():
        if path.startswith("x-"):
            continue
        if not path.startswith("/"):
            raise node.error(f"a path begins with a slash, got {path!r}")
        item = node.resolve()
        for method in _METHODS:
            operation = item.find(method)
            if operation is not None:
                tags = tuple(tag.value for tag in operation.items("tags") if _is_text(tag.value))
                id = operation.text("operationId")
                yield OperationHead(method, path, id, tags, operation, item)


def is_json_type(media_type: str) -> bool:
    """Whether a media type is JSON, such as `application/problem+json`."""
    essence = media_type.partition(";")[0].strip().lower()
    return essence == _JSON or essence.endswith("+json")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _read_parameters(head: OperationHead) -> Iterator[OperationParameter]:
    found: dict[tuple[str, str], OperationParameter] = {}
    for owner in (head.path_item, head.node):
        for each in owner.items("parameters"):
            parameter = _read_parameter(each.resolve())
            if parameter is not None:
                # Parameters of the operation replace those of the path.
                found[parameter.place, parameter.name] = parameter
    variables = _VARIABLE.findall(head.path)
    for name in variables:
        # Common in real documents: a variable that nothing describes.
        found.setdefault(
            ("path", name),
            OperationParameter(name, "path", "simple", False, True, False, False, None, ""),
        )
    for parameter in found.values():
        if parameter.place != "path" or parameter.name in variables:
            yield parameter


def _read_parameter(node: DocumentNode) -> OperationParameter | None:
    name, place = node.text("name"), node.text("in")
    if not name:
        raise node.error("a parameter needs a name")
    styles = _STYLES.get(place)
    if styles is None:
        raise node.error(f"in is one of {', '.join(_STYLES)}, got {place!r}")
    if place == "header" and name.lower() in _OWN_HEADERS:
        return None
    style = node.text("style") or styles[0]
    if style not in styles:
        raise node.error(f"style in {place} is one of {', '.join(styles)}, got {style!r}")
    explode = node.value.get("explode")
    content = next(node.members("content"), None)
    return OperationParameter(
        name=name,
        place=place,  # type: ignore[arg-type]
        style=style,
        explode=explode if isinstance(explode, bool) else style in ("form", "deepObject"),
        required=place == "path" or node.value.get("required") is True,
        allow_reserved=node.value.get("allowReserved") is True,
        is_json=content is not None and is_json_type(content[0]),
        schema=node.find("schema") if content is None else content[1].find("schema"),
        description=node.text("description"),
    )


def _read_body(node: DocumentNode) -> Body | None:
    contents = dict(node.members("content"))
    if not contents:
        return None
    media_type = min(contents, key=_preference)
    content = contents[media_type]
    return Body(
        media_type=media_type,
        required=node.value.get("required") is True,
        schema=content.find("schema"),
        encodings=dict(content.members("encoding")),
        description=node.text("description"),
    )


def _preference(media_type: str) -> int:
    if is_json_type(media_type):
        return 0 if media_type == _JSON else 1
    order = (_FORM, _MULTIPART, "text/plain", "application/octet-stream")
    return 2 + (order.index(media_type) if media_type in order else len(order))


def _read_success(node: DocumentNode) -> tuple[DocumentNode | None, tuple[str, ...]]:
    """Return the schema of every successful response, if it is the same, and the media types."""
    responses = {
        status: response.resolve()
        for status, response in node.members("responses")
        if not status.startswith("x-")
    }
    good = [each for status, each in responses.items() if status[:1] == "2"]
    if not good and "default" in responses:
        good = [responses["default"]]
    schemas: list[DocumentNode | None] = []
    media_types: dict[str, None] = {}
    for response in good:
        contents = dict(response.members("content"))
        # An API that offers JSON is asked for nothing else.
        accepted = [each for each in contents if is_json_type(each)]
        media_types |= dict.fromkeys(accepted or contents)
        schemas += [contents[each].find("schema") for each in accepted] or [None]
    first = schemas[0] if schemas else None
    is_same = first is not None and all(
        each is not None and each.value == first.value for each in schemas
    )
    return (first if is_same else None), tuple(media_types)


def _read_security(node: DocumentNode) -> tuple[tuple[str, ...], ...]:
    owner = node if node.value.get("security") is not None else node.document.root
    return tuple(tuple(name for name, _ in each.members()) for each in owner.items("security"))


def _find_server(node: DocumentNode, path_item: DocumentNode) -> DocumentNode | None:
    """Return the first server of the operation, of its path or of the document."""
    owners = (node, path_item, node.document.root)
    return next((server for owner in owners for server in owner.items("servers")), None)


# -- rules: which operations become tools, resources, or nothing -----------------------------------

Target = Literal["tool", "resource", "exclude"]
_TARGETS = ("tool", "resource", "exclude")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What happens to the operations that match all given conditions."""

    to: Target
    # HTTP methods in any case.
    methods: Collection[str] = ()
    # Patterns for the path as the document has it; `*` stands for any characters.
    paths: Collection[str] = ()
    tags: Collection[str] = ()
    # Patterns for the operationId.
    operations: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.to not in _TARGETS:
            raise UsageError(f"Rule: to is one of {', '.join(_TARGETS)}, got {self.to!r}")
        for field in ("methods", "paths", "tags", "operations"):
            if isinstance(getattr(self, field), str):
                raise UsageError(f"Rule: {field} is a collection of strings, got a string")

    def matches(self, method: str, path: str, tags: Collection[str], operation_id: str) -> bool:
        """Whether an operation meets every condition."""
        return (
            (not self.methods or method.upper() in {each.upper() for each in self.methods})
            and (not self.paths or any(fnmatchcase(path, each) for each in self.paths))
            and (not self.tags or not set(self.tags).isdisjoint(tags))
            and (
                not self.operations
                or any(fnmatchcase(operation_id, each) for each in self.operations)
            )
        )


def choose(
    rules: Sequence[Rule], method: str, path: str, tags: Collection[str], operation_id: str
) -> Target:
    """Return the target of the first rule that matches; tool if there is none."""
    for rule in rules:
        if rule.matches(method, path, tags, operation_id):
            return rule.to
    return "tool"
