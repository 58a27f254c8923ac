from __future__ import annotations

from tests.check.saboteur.switch import Message, on_reply, on_request, tuned
from tests.check.saboteur.switches.base import refuse

tuned("versioning.supported-honoured", revision="all")
tuned("versioning.initialize-error-names-versions", revision="all")
tuned("versioning.discover-exists", probes=("notices",))
tuned("discover.result-fields", "discover.serverinfo", "versioning.extension-id", probes=("ids",))


@on_reply("versioning.unsupported-32022")
def another_code(reply: Message, request: Message) -> None:
    if reply.get("error", {}).get("code") == -32022:
        reply["error"]["code"] = -32602


@on_reply("versioning.unsupported-lists-supported")
def no_list(reply: Message, request: Message) -> None:
    if reply.get("error", {}).get("code") == -32022:
        del reply["error"]["data"]["supported"]


@on_request("versioning.supported-honoured")
def one_version_is_rejected(request: Message) -> list[Message] | None:
    offer = request.get("params", {}).get("protocolVersion")
    return refuse(request, -32602) if offer == "2025-06-18" else None


@on_reply("versioning.supported-honoured", to="server/discover")
def rejected_version_is_listed(reply: Message, request: Message) -> None:
    reply["result"]["supportedVersions"] = ["2026-07-28", "2025-06-18"]


@on_request("versioning.discover-exists")
def discovery_works_once(request: Message) -> list[Message] | None:
    is_later = request.get("method") == "server/discover" and request.get("id") != 1
    return refuse(request, -32601) if is_later else None


@on_reply("versioning.extension-id", to="server/discover")
def no_prefix(reply: Message, request: Message) -> None:
    reply["result"]["capabilities"]["extensions"] = {"tasks": {}}


@on_reply("versioning.extension-fallback", to="server/discover")
def an_extension(reply: Message, request: Message) -> None:
    reply["result"]["capabilities"]["extensions"] = {"com.example/later": {}}


@on_reply("versioning.extension-fallback", to="tools/call")
def later_for_everybody(reply: Message, request: Message) -> None:
    if "result" in reply:
        reply["result"]["resultType"] = "later"


@on_request("versioning.initialize-error-names-versions")
def modern_only_without_naming_versions(request: Message) -> list[Message] | None:
    return refuse(request, -32601) if request.get("method") == "initialize" else None


@on_reply("discover.result-fields", to="server/discover")
def no_lifetime(reply: Message, request: Message) -> None:
    del reply["result"]["ttlMs"]
