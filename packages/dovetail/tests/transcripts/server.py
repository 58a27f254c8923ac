"""The server that the transcripts talk to, in the variants that some pages need.

    python -m tests.transcripts.server [variant]      serves stdio

Its tools do one thing each. Nothing here waits for time to pass, but for the tool that must
run out of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from dovetail import (
    Annotations,
    Audio,
    Choices,
    Context,
    EmbeddedResource,
    Icon,
    Image,
    Message,
    ModelPreferences,
    Options,
    Resource,
    ResourceLink,
    ResourcePage,
    Server,
    Text,
    Tool,
    ToolAnnotations,
    ToolError,
    ToolResult,
)
from dovetail.errors import RpcError
from dovetail.transports.stdio import serve_stdio

__all__ = ["PRINCIPALS", "VARIANTS", "make_server"]

# What a variant changes; the pages that need one name it with `server:`.
VARIANTS: dict[str, Options] = {
    "full": Options(grace=0.05),
    "bare": Options(grace=0.05),
    "few": Options(grace=0.05),
    "paged": Options(grace=0.05, page_size=2),
    "listing": Options(grace=0.05, page_size=2),
    "small": Options(grace=0.05, max_message_bytes=2000),
    "lenient": Options(grace=0.05, accept_json_strings=True),
    "impatient": Options(grace=0.05, ask_timeout=0.05),
    "tasks": Options(grace=0.05, state="memory://"),
    "known": Options(grace=0.05, state="memory://", page_size=2),
    "stingy": Options(grace=0.05, state="memory://", tasks_per_owner=1, max_task_result_bytes=100),
    "limited": Options(grace=0.05, max_calls_per_client=2),
    "broken": Options(grace=0.05),
    "cached": Options(grace=0.05, list_ttl_ms=60_000, list_scope="private"),
}

# The principal of the client of a variant; stdio has none.
PRINCIPALS = {"known": "ada", "limited": "ada"}

_PNG = b"\x89PNG\r\n\x1a\n"
_WAV = b"RIFF\x00\x00\x00\x00WAVE"
_ICON = Icon(src="https://example.com/icon.png", mime_type="image/png", sizes=["48x48"])


@dataclass
class Point:
    """A place on a plane."""

    x: int
    y: int


@dataclass
class Trip:
    """A form with every kind of field that all revisions with forms have."""

    name: str
    nights: int
    breakfast: bool = True
    city: Literal["Rome", "Oslo"] = "Rome"


@dataclass
class Paint:
    """A form with titles for its choices."""

    colour: Annotated[str, Choices({"#f00": "Red", "#00f": "Blue"})] = "#f00"


@dataclass
class Toppings:
    """A form in which several values can be chosen."""

    wanted: Annotated[list[str], Choices(["ham", "olives"])]


@asynccontextmanager
async def _fail(server: Server) -> AsyncIterator[None]:
    raise ConnectionError("no database")
    yield


def make_server(variant: str = "full") -> Server:
    """A new server of this variant."""
    server = Server(
        "transcripts",
        version="1.0",
        title="Transcripts",
        description="Says what it is told to.",
        website="https://example.com",
        icons=[_ICON],
        instructions="Call a tool and compare.",
        options=VARIANTS[variant],
        lifespan=_fail if variant == "broken" else None,
    )
    if variant == "bare":
        return server
    if variant in ("tasks", "known", "stingy"):
        _add_task_tools(server)
        return server
    if variant == "paged":
        _add_many(server)
        return server
    if variant == "listing":
        _add_listed(server)
        return server
    _add_plain_tools(server)
    if variant == "few":
        return server
    _add_content_tools(server)
    _add_failing_tools(server)
    _add_telling_tools(server)
    _add_asking_tools(server)
    _add_changing_tools(server)
    _add_resources(server)
    _add_prompts(server)
    return server


def _add_many(server: Server) -> None:
    for name in ("one", "two", "three"):
        server.tools.add(lambda: "", name=name, blocking=False)
        server.prompts.add(lambda: "", name=name, blocking=False)
        server.resources.add(f"many://{name}", lambda: "", name=name, blocking=False)
        server.resources.add(f"many://{name}/{{id}}", _by_id, name=name, blocking=False)


def _add_listed(server: Server) -> None:
    """One that is registered, three that a list pages, and the template that reads them."""
    names = ["one", "two", "three"]
    server.resources.add("many://all", lambda: "", name="all", blocking=False)
    server.resources.add("many://{id}", _by_id, name="each", blocking=False)

    @server.resource_list(blocking=False)
    def many(cursor: str | None, limit: int) -> ResourcePage:
        end = int(cursor or 0) + limit
        shown = names[end - limit : end]
        return ResourcePage(
            [Resource(uri=f"many://{name}", name=name, title=name.title()) for name in shown],
            str(end) if end < len(names) else None,
        )


def _by_id(id: str) -> str:
    return id


def _add_plain_tools(server: Server) -> None:
    @server.tool(
        title="Add two numbers",
        annotations=ToolAnnotations(title="Sum", read_only_hint=True),
        icons=[_ICON],
        meta={"com.example/cost": 1},
    )
    async def add(a: int, b: int = 1) -> int:
        """Add.

        Args:
            a: the first number
            b: the second number
        """
        return a + b

    @server.tool
    async def move(point: Point, by: int) -> Point:
        """Move a point to the right."""
        return Point(point.x + by, point.y)

    @server.tool
    async def count(values: list[int], colour: Literal["red", "blue"] = "red") -> str:
        """Count values."""
        return f"{len(values)} {colour}"


def _add_content_tools(server: Server) -> None:
    @server.tool
    def show(what: str) -> Any:
        """Return content of one kind, from a worker thread."""
        link = ResourceLink(
            uri="notes://today",
            name="today",
            title="Today",
            description="What is on",
            icons=[_ICON],
        )
        shown: dict[str, Any] = {
            "text": "plain",
            "nothing": None,
            "image": Image(_PNG),
            "audio": Audio(_WAV),
            "link": link,
            "embedded": EmbeddedResource("notes://today", "milk", "text/plain"),
            "annotated": Text(
                "mind",
                annotations=Annotations(
                    audience=["user"], priority=0.5, last_modified="2026-01-02T03:04:05Z"
                ),
                meta={"com.example/k": 1},
            ),
            "mixed": ["one", Image(_PNG)],
            "explicit": ToolResult("said", structured={"n": 1}, meta={"com.example/took": 3}),
            "failed": ToolResult("no luck", is_error=True),
            "lines": "one\r\ntwo\n",
            "unicode": "Grüße, 世界 🎻 \u2028 line",
        }
        return shown[what]

    @server.tool
    async def shout() -> str:
        """Write to where messages go."""
        sys.stdout.write("noise\n")
        os.write(1, b"more noise\n")
        return "shouted"


def _add_failing_tools(server: Server) -> None:
    @server.tool
    async def fail(how: str) -> int:
        """Fail in one way."""
        if how == "told":
            raise ToolError("The cellar is locked; ask for the key.")
        if how == "crash":
            raise RuntimeError("secret detail")
        return "no number"  # type: ignore[return-value]

    @server.tool(timeout=0.05)
    async def late() -> str:
        """Never return."""
        await asyncio.get_running_loop().create_future()
        return "never"

    @server.tool
    async def wait(ctx: Context) -> str:
        """Say that the wait has begun, then wait until cancelled."""
        ctx.log.warning("waiting")
        await asyncio.get_running_loop().create_future()
        return "never"


def _add_telling_tools(server: Server) -> None:
    @server.tool
    async def log(ctx: Context) -> str:
        """Send a message of every severity."""
        ctx.log.debug("1")
        ctx.log.info("2", logger="fixture")
        ctx.log.notice("3", disk="full")
        ctx.log.warning("4")
        ctx.log.error({"code": 5})
        ctx.log.critical("6")
        ctx.log.alert("7")
        ctx.log.emergency("8")
        return "logged"

    @server.tool
    async def steps(ctx: Context) -> str:
        """Report progress, twice out of order."""
        ctx.progress(0.5, 3, "half a step")
        ctx.progress(2, 3)
        ctx.progress(1, 3, "backwards")
        ctx.progress(2, 3, "again")
        ctx.progress(3, 3, "done")
        return "walked"


def _add_asking_tools(server: Server) -> None:
    @server.tool
    async def book(ctx: Context) -> str:
        """Ask for a trip."""
        answer = await ctx.elicit("Where to?", Trip, key="trip")
        if answer.data is None:
            return f"no trip: {answer.action}"
        trip = answer.data
        return f"{trip.name}: {trip.nights} in {trip.city}, breakfast {trip.breakfast}"

    @server.tool
    async def paint(ctx: Context) -> str:
        """Ask for a colour by its title."""
        answer = await ctx.elicit("Which colour?", Paint, key="colour")
        return answer.data.colour if answer.data else answer.action

    @server.tool
    async def order(ctx: Context) -> str:
        """Ask for several values."""
        answer = await ctx.elicit("Which toppings?", Toppings, key="toppings")
        return ", ".join(answer.data.wanted) if answer.data else answer.action

    @server.tool
    async def visit(ctx: Context) -> str:
        """Send the user to a page."""
        answer = await ctx.elicit("Please sign in.", url="https://example.com/in", key="page")
        return answer.action

    @server.tool
    async def think(ctx: Context, with_tools: bool = False) -> str:
        """Ask the client's model."""
        tools = [Tool(name="look", input_schema={"type": "object"})] if with_tools else None
        sampled = await ctx.sample(
            "Why?",
            max_tokens=50,
            system_prompt="Be brief.",
            model_preferences=ModelPreferences(hints=[{"name": "small"}], cost_priority=1.0),
            tools=tools,
            key="why",
        )
        return f"{sampled.model} says {sampled.text}"

    @server.tool
    async def where(ctx: Context) -> str:
        """Ask for the client's folders."""
        return ", ".join(root.uri for root in await ctx.roots(key="folders"))

    @server.tool
    async def plan(ctx: Context, topic: str = "") -> str:
        """Ask two things at once, then a third; do one thing once."""
        number = await ctx.once("number", lambda: 7)
        colour, folders = await asyncio.gather(
            ctx.elicit("Which colour?", Paint, key="colour"), ctx.roots(key="folders")
        )
        last = await ctx.elicit("Sure?", url="https://example.com/sure", key="sure")
        return f"{number} {topic} {colour.action} {len(folders)} {last.action}"


def _add_changing_tools(server: Server) -> None:
    @server.tool
    async def change(what: str) -> str:
        """Change a list, or a resource."""
        if what == "tools":
            server.tools.add(lambda: "", name="added", blocking=False)
        elif what == "tools back":
            server.tools.remove("added")
        elif what == "prompts":
            server.prompts.add(lambda: "", name="added", blocking=False)
        elif what == "resources":
            server.resources.add("added://", lambda: "", name="added", blocking=False)
        else:
            server.resource_updated(what)
        return "changed"


def _add_task_tools(server: Server) -> None:
    held: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    @server.tool
    async def release(what: str) -> str:
        """Let a task go on."""
        held[what].set()
        return "released"

    @server.tool(task="optional")
    async def dig(depth: int) -> str:
        """Dig a hole."""
        return f"dug {depth}"

    @server.tool(task="required")
    async def hold(what: str, ctx: Context) -> str:
        """Tell how far it is, then wait until it is let go."""
        ctx.progress(1, 2, "half way")
        ctx.log.info("holding")
        await held[what].wait()
        return f"held {what}"

    @server.tool(task="optional")
    async def collapse() -> str:
        """Fail as a tool does."""
        raise ToolError("The tunnel has collapsed.")

    @server.tool(task="optional")
    async def sink() -> str:
        """Fail as a request does."""
        raise RpcError("There is no ground.", {"depth": 3}, code=77)

    @server.tool(task="optional")
    async def survey(ctx: Context) -> str:
        """Ask one thing."""
        answer = await ctx.elicit("Which colour?", Paint, key="colour")
        return f"{answer.action} {answer.data.colour if answer.data else 'nothing'}"

    @server.tool(task="optional")
    async def census(ctx: Context) -> str:
        """Ask two things at once."""
        paint, roots = await asyncio.gather(
            ctx.elicit("Which colour?", Paint, key="colour"), ctx.roots(key="folders")
        )
        return f"{paint.data.colour if paint.data else 'nothing'} {len(roots)}"

    async def ask_first(ctx: Context) -> None:
        await ctx.elicit("Which colour?", Paint, key="colour")

    @server.tool(task="optional", before_task=ask_first)
    async def mural(wall: str, ctx: Context) -> str:
        """Ask before there is a task."""
        answer = await ctx.elicit("Which colour?", Paint, key="colour")
        return f"{wall} in {answer.data.colour if answer.data else 'nothing'}"


def _add_resources(server: Server) -> None:
    @server.resource(
        "notes://today",
        title="Today",
        icons=[_ICON],
        size=4,
        annotations=Annotations(
            audience=["assistant"], priority=1.0, last_modified="2026-01-02T03:04:05Z"
        ),
        ttl_ms=1000,
        cache_scope="public",
    )
    async def today() -> str:
        """What is on today."""
        return "milk"

    @server.resource("notes://logo", mime_type="image/png")
    async def logo() -> bytes:
        return _PNG

    @server.resource("notes://broken")
    async def broken() -> str:
        raise RuntimeError("secret detail")

    @server.resource("notes://secret")
    async def secret(ctx: Context) -> str:
        """Behind a question."""
        answer = await ctx.elicit("Which colour?", Paint, key="colour")
        return f"the secret is {answer.action}"

    @server.resource("notes://by-day/{day}", title="A day", icons=[_ICON])
    async def by_day(day: int) -> str | None:
        """What is on that day."""
        return f"day {day}" if day < 32 else None

    @server.resource("files:///{+path}", mime_type="text/plain")
    async def files(path: str) -> str:
        return f"contents of {path}"


def _add_prompts(server: Server) -> None:
    @server.prompt(title="Greet somebody", icons=[_ICON], meta={"com.example/cost": 1})
    async def greet(name: str, times: int = 1) -> str:
        """Write a greeting.

        Args:
            name: whom to greet
            times: how often
        """
        return " ".join([f"Hello {name}."] * times)

    @server.prompt
    async def scene() -> list[Message]:
        """Everything a prompt can hold."""
        return [
            Message("Look:"),
            Message(Image(_PNG)),
            Message(Audio(_WAV), role="assistant"),
            Message(EmbeddedResource("notes://today", "milk", "text/plain")),
            Message(ResourceLink(uri="notes://today", name="today")),
        ]

    @server.prompt
    async def stuck() -> str:
        raise RuntimeError("secret detail")

    @server.prompt
    async def ask(ctx: Context) -> str:
        """Behind a question."""
        answer = await ctx.elicit("Which colour?", Paint, key="colour")
        return f"paint it {answer.data.colour if answer.data else answer.action}"

    @server.complete("greet", "name")
    async def names(typed: str, settled: dict[str, str]) -> list[str]:
        found = [name for name in ("Ada", "Alan", "Grace") if name.startswith(typed)]
        return [f"{name} x{settled['times']}" for name in found] if settled else found

    @server.complete("notes://by-day/{day}", "day")
    async def days(typed: str) -> list[str]:
        return [str(day) for day in range(1, 151) if str(day).startswith(typed)]

    @server.complete("files:///{+path}", "path")
    async def broken_completer(typed: str) -> list[str]:
        raise RuntimeError("secret detail")


def run(arguments: list[str]) -> None:
    """Serve a variant on stdio."""
    if "DEBUG_LOG" in os.environ:
        logging.basicConfig(level=logging.DEBUG)
    asyncio.run(serve_stdio(make_server(*arguments)))


if __name__ == "__main__":
    run(sys.argv[1:])
