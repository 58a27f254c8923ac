"""The server of the scenarios: whatever a client can see of a server, and a journal to see it by.

What happens inside is written down where any client can read it, because the server may be
another process.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from dovetail import Context, Options, ResourceNotFoundError, Server, ToolError
from tests.interaction.agency import KEY, Agency, Consent

__all__ = ["JOURNAL", "make_workshop", "make_workshops"]

JOURNAL = "workshop://journal"
SIZES = {"nail": 3, "nut": 8, "bolt": 12, "größe": 5}


@dataclass
class Part:
    """Something on a shelf."""

    name: str
    millimetres: int
    labels: list[str]


class Workshop:
    """The server and what it remembers; the servers of a cluster remember together."""

    def __init__(self, cluster: str | None = None, count: int = 1) -> None:
        self.journal: list[str] = []
        self.doors: dict[str, asyncio.Event] = {}
        self.agency = Agency()
        keys = [KEY] if cluster else []
        options = Options(page_size=3, grace=0.2, state=cluster, state_keys=keys)
        self.servers = [self._make(options) for _ in range(count)]

    def _make(self, options: Options) -> Server:
        server = Server(
            "workshop",
            version="1.2.3",
            title="The Workshop",
            instructions="Measure twice, cut once.",
            options=options,
        )
        for tool in (
            *(self.measure, self.echo, self.fill, self.reject, self.crash),
            *(self.saw, self.remark, self.confirm, self.advise, self.folders, self.agency.book),
            *(self.wait, self.open_door, self.hang_up, self.take_down, self.write, self.whoami),
        ):
            server.tool(tool)
        server.resource(JOURNAL)(self.read_journal)
        server.resource("workshop://ledger")(self.ledger)
        server.resource("workshop://parts/{name}")(self.part)
        server.prompt(self.plan)
        server.complete("plan", "part")(self.complete_part)
        return server

    # -- tools ----------------------------------------------------------------------------

    async def measure(self, name: str) -> Part:
        """Measure a part."""
        return Part(name, SIZES[name], ["metal"])

    async def echo(self, text: str, ctx: Context) -> str:
        """Say the same, on the way and at the end."""
        await ctx.progress(1, message=text)
        return text

    async def fill(self, characters: int, ctx: Context, streamed: bool = False) -> str:
        """Say much, alone or after something else."""
        if streamed:
            await ctx.progress(1)
        return "x" * characters

    async def reject(self, why: str) -> str:
        """Fail, and say why."""
        raise ToolError(why)

    async def crash(self) -> str:
        """Fail without meaning to."""
        raise ValueError("a secret")

    async def saw(self, cuts: int, ctx: Context) -> str:
        """Tell of every cut."""
        for cut in range(1, cuts + 1):
            await ctx.progress(cut, total=cuts, message=f"cut {cut}")
        return f"{cuts} cuts"

    async def remark(self, ctx: Context) -> str:
        """Log at three levels."""
        ctx.log.debug("sawdust")
        ctx.log.info("blade is warm", logger="saw", celsius=60)
        await ctx.log.error("blade is hot")
        return "remarked"

    async def confirm(self, ctx: Context) -> str:
        """Ask the user."""
        answer = await ctx.elicit("Cut now?", Consent)
        return f"{answer.action} {answer.data.agreed if answer.data else None}"

    async def advise(self, question: str, ctx: Context) -> str:
        """Ask the model."""
        return (await ctx.sample(question, max_tokens=50)).text

    async def folders(self, ctx: Context) -> str:
        """Ask for the client's folders."""
        return " ".join(root.uri for root in await ctx.roots())

    async def wait(self, door: str) -> str:
        """Wait behind a door until somebody opens it."""
        self.doors[door] = asyncio.Event()
        self.note(f"{door}: waits")
        try:
            await self.doors[door].wait()
        except asyncio.CancelledError:
            self.note(f"{door}: stopped")
            raise
        self.note(f"{door}: let out")
        return f"out of {door}"

    async def open_door(self, door: str) -> str:
        """Let out whoever waits behind a door."""
        self.doors.pop(door).set()
        return "open"

    async def hang_up(self, tool: str) -> str:
        """Put a new tool on the wall."""

        async def use() -> str:
            return f"{tool} used"

        for server in self.servers:
            server.tools.add(use, name=tool)
        return "hung up"

    async def take_down(self, tool: str) -> str:
        """Take it away again."""
        for server in self.servers:
            server.tools.remove(tool)
        return "taken down"

    async def write(self, line: str) -> str:
        """Write into the journal."""
        self.note(line)
        return "written"

    async def whoami(self) -> int:
        """Which process this is."""
        return os.getpid()

    def note(self, line: str) -> None:
        self.journal.append(line)
        # One tells the others.
        self.servers[0].resource_updated(JOURNAL)

    # -- resources and prompts --------------------------------------------------------------

    def read_journal(self) -> str:
        """What happened so far."""
        return "\n".join(self.journal)

    def ledger(self) -> str:
        """How often the travel agency ran, and what it reserved."""
        return f"{self.agency.runs} {' '.join(self.agency.reservations)}"

    def part(self, name: str) -> Part:
        """One part."""
        if name not in SIZES:
            raise ResourceNotFoundError(f"workshop://parts/{name}")
        return Part(name, SIZES[name], [])

    def plan(self, part: str, colour: str = "red") -> str:
        """Plan a part."""
        return f"How do I make a {colour} {part}?"

    def complete_part(self, typed: str) -> list[str]:
        return [name for name in SIZES if name.startswith(typed)]


def make_workshop() -> Server:
    """A workshop in which nothing has happened yet."""
    return Workshop().servers[0]


def make_workshops(cluster: str, count: int) -> list[Server]:
    """The servers of a cluster that are one workshop."""
    return Workshop(cluster, count).servers


server = make_workshop()
