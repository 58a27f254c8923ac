"""Mistakes that `mypy --strict` must report, on the lines marked `# E:`. See test_typing.py.

The text after the marker is part of the message that mypy gives.
"""

from __future__ import annotations

from dovetail import Context, Server, ToolOptions
from dovetail.transports import serve_http


class Database:
    def query(self, text: str) -> list[str]:
        return [text]


server = Server("bad", lifspan=None)  # E: Unexpected keyword argument "lifspan"

server.tool(desciption="x")  # E: did you mean "description"?
server.tool(timeout="5")  # E: No overload variant
server.tool(task="sometimes")  # E: No overload variant
server.tool(annotations={"readOnly": True})  # E: No overload variant
server.tool(5)  # E: No overload variant
server.prompt(tilte="x")  # E: did you mean "title"?
server.prompt("name", input_schema={})  # E: Unexpected keyword argument "input_schema"
server.resource("notes://a", mimetype="text/plain")  # E: did you mean "mime_type"?
server.resource("notes://a", cache_scope="shared")  # E: incompatible type
server.resource(mime_type="text/plain")  # E: Too few arguments
server.resource_list(page_size=5)  # E: Unexpected keyword argument "page_size"
server.complete(5, "name")  # E: incompatible type "int"
server.http_app(allowed_host=["example.org"])  # E: did you mean "allowed_hosts"?
server.tools.add(print, titel="x")  # E: did you mean "title"?

options: ToolOptions = {"name": 5}  # E: Incompatible types


async def wrong_attribute(ctx: Context[Database]) -> list[str]:
    return ctx.lifespan.querry("x")  # E: "Database" has no attribute "querry"


async def wrong_context(ctx: Context[int]) -> None:
    await wrong_attribute(ctx)  # E: incompatible type "Context[int]"


async def not_awaited(ctx: Context) -> str:
    return ctx.sample("Say hello").text  # E: has no attribute "text"


async def refused(ctx: Context) -> str:
    answer = await ctx.elicit("Who?", dict[str, str])
    if answer.action == "accept":
        return answer.data["name"]
    return answer.data["name"]  # E: Value of type "None" is not indexable


async def main() -> None:
    await serve_http(server, stateles=True)  # E: did you mean "stateless"?
