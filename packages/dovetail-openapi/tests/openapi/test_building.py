"""Servers from documents and from FastAPI applications, served as they are to clients."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pydantic
import pytest
from fastapi import FastAPI, HTTPException, Request, UploadFile

from dovetail import Options, Server
from dovetail.client import Client
from dovetail.errors import MissingPackageError, UsageError
from tests.openapi.backend import Backend, call, document, get


class Item(pydantic.BaseModel):
    name: str
    children: list[Item] = []


def make_shop(log: list[str]) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        log.append("started")
        yield {"owner": "Ada"}
        log.append("stopped")

    app = FastAPI(title="Shop", version="3", lifespan=lifespan)

    @app.get("/items/{item_id}", operation_id="read_item")
    async def read_item(item_id: int, verbose: bool = False) -> Item:
        """Read one item."""
        if item_id > 9:
            raise HTTPException(404, "no such item")
        return Item(name=f"{item_id} {verbose}")

    @app.post("/items", operation_id="add_item")
    async def add_item(item: Item) -> Item:
        return item

    @app.post("/photo", operation_id="add_photo")
    async def add_photo(photo: UploadFile) -> str:
        return f"{len(await photo.read())} bytes"

    @app.get("/owner", operation_id="owner")
    async def owner(request: Request) -> str:
        return getattr(request.state, "owner", "nobody")

    @app.get("/crash", operation_id="crash")
    async def crash() -> None:
        raise ValueError("inside")

    return app


def test_a_fastapi_application_is_called_in_this_process() -> None:
    log: list[str] = []
    server = Server.from_fastapi(make_shop(log))
    assert (server.name, server.version) == ("Shop", "3")

    async def run() -> list[Any]:
        async with Client(server) as client:
            found = [
                await client.call("read_item", {"item_id": 3, "verbose": True}),
                await client.call("read_item", {"item_id": 10}),
                await client.call("read_item", {"item_id": "x"}),
                await client.call("add_item", {"body": {"name": "a", "children": [{"name": "b"}]}}),
                await client.call("add_photo", {"body": {"photo": "AAEC"}}),
                await client.call("owner"),
                await client.call("crash"),
            ]
            await server.close()
            return found

    item, missing, wrong, added, photo, owner, crashed = asyncio.run(run())
    assert item.structured == {"name": "3 True", "children": []}
    assert missing.is_error and '{"detail":"no such item"}' in missing.text
    assert wrong.is_error and "item_id: expected" in wrong.text
    assert added.structured["children"][0]["name"] == "b"
    assert photo.text == '"3 bytes"'
    assert owner.text == '"Ada"'
    assert crashed.is_error and "500 Internal Server Error" in crashed.text
    assert "inside" not in crashed.text
    assert log == ["started", "stopped"]


def test_an_application_that_is_served_by_itself_keeps_its_lifespan() -> None:
    log: list[str] = []
    server = Server.from_fastapi(make_shop(log), run_lifespan=False)
    assert call(server, "owner").text == '"nobody"'
    assert log == []


def test_a_server_that_was_closed_starts_again() -> None:
    server = Server.from_fastapi(make_shop([]))

    async def run() -> None:
        for _ in range(2):
            async with Client(server) as client:
                assert not (await client.call("read_item", {"item_id": 1})).is_error
            await server.close()

    asyncio.run(run())


def test_the_document_names_the_server(tmp_path: Path) -> None:
    file = tmp_path / "api.json"
    file.write_text('{"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": {}}')
    assert Server.from_openapi(file).name == "T"
    assert Server.from_openapi(file, name="other").name == "other"


def test_operations_can_join_a_server() -> None:
    own = Server("own", options=Options(list_output_schemas=False))

    @own.tool
    def add(a: int, b: int) -> int:
        return a + b

    backend = Backend()
    assert Server.from_openapi(get("/a"), server=own, client=backend.client()) is own
    assert [tool.name for tool in own.tools.list()] == ["add", "get"]
    assert call(own, "get").text == "done"


def test_operations_of_a_running_server_need_a_client() -> None:
    own = Server.from_fastapi(make_shop([]))

    async def run() -> Any:
        async with Client(own) as client:
            await client.call("owner")
            Server.from_openapi(
                {**get("/a"), "servers": [{"url": "https://a.example"}]}, server=own
            )
            result = await client.call("get")
            await own.close()
            return result

    assert "the server was running when its operations were added" in asyncio.run(run()).text


def test_a_cycle_in_a_body_is_valid_in_both_eras() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Tree"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}
    spec = document({"/a": {"post": {"operationId": "put", "requestBody": body}}})
    spec["components"] = {"schemas": {"Tree": tree}}
    backend = Backend()
    server = Server.from_openapi(spec, client=backend.client())
    assert not call(server, "put", {"body": {"next": {"next": {}}}}).is_error
    assert backend.seen[0].body == b'{"next":{"next":{}}}'
    assert "body.next" in call(server, "put", {"body": {"next": 3}}).text


@pytest.mark.parametrize(
    ("spec", "options", "problem"),
    [
        (3, {}, "is an object, got int"),
        (get("/a"), {"client": object()}, "client is an httpx.AsyncClient, got object"),
        (get("/a", parameters=[{"$ref": "https://a.example/p.json"}]), {},
         "#/paths/~1a/get/parameters/0: the .ref leads to another document"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(spec: Any, options: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Server.from_openapi(spec, **options)


def test_only_an_application_with_a_document_is_taken() -> None:
    with pytest.raises(UsageError, match="takes a FastAPI application, got str"):
        Server.from_fastapi("app")


def test_a_document_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    spec = get("/a", parameters=[{"name": "a", "in": "query", "schema": schema}])
    with pytest.raises(UsageError, match="nested more than 100 levels"):
        Server.from_openapi(spec, client=Backend().client())


def test_a_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dovetail_openapi", None)
    for make in (Server.from_openapi, Server.from_fastapi):
        with pytest.raises(MissingPackageError, match=r": pip install dovetail-openapi$"):
            make({})
