"""What a document demands of a request, read from the document alone.

This is the reverse of the serializer in `dovetail_openapi`, and shares nothing with it: it
takes a raw request apart by the styles of the specification and returns the values in it.
"""

from __future__ import annotations

import contextlib
import json
import re
from email import message_from_bytes
from typing import Any, NamedTuple
from urllib.parse import unquote

from openapi_schema_validator import OAS30WriteValidator, OAS31Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_DEFAULT_STYLE = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_IGNORED = ("accept", "content-type", "authorization")


class Mismatch(AssertionError):
    """The request is not what the document demands."""


class RawRequest(NamedTuple):
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class Received(NamedTuple):
    """The operation, and the values by place and name; texts where the request has texts."""

    operation: dict[str, Any]
    values: dict[tuple[str, str], Any]
    body: Any


class Demands:
    """Takes requests apart as one document says."""

    def __init__(self, document: dict[str, Any], prefix: str = "") -> None:
        self.document = document
        self._prefix = prefix
        resource = Resource.from_contents(document, default_specification=DRAFT202012)
        self._registry: Any = Registry().with_resource("urn:document", resource)
        is_30 = document["openapi"].startswith("3.0")
        self._validator: Any = OAS30WriteValidator if is_30 else OAS31Validator
        self._routes = [
            (path, method, re.compile(_pattern(path)))
            for path, item in document["paths"].items()
            for method in _METHODS
            if method in self.resolve(item)
        ]
        # Literal segments come before variables.
        self._routes.sort(key=lambda route: (route[0].count("{"), -len(route[0])))

    def resolve(self, value: Any) -> Any:
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            found: Any = self.document
            for step in value["$ref"].split("/")[1:]:
                key = unquote(step).replace("~1", "/").replace("~0", "~")
                found = found[int(key)] if isinstance(found, list) else found[key]
            value = found
        return value

    def read(self, request: RawRequest, wanted: str) -> Received:
        """Read a request; `wanted` is the operationId, for paths that differ in a fragment."""
        path = request.path.removeprefix(self._prefix)
        found = [
            (template, method, match)
            for template, method, pattern in self._routes
            if method == request.method.lower() and (match := pattern.fullmatch(path)) is not None
        ]
        if not found:
            raise Mismatch(f"no operation for {request.method} {path}")
        paths = self.document["paths"]
        # The names of two tools may have this beginning; they end with a digest then.
        named = [
            each
            for each in found
            if plain_id(self.resolve(paths[each[0]])[each[1]])[:57] == wanted[:57]
        ]
        for each in named[:-1]:
            with contextlib.suppress(Mismatch):
                return self._read(request, *each)
        return self._read(request, *(named or found[:1])[-1])

    def _read(
        self, request: RawRequest, template: str, method: str, match: re.Match[str]
    ) -> Received:
        item = self.resolve(self.document["paths"][template])
        operation = item[method]
        parameters = {
            (each["in"], each["name"]): each
            for owner in (item, operation)
            for each in map(self.resolve, owner.get("parameters", ()))
        }
        names = re.findall(r"\{([^{}]*)\}", template)
        query = [pair.partition("=")[::2] for pair in request.query.split("&") if pair]
        cookies = [
            pair.strip().partition("=")[::2]
            for pair in request.headers.get("cookie", "").split(";")
            if pair.strip()
        ]
        values: dict[tuple[str, str], Any] = {}
        for (place, name), parameter in parameters.items():
            if place == "path":
                if name in names:
                    raw = match[names.index(name) + 1]
                    values[place, name] = self._from_path(parameter, raw)
                continue
            if place == "header":
                found = self._from_header(parameter, request.headers)
            else:
                found = self._from_pairs(parameter, query if place == "query" else cookies)
            if found is not None:
                values[place, name] = found
            elif parameter.get("required") and name.lower() not in _IGNORED:
                raise Mismatch(f"the {place} parameter {name!r} is missing")
        for name in names:
            values.setdefault(("path", name), unquote(match[names.index(name) + 1]))
        if query or cookies:
            raise Mismatch(f"nothing describes {query or cookies}")
        return Received(operation, values, self._body(request, operation))

    # -- parameters ---------------------------------------------------------------------------

    def _kind(self, schema: Any) -> str:
        schema = self.resolve(schema or {})
        for part in schema.get("allOf", []) + schema.get("oneOf", []) + schema.get("anyOf", []):
            if "type" not in schema:
                schema = {**self.resolve(part), **schema}
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next(each for each in kind if each != "null")
        return str(kind)

    def _shape(self, parameter: dict[str, Any]) -> tuple[str, str, bool, str]:
        style = parameter.get("style") or _DEFAULT_STYLE[parameter["in"]]
        explode = parameter.get("explode", style == "form")
        return parameter["name"], style, explode, self._kind(parameter.get("schema"))

    def _from_path(self, parameter: dict[str, Any], raw: str) -> Any:
        name, style, explode, kind = self._shape(parameter)
        if style == "matrix":
            if not raw.startswith(";"):
                raise Mismatch(f"{name}: {raw!r} does not begin with ';'")
            items = raw[1:].split(";")
            if kind == "object" and explode:
                return dict(_pair(item) for item in items)
            bare = [item.removeprefix(f"{name}=") for item in items]
            return _split(bare[0] if not explode or kind != "array" else bare, kind, ",", False)
        delimiter = ","
        if style == "label":
            if not raw.startswith("."):
                raise Mismatch(f"{name}: {raw!r} does not begin with '.'")
            raw, delimiter = raw[1:], "." if explode else ","
        return _split(raw, kind, delimiter, explode)

    def _from_header(self, parameter: dict[str, Any], headers: dict[str, str]) -> Any:
        name, _, explode, kind = self._shape(parameter)
        raw = headers.get(name.lower())
        if raw is None or name.lower() in _IGNORED:
            return None
        if "content" in parameter:
            return json.loads(raw)
        # Percent-encoding does not exist in headers.
        return _split(raw.replace("%", "%25"), kind, ",", explode)

    def _from_pairs(self, parameter: dict[str, Any], pairs: list[tuple[str, str]]) -> Any:
        """Take what belongs to the parameter out of the pairs."""
        name, style, explode, kind = self._shape(parameter)
        if "content" in parameter:
            own = _take(pairs, lambda key: key == name)
            return json.loads(unquote(own[0][1])) if own else None
        if style == "deepObject":
            own = _take(pairs, lambda key: key == name or key.startswith(f"{name}["))
            return _nested(own, name) if own else None
        if kind == "object" and explode:
            known = self.resolve(parameter["schema"]).get("properties", {})
            own = _take(pairs, lambda key: not known or key in known)
            return dict(_pair("=".join(pair)) for pair in own) or None
        own = _take(pairs, lambda key: key == name)
        if not own:
            return None
        if kind == "array" and explode:
            return [unquote(value) for _, value in own]
        if len(own) > 1:
            raise Mismatch(f"{name} is there twice")
        delimiter = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(style, ",")
        return _split(own[0][1], kind, delimiter, False)

    # -- bodies -------------------------------------------------------------------------------

    def _body(self, request: RawRequest, operation: dict[str, Any]) -> Any:
        described = self.resolve(operation.get("requestBody"))
        sent = request.headers.get("content-type", "")
        if not sent:
            if described is not None and described.get("required"):
                raise Mismatch("the body is missing")
            return None
        if described is None:
            raise Mismatch("there should be no body")
        essence = sent.partition(";")[0].strip()
        contents = {
            key.partition(";")[0].strip(): each for key, each in described["content"].items()
        }
        if essence not in contents and "*/*" not in contents:
            raise Mismatch(f"the content type is {essence}, not one of {', '.join(contents)}")
        content: Any = contents.get(essence, contents.get("*/*"))
        if essence.endswith("json"):
            value = json.loads(request.body)
            self._validate(content.get("schema", {}), value)
            return value
        if essence == "application/x-www-form-urlencoded":
            pairs = [p.partition("=")[::2] for p in request.body.decode().split("&") if p]
            return self._form(pairs, content)
        if essence.startswith("multipart/"):
            return _parts(sent, request.body)
        return request.body

    def _validate(self, schema: Any, value: Any) -> None:
        pointer = _find_pointer(self.document, schema)
        validator = self._validator({"$ref": f"urn:document#{pointer}"}, registry=self._registry)
        # A sample may match two alternatives of oneOf.
        found = [error.message for error in validator.iter_errors(value)]
        errors = [text[:200] for text in found if "is valid under each of" not in text]
        if errors:
            raise Mismatch(f"the body does not match: {errors[0]}")

    def _form(self, pairs: list[tuple[str, str]], content: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while pairs:
            name = re.split(r"\[", unquote(pairs[0][0]))[0]
            encoding = content.get("encoding", {}).get(name, {})
            own = _take(pairs, lambda key, name=name: key == name or key.startswith(f"{name}["))
            if encoding.get("style") == "deepObject":
                found[name] = _nested(own, name)
            else:
                values = [unquote(value) for _, value in own]
                found[name] = values if len(values) > 1 else values[0]
        return found


def plain_id(operation: dict[str, Any]) -> str:
    """The operationId in the characters that names of tools have."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", operation.get("operationId", "")).strip("_-")


def _pattern(template: str) -> str:
    template = template.partition("#")[0]
    parts = re.split(r"\{[^{}]*\}", template)
    return "([^/]*)".join(re.escape(part) for part in parts)


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return unquote(key), unquote(value)


def _split(raw: Any, kind: str, delimiter: str, explode: bool) -> Any:
    if isinstance(raw, list):
        return [unquote(item) for item in raw]
    if kind == "array":
        return [unquote(item) for item in raw.split(delimiter)]
    if kind == "object":
        items = raw.split(delimiter)
        if explode:
            return dict(_pair(item) for item in items)
        return dict(zip(map(unquote, items[::2]), map(unquote, items[1::2]), strict=True))
    return unquote(raw)


def _take(pairs: list[tuple[str, str]], is_own: Any) -> list[tuple[str, str]]:
    own = [pair for pair in pairs if is_own(unquote(pair[0]))]
    pairs[:] = [pair for pair in pairs if pair not in own]
    return own


def _nested(pairs: list[tuple[str, str]], name: str) -> Any:
    """Read `a[b][0]=c`."""
    root: dict[str, Any] = {}
    for key, value in pairs:
        steps = re.findall(r"\[([^\[\]]*)\]", unquote(key).removeprefix(name))
        if not steps:
            return unquote(value)
        place = root
        for step in steps[:-1]:
            place = place.setdefault(step, {})
        place[steps[-1]] = unquote(value)
    return root


def _parts(content_type: str, body: bytes) -> dict[str, list[bytes]]:
    message = message_from_bytes(b"Content-Type: %b\r\n\r\n" % content_type.encode() + body)
    found: dict[str, list[bytes]] = {}
    for part in message.get_payload():
        name = part.get_param("name", header="content-disposition")  # type: ignore[union-attr]
        found.setdefault(str(name), []).append(part.get_payload(decode=True))  # type: ignore[union-attr,arg-type]
    return found


def _find_pointer(document: Any, wanted: Any) -> str:
    """The pointer of an object that is part of the document."""
    stack = [("", document)]
    while stack:
        pointer, value = stack.pop()
        if value is wanted:
            return pointer
        items = value.items() if isinstance(value, dict) else ()
        for key, item in items:
            if isinstance(item, dict):
                step = str(key).replace("~", "~0").replace("/", "~1").replace("%", "%25")
                stack.append((f"{pointer}/{step}", item))
    raise Mismatch("the schema is not part of the document")
