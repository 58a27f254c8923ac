from __future__ import annotations

from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_reply,
    on_request,
    on_response,
    tuned,
)
from tests.check.saboteur.switches.base import refuse

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


@on_reply("base.reqmeta.missing-32602", to="server/discover")
def another_code(reply: Message, request: Message) -> None:
    if "error" in reply:
        reply["error"]["code"] = -32603


@on_response("base.reqmeta.missing-http-400", "base.reqmeta.missing-capability-http-400")
def another_status(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 400:
        response.status = 200


@on_request("base.reqmeta.no-undeclared-capability")
def request_undeclared_input(request: Message) -> list[Message] | None:
    if request.get("method") != "tools/call":
        return None
    asked = {"method": "roots/list"}
    result = {"resultType": "input_required", "inputRequests": {"roots": asked}}
    return [{"jsonrpc": "2.0", "id": request["id"], "result": result}]


@on_reply("base.reqmeta.missing-capability-32021", to="tools/call")
def no_capability_is_named(reply: Message, request: Message) -> None:
    if reply.get("error", {}).get("code") == -32021:
        reply["error"]["data"] = {}


for row in ("resmeta.serverinfo", "result.resulttype", "result.resulttype-known"):
    tuned(f"base.{row}", probes=("ids",))


@on_reply("base.resmeta.serverinfo", "discover.serverinfo", to="server/discover")
def nobody(reply: Message, request: Message) -> None:
    reply["result"].get("_meta", {}).pop(SERVER_INFO, None)


@on_reply("base.result.resulttype", to="server/discover")
def no_type(reply: Message, request: Message) -> None:
    reply["result"].pop("resultType")


@on_reply("base.result.resulttype-known", to="server/discover")
def another_type(reply: Message, request: Message) -> None:
    reply["result"]["resultType"] = "dovetail-check"
    reply["result"]["capabilities"].pop("extensions", None)


# -- statelessness ---------------------------------------------------------------------------------


@on_request("base.stateless.no-prior-context")
def discover_first(request: Message) -> list[Message] | None:
    # Ids start at 1 on each connection, and the main connection starts with server/discover.
    is_cold = request.get("method") == "tools/list" and request.get("id") == 1
    return refuse(request) if is_cold else None


@on_request("base.stateless.no-affinity")
def cursors_of_this_connection_only(request: Message) -> list[Message] | None:
    is_cold = request.get("id") == 2 and "cursor" in request.get("params", {})
    return refuse(request) if is_cold else None


def client_of(request: Message) -> str:
    return str(request.get("params", {}).get("_meta", {}).get(CLIENT_INFO, {}).get("name"))


@on_request("base.stateless.interleaving")
def one_client_only(request: Message) -> list[Message] | None:
    return refuse(request) if client_of(request) == "dovetail-check-other" else None


@on_reply("base.reqmeta.clientinfo-no-behaviour", to="tools/list")
def fewer_items_for_other_clients(reply: Message, request: Message) -> None:
    if client_of(request) == "dovetail-check-other":
        reply["result"]["tools"] = []
