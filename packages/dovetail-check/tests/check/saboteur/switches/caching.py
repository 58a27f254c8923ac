from __future__ import annotations

from tests.check.saboteur.messages import result_of
from tests.check.saboteur.switch import Message, on_reply


def drop_hints(reply: Message, request: Message) -> None:
    result_of(reply).pop("ttlMs", None)


for _row, _method in (
    ("caching.discover", "server/discover"),
    ("caching.tools-list", "tools/list"),
    ("caching.prompts-list", "prompts/list"),
    ("caching.resources-list", "resources/list"),
    ("caching.templates-list", "resources/templates/list"),
    ("caching.resources-read", "resources/read"),
):
    on_reply(_row, to=_method)(drop_hints)


@on_reply("caching.ttl-nonnegative", to="tools/list")
def a_time_is_negative(reply: Message, request: Message) -> None:
    result_of(reply)["ttlMs"] = -1


@on_reply("caching.scope-enum", to="tools/list")
def a_scope_is_unknown(reply: Message, request: Message) -> None:
    result_of(reply)["cacheScope"] = "shared"


@on_reply("caching.scope-same-pages", to="tools/list")
def the_second_page_has_another_scope(reply: Message, request: Message) -> None:
    is_second = "cursor" in request["params"]
    result_of(reply)["cacheScope"] = "private" if is_second else "public"


@on_reply("caching.no-hints-on-input-required", to="resources/read")
def input_required_with_ttl(reply: Message, request: Message) -> None:
    result = result_of(reply)
    if "contents" in result:
        del result["contents"]
        result |= {"resultType": "input_required", "requestState": "x", "ttlMs": 5}
