"""Operations as tools and resources of a server."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from dovetail import Context, Server
from dovetail.client import Client
from dovetail.errors import ResourceNotFoundError, RpcError, UsageError
from dovetail_openapi import Rule
from tests.openapi.backend import Backend, call, document, get

PATHS = {
    "/pets": {
        "get": {"operationId": "list", "tags": ["pets"]},
        "post": {"operationId": "list"},
    },
    "/pets/{petId}": {"get": {"summary": "Find a pet", "description": "By its id."}},
    "/admin": {"delete": {"operationId": "wipe", "parameters": 3}},
}
EXCLUDED = Rule(to="exclude", paths=["/admin*"])


def read(server: Server, uri: str) -> Any:
    async def run() -> Any:
        async with Client(server) as client:
            return await client.read(uri)

    return asyncio.run(run())


def test_tools_are_named_annotated_and_described() -> None:
    server = Server.from_openapi(document(PATHS), client=Backend().client(), rules=[EXCLUDED])
    tools = {tool.name: tool for tool in server.tools.list()}
    assert list(tools) == ["list", "list_2", "get_pets_petId"]
    reads, writes = tools["list"].annotations, tools["list_2"].annotations
    assert reads is not None
    assert writes is not None
    assert (reads.read_only_hint, reads.idempotent_hint) == (True, True)
    assert (writes.read_only_hint, writes.idempotent_hint) == (False, False)
    assert tools["get_pets_petId"].description == "Find a pet. By its id."


def test_an_excluded_operation_is_not_read() -> None:
    """One broken operation does not make a document useless: the error says how to leave it out."""
    with pytest.raises(UsageError, match="#/paths/~1admin/delete/parameters") as caught:
        Server.from_openapi(document(PATHS), client=Backend().client())
    assert "Rule(to=\"exclude\", operations=['wipe'])" in str(caught.value)


def test_the_capabilities_do_not_promise_log_messages() -> None:
    client = Backend().client()
    assert "logging" not in Server.from_openapi(get("/a"), client=client).capabilities()


def resource(path: str, backend: Backend, *parameters: dict[str, Any], **options: Any) -> Server:
    content: dict[str, Any] = {"text/csv": {}}
    spec = get(
        path,
        parameters=list(parameters),
        responses={"200": {"description": "", "content": content}},
    )
    rules = [Rule(to="resource", methods=["GET"])]
    return Server.from_openapi(spec, client=backend.client(), rules=rules, **options)


def query(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "string"}, **more}


def test_an_operation_without_parameters_is_a_resource() -> None:
    backend = Backend(lambda request: httpx.Response(200, text="a,b", headers={
        "content-type": "text/csv"}))  # fmt: skip
    server = resource("/report", backend)
    [listed] = server.resources.list()
    assert (listed.uri, listed.mime_type) == ("api://Shop/report", "text/csv")
    assert read(server, "api://Shop/report").text == "a,b"


def test_an_operation_with_parameters_is_a_template() -> None:
    backend = Backend()
    server = resource("/pets/{pet-id}", backend, query("kind", required=True), query("page"),
                      {"name": "X-A", "in": "header"})  # fmt: skip
    [listed] = server.resources.templates()
    assert listed.uri_template == "api://Shop/pets/{pet_id}?kind={kind}{&page}"
    read(server, "api://Shop/pets/a%20b?kind=x")
    read(server, "api://Shop/pets/7?kind=x&page=2")
    assert [(seen.path, seen.query) for seen in backend.seen] == [
        ("/v1/pets/a%20b", "kind=x"),
        ("/v1/pets/7", "kind=x&page=2"),
    ]


def test_a_resource_uses_the_credentials_of_its_caller() -> None:
    def find(context: Context[Any], scheme: Any) -> str | None:
        return "token"

    backend = Backend()
    scheme = {"type": "http", "scheme": "bearer"}
    spec = {**get("/a/{b}", security=[{"s": []}]), "components": {"securitySchemes": {"s": scheme}}}
    server = Server.from_openapi(
        spec, client=backend.client(), rules=[Rule(to="resource")], credentials=find
    )
    read(server, "api://Shop/a/x")
    assert backend.seen[0].headers["authorization"] == "Bearer token"


@pytest.mark.parametrize(("status", "kind"), [(404, ResourceNotFoundError), (500, RpcError)])
def test_a_failed_read_is_an_error(status: int, kind: type[Exception]) -> None:
    server = resource("/a", Backend(lambda request: httpx.Response(status, text="oops")))
    with pytest.raises(kind):
        read(server, "api://Shop/a")


def test_a_uri_cannot_leave_the_path() -> None:
    backend = Backend()
    server = resource("/files/{name}", backend)
    for uri in ("api://Shop/files/..", "api://Shop/files/%2e%2e", "api://Shop/files/..%2Fadmin"):
        with pytest.raises(RpcError):
            read(server, uri)
    assert not backend.seen


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"post": {}}, "only GET operations can be resources, not POST /a"),
        ({"get": {"parameters": [{"name": "x", "in": "header", "required": True}]}},
         "'x' is required and does not fit into a URI"),
        ({"get": {"requestBody": {"required": True, "content": {"text/plain": {}}}}}, "a body"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_resource_is_refused(item: Any, problem: str) -> None:
    spec = document({"/a": item})
    with pytest.raises(UsageError, match=problem):
        Server.from_openapi(spec, client=Backend().client(), rules=[Rule(to="resource")])


def test_tools_and_resources_side_by_side() -> None:
    backend = Backend()
    rules = [EXCLUDED, Rule(to="resource", tags=["pets"])]
    server = Server.from_openapi(document(PATHS), client=backend.client(), rules=rules)
    assert [each.uri for each in server.resources.list()] == ["api://Shop/pets"]
    assert not call(server, "get_pets_petId", {"petId": "7"}).is_error
