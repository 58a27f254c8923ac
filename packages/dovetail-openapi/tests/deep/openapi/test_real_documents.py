"""Documents of real APIs, which `make openapi` fetches, as servers.

Every document is imported. A local HTTP server made from the document alone takes each request
apart and compares it with the arguments of the call. `make test` leaves out the larger documents,
and calls every tenth tool of six; `make openapi` calls all tools of all documents.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import uvicorn
import yaml

from dovetail import Server
from dovetail.client import Client
from dovetail_openapi import Rule
from tests.contracts.source_tree import ROOT
from tests.deep.openapi.demands import Demands, Mismatch, RawRequest, Received, plain_id
from tests.deep.openapi.samples import sample
from tests.patience import CAP
from tools.openapi_documents import PACKAGES, file_name

FOLDER = ROOT / ".openapi"
STRIDE = int(os.environ.get("OPENAPI_STRIDE", "10"))
NAMES = [file_name(path) for paths in PACKAGES.values() for path in paths]
# Documents over this size take a second and more each.
LARGE = 500_000 if STRIDE > 1 else 100_000_000
FEW = [
    "3.1-json-parameters-style.json",
    "3.0-json-file-uploads.json",
    "discourse.local.json",
    "dist-3.1.yaml",
    "gitlab.com.json",
    "openai.com.json",
]
# Document -> why its tools are not called.
UNCALLED = {
    "linode.com.json": "it demands properties that it declares as read-only",
    "notion.com.json": "an operation is invalid",
}
CALLED = FEW if STRIDE > 1 else [name for name in NAMES if name not in UNCALLED]
# Document -> operations in it that are invalid: here a parameter without a name.
BROKEN = {"notion.com.json": ["retrieveAPage"]}
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="make .openapi/.stamp fetches them")


def is_small(name: str) -> bool:
    """Whether a document is part of `make test`; `make openapi` takes all of them."""
    file = FOLDER / name
    return not file.exists() or file.stat().st_size <= LARGE


def find(name: str) -> Path:
    return FOLDER / name


@pytest.mark.parametrize("name", [name for name in NAMES if is_small(name)])
def test_a_document_becomes_a_server(name: str) -> None:
    file = find(name)
    client = httpx.AsyncClient(base_url="http://127.0.0.1:9")
    rules = [Rule(to="exclude", operations=[id]) for id in BROKEN.get(name, ())]
    server = Server.from_openapi(file, client=client, rules=rules)
    tools = server.tools.list()
    assert len(tools) == count_operations(load(file)) - len(rules)
    for tool in tools[:: STRIDE * 3]:
        assert TOOL_NAME.fullmatch(tool.name)
        assert tool.description
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            check_references(schema)


def check_references(schema: dict[str, Any]) -> None:
    """Every `$ref` leads to a definition of the same schema."""
    wanted = set(re.findall(r'"\$ref": "#/\$defs/([^"]*)"', json.dumps(schema)))
    assert wanted <= schema.get("$defs", {}).keys()
    assert json.dumps(schema).count('"$ref": "#/$defs/') == json.dumps(schema).count('"$ref": "')


def load(file: Path) -> Any:
    text = file.read_text("utf-8")
    document = yaml.safe_load(text) if file.suffix == ".yaml" else json.loads(text)
    return without_discriminators(document)


def without_discriminators(value: Any) -> Any:
    """Some lead to files that are not there, and a valid value is valid without them."""
    if isinstance(value, dict):
        return {
            key: without_discriminators(item)
            for key, item in value.items()
            if key != "discriminator" or not isinstance(item, dict)
        }
    return [without_discriminators(item) for item in value] if isinstance(value, list) else value


def count_operations(document: Any) -> int:
    demands = Demands(document)
    methods = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
    return sum(len(methods & demands.resolve(item).keys()) for item in document["paths"].values())


class LocalApi:
    """An ASGI application that takes requests apart as its document says."""

    def __init__(self, document: Any) -> None:
        self._demands = Demands(document, "/base")
        self.wanted = ""
        self.last: Received | Mismatch | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        path, query = scope["raw_path"].decode(), scope["query_string"].decode()
        try:
            request = RawRequest(scope["method"], path, query, headers, body)
            self.last = self._demands.read(request, self.wanted)
        except Mismatch as error:
            self.last = error
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})


@asynccontextmanager
async def serve(app: Any) -> AsyncIterator[int]:
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(CAP):
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


@pytest.mark.parametrize("name", [name for name in CALLED if is_small(name)])
def test_requests_are_what_the_document_demands(name: str) -> None:
    file = FOLDER / name
    asyncio.run(call_tools(file, load(file)))


async def call_tools(file: Path, document: Any) -> None:
    api = LocalApi(document)
    wrong: list[str] = []
    called = refused = 0
    async with (
        serve(api) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/base") as to,
    ):
        server = Server.from_openapi(file, client=to, output_schemas=False)
        tools = server.tools.list()
        stride = 1 if len(tools) < 40 else STRIDE
        async with Client(server) as client:
            for tool in tools[::stride]:
                arguments = sample(tool.input_schema, tool.input_schema)
                api.wanted, api.last = tool.name, None
                result = await client.call(tool.name, arguments)
                if result.is_error and "cannot contain ' '" in result.text:
                    # A limit of the style spaceDelimited.
                    arguments = json.loads(json.dumps(arguments).replace("x y", "x_y"))
                    result = await client.call(tool.name, arguments)
                if result.is_error and result.text.startswith("Invalid arguments"):
                    refused += 1
                    continue
                called += 1
                problem = (
                    result.text if result.is_error else compare(tool.name, arguments, api.last)
                )
                if problem:
                    wrong.append(f"{tool.name}: {problem}")
        await server.close()
    assert not wrong, f"{len(wrong)} of {called}: " + "\n".join(wrong[:20])
    # Samples do not satisfy every pattern and combination.
    assert called >= 19 * refused
    assert called


def compare(tool: str, arguments: dict[str, Any], received: Received | Mismatch | None) -> str:
    """What is wrong with a request; empty if nothing is."""
    if not isinstance(received, Received):
        return f"{received}"
    id = plain_id(received.operation)
    if id and len(id) <= 64 and not tool.startswith(id):
        return f"the request is that of {id}"
    left = dict(arguments)
    body = left.pop("body", None) if received.body is not None else None
    for (place, name), value in received.values.items():
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
        key = f"{plain}_{place}" if f"{plain}_{place}" in left else plain
        if key not in left:
            return f"{place} {name!r} was sent without an argument"
        sent = left.pop(key)
        if not is_same(sent, value) and not is_same(without_empty(sent), value):
            return f"{place} {name!r} is {value!r}, not {sent!r}"
    unsent = without_empty({key: value for key, value in left.items() if value is not None})
    if unsent:
        return f"not sent: {unsent}"
    return (
        "" if is_same_body(body, received.body) else f"the body is {received.body!r}, not {body!r}"
    )


def is_same(sent: Any, received: Any) -> bool:
    """Whether a value arrived; scalars arrive as text, arrays in brackets as objects."""
    if isinstance(sent, list) and isinstance(received, dict):
        received = [received[key] for key in sorted(received, key=int)]
    if isinstance(sent, list):
        received = received if isinstance(received, list) else [received]
        return len(sent) == len(received) and all(map(is_same, sent, received))
    if isinstance(sent, dict):
        if isinstance(received, str):
            return bool(json.loads(received) == sent)
        return (
            isinstance(received, dict)
            and sent.keys() == received.keys()
            and all(is_same(sent[key], received[key]) for key in sent)
        )
    return bool(sent == received or as_text(sent) == received)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def is_same_body(sent: Any, received: Any) -> bool:
    if isinstance(received, bytes):
        return received == as_text(sent).encode() or received == base64.b64decode(sent)
    if isinstance(received, dict) and any(isinstance(each, list) for each in received.values()):
        first = next(iter(received.values()))
        if isinstance(first, list) and first and isinstance(first[0], bytes):
            return is_same_form(sent, received)
    # A form has no text for an empty object.
    return is_same(sent, received) or is_same(without_empty(sent), received)


def without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ({}, [])}
    if isinstance(value, list):
        return [item for item in map(without_empty, value) if item not in ({}, [])]
    return value


def is_same_form(sent: dict[str, Any], parts: dict[str, list[bytes]]) -> bool:
    for name, value in sent.items():
        items = value if isinstance(value, list) else [value]
        for item, part in zip(items, parts.pop(name, []), strict=True):
            text = json.dumps(item) if isinstance(item, dict) else as_text(item)
            decoded = part.decode("utf-8", "replace")
            is_json = isinstance(item, dict) and json.loads(decoded) == item
            if not is_json and decoded != text and part != base64.b64decode("AAEC"):
                return False
    return not parts
