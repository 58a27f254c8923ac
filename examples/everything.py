"""A greenhouse that shows everything a dovetail server can do, once.

    dovetail run examples/everything.py

Nothing here asks which revision of the protocol the client speaks: the same functions
serve a client of 2024 and one of today.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Literal

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
    ResourceLink,
    ResourceNotFoundError,
    SamplingMessage,
    Server,
    Text,
    Tool,
    ToolAnnotations,
    ToolError,
    ToolResult,
    ToolResultContent,
)

LEAF = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mPQ6w4HIgYIBQAdKgRBKvDEpgAAAABJRU5E"
    "rkJggg=="
)
DRIP = base64.b64decode("UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACA/4AA")

PLANTS = {"north": "tomato", "south": "basil", "east": "fern"}
SYMPTOMS = {
    "tomato": ["black spots", "curled leaves", "split fruit"],
    "basil": ["black stems", "holes", "yellow leaves"],
    "fern": ["brown tips", "pale fronds"],
}
JOURNAL = ["The greenhouse was opened."]


class Thermometer:
    """Stands for a database, a device, a connection: something to open and to close."""

    def read(self, bed: str) -> float:
        return 18.5 + len(bed)


@asynccontextmanager
async def connect_thermometer(server: Server) -> AsyncIterator[Thermometer]:
    yield Thermometer()  # handlers find it in ctx.lifespan


server = Server(
    "greenhouse",
    version="1.0.0",
    title="The Greenhouse",
    description="An example with one of everything",
    website="https://example.org/greenhouse",
    instructions="Measure before you water. Beds are north, south and east.",
    icons=[Icon(src="https://example.org/leaf.png", mime_type="image/png", sizes=["2x2"])],
    lifespan=connect_thermometer,
    options=Options(page_size=2),  # small, so that lists have several pages
)


def write_down(line: str) -> None:
    JOURNAL.append(line)
    server.resource_updated("greenhouse://journal")  # whoever watches it is told


def plant_in(bed: str) -> str:
    if bed not in PLANTS:
        raise ToolError(f"There is no bed {bed!r}; there are {', '.join(PLANTS)}.")
    return PLANTS[bed]


# -- tools: what they return ------------------------------------------------------------


@server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=False))
async def water(bed: str, litres: float = 1.0) -> str:
    """Water a bed.

    Args:
        bed: Which bed.
        litres: How much water; a tomato takes two on a warm day.
    """
    write_down(f"{litres:g} l for {bed}.")
    return f"The {plant_in(bed)} got {litres:g} l."


@server.tool(title="Celsius to Fahrenheit", blocking=False)
def to_fahrenheit(celsius: float) -> float:
    """Convert a temperature. A plain function that promises not to block runs at once."""
    return celsius * 9 / 5 + 32


@dataclass
class Reading:
    """What the instruments say of one bed."""

    bed: str
    celsius: float
    plants: list[str]
    frost: bool = False


@server.tool(annotations=ToolAnnotations(title="Measure a bed", read_only_hint=True))
def measure(bed: str, ctx: Context) -> Reading:
    """Measure a bed. A plain `def` runs in a worker thread; its result has a schema."""
    plant = plant_in(bed)
    return Reading(bed, celsius=ctx.lifespan.read(bed), plants=[plant])


@server.tool
def photo(bed: str) -> Image:
    """Take a picture of a bed."""
    plant_in(bed)
    return Image(LEAF)


@server.tool
async def look_closely(bed: str) -> list[Text | Image | Audio | ResourceLink | EmbeddedResource]:
    """Several blocks of content in one result."""
    note = Annotations(audience=["assistant"], priority=0.9)
    return [
        Text(f"This is the {plant_in(bed)}.", annotations=note),
        Image(LEAF, "image/png"),
        Audio(DRIP),
        ResourceLink(uri=f"greenhouse://beds/{bed}", name=bed, mime_type="application/json"),
        EmbeddedResource("greenhouse://rules", rules()),
    ]


@server.tool
async def count_leaves(bed: str) -> ToolResult:
    """Say everything at once: text for people, data for programs, metadata for hosts."""
    plant = plant_in(bed)
    return ToolResult(
        f"The {plant} has 12 leaves.",
        structured={"plant": plant, "leaves": 12},
        meta={"example.org/counted-by": "hand"},
    )


# -- tools: what can go wrong -------------------------------------------------------------


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
async def harvest(bed: str) -> str:
    """Harvest a bed that is ripe. The model reads a ToolError as it is written."""
    if plant_in(bed) == "fern":
        raise ToolError("Ferns are not for eating; harvest north or south.")
    return f"A basket of {PLANTS[bed]}."


@server.tool
async def drop_pot() -> str:
    """Crash. The client gets a reference, the log of the server has the details."""
    raise ValueError("a secret that only the log may know")


# -- tools: while they run ----------------------------------------------------------------


@server.tool(timeout=3600)
async def wait_for_rain() -> str:
    """Wait for very long. A client that gives up cancels it, like any other task."""
    write_down("Somebody waits for rain.")
    try:
        await asyncio.sleep(3000)
    except asyncio.CancelledError:
        write_down("Nobody waits for rain any more.")
        raise
    return "It rains."


@server.tool
def sift_soil(ctx: Context) -> str:
    """Work in a thread, which nobody can stop from outside: look at ctx.cancelled."""
    write_down("Somebody sifts soil.")
    while not ctx.cancelled:
        time.sleep(0.01)
    write_down("Nobody wants the soil any more.")
    return "The soil was sifted in part."


@server.tool
async def grow(days: int, ctx: Context) -> str:
    """Report progress along the way."""
    for day in range(1, days + 1):
        await ctx.progress(day, total=days, message=f"day {day}")
    return f"Grown for {days} days."


@server.tool
async def inspect_pipes(ctx: Context) -> str:
    """Log at several levels; the client gets those it wants."""
    ctx.log.debug("valve 1 is open")
    ctx.log.info("pressure is fine", logger="pipes", bar=2.5)
    ctx.log.warning("valve 2 drips")
    await ctx.log.error("valve 3 is stuck", logger="pipes")
    return "Three valves inspected."


# -- tools: asking the user and the model -------------------------------------------------


@dataclass
class Sowing:
    """A form: the answer is checked against the very type it was made from."""

    plant: Annotated[str, Choices({"tomato": "A tomato", "basil": "Some basil"})]
    bed: Literal["north", "south", "east"]
    depth: float = 1.5
    seeds: int = 10
    cover: bool = True


@server.tool
async def sow(ctx: Context) -> str:
    """Ask the user to fill in a form."""
    answer = await ctx.elicit("What shall I sow?", Sowing)
    if answer.data is None:
        return f"Nothing sown: the user said {answer.action}."
    form = answer.data
    cover = "covered" if form.cover else "open"
    return f"{form.seeds} x {form.plant} in {form.bed}, {form.depth:g} cm deep, {cover}."


@server.tool
async def order_seeds(packets: int, ctx: Context) -> str:
    """Send the user to a page, for what must not pass through the client: payment, say."""
    page = f"https://example.org/pay?packets={packets}"
    answer = await ctx.elicit("Please pay for the seeds.", url=page)
    return "Seeds are on their way." if answer.accepted else "No seeds ordered."


@server.tool
async def ask_gardener(question: str, ctx: Context) -> str:
    """Ask the client's model."""
    reply = await ctx.sample(
        question,
        system_prompt="You are an old gardener of few words.",
        max_tokens=100,
        temperature=0.2,
        model_preferences=ModelPreferences(speed_priority=0.9),
    )
    return f"{reply.model} says: {reply.text}"


@server.tool
async def plan_day(goal: str, ctx: Context) -> str:
    """Let the client's model use a tool, as often as it likes."""
    schema = {"type": "object", "properties": {"bed": {"type": "string"}}, "required": ["bed"]}
    thermometer = Tool(name="thermometer", description="Degrees in a bed", input_schema=schema)
    talk: list[str | Message | SamplingMessage] = [goal]
    while True:
        reply = await ctx.sample(talk, tools=[thermometer], tool_choice="auto")
        if not reply.tool_uses:
            return reply.text
        talk.append(SamplingMessage(role="assistant", content=[*reply.blocks]))
        results = [
            ToolResultContent(
                tool_use_id=use.id,
                content=[Text(f"{ctx.lifespan.read(use.input['bed'])} degrees").to_block()],
            )
            for use in reply.tool_uses
        ]
        talk.append(SamplingMessage(role="user", content=[*results]))


@server.tool
async def list_folders(ctx: Context) -> list[str]:
    """Which folders does the client consider relevant?"""
    return [f"{root.name or 'unnamed'}: {root.uri}" for root in await ctx.roots()]


@dataclass
class Pot:
    size: Literal["small", "large"]


@dataclass
class Consent:
    sure: bool


@server.tool
async def repot(plant: str, ctx: Context) -> str:
    """Ask twice, ask the model once, and act exactly once.

    A client without a back channel makes this function run from its start after every
    answer. Answers that are known return at once; `once` keeps effects from repeating.
    """
    pot = await ctx.elicit(f"Which pot for the {plant}?", Pot, key="pot")
    if pot.data is None:
        return "Not repotted."
    soil = await ctx.sample(f"Name a soil for {plant} in a {pot.data.size} pot.", key="soil")

    def take_soil() -> int:
        write_down(f"Took a bag of {soil.text}.")
        return len(JOURNAL)

    entry = await ctx.once("take soil", take_soil)
    consent = await ctx.elicit(f"Repot into {soil.text}?", Consent, key="consent")
    done = consent.data is not None and consent.data.sure
    return f"{'Repotted' if done else 'Left alone'}: {soil.text}, journal entry {entry}."


# -- tools: changing the server -----------------------------------------------------------


@server.tool
async def open_bed(bed: str) -> str:
    """Open a bed: it brings a tool of its own, and clients that listen are told."""

    async def weed() -> str:
        return f"{bed} is free of weeds."

    server.tools.add(weed, name=f"weed_{bed}", description=f"Weed {bed}.")
    return f"{bed} is open."


@server.tool
async def close_bed(bed: str) -> str:
    """Close a bed and take its tool away again."""
    server.tools.remove(f"weed_{bed}")
    return f"{bed} is closed."


@server.tool
async def note(text: str) -> str:
    """Write into the journal, which is a resource that clients can watch."""
    write_down(text)
    return f"Entry {len(JOURNAL)}."


# -- resources ------------------------------------------------------------------------------


@server.resource("greenhouse://rules", title="House rules", ttl_ms=60_000, cache_scope="public")
def rules() -> str:
    """What everybody must know."""
    return "Close the door. Water in the morning."


@server.resource("greenhouse://logo", mime_type="image/png", size=len(LEAF))
def logo() -> bytes:
    """A leaf."""
    return LEAF


@server.resource("greenhouse://journal", annotations=Annotations(priority=1.0))
def journal() -> str:
    """What happened so far."""
    return "\n".join(JOURNAL)


@server.resource("greenhouse://forecast", mime_type="text/plain")
async def forecast(ctx: Context) -> str:
    """The weather; resources and prompts may ask the user and the model, as tools do."""
    reply = await ctx.sample("Make up the weather of tomorrow, in one sentence.")
    return reply.text


@server.resource("greenhouse://beds/{bed}")
def bed_facts(bed: str, ctx: Context) -> Reading:
    """One bed, as JSON."""
    if bed not in PLANTS:
        raise ResourceNotFoundError(f"greenhouse://beds/{bed}")
    return Reading(bed, celsius=ctx.lifespan.read(bed), plants=[PLANTS[bed]])


@server.resource("greenhouse://beds/{bed}/history{?days,unit}", mime_type="text/csv")
async def history(bed: str, days: int = 3, unit: Literal["c", "f"] = "c") -> str:
    """The temperatures of the last days."""
    lines = [f"{day},{20 + day if unit == 'c' else 68 + 2 * day}" for day in range(days)]
    return "\n".join([f"day,{bed}", *lines])


@server.resource("greenhouse://shelf/{path*}")
async def shelf(path: str) -> str:
    """Books by path; `*` reaches over slashes, and never out of the shelf."""
    return f"You open {path}."


# -- prompts --------------------------------------------------------------------------------


@server.prompt
def morning_round() -> str:
    """What to do first."""
    return "Measure every bed, then tell me which one needs water."


@server.prompt(title="Diagnose a plant")
def diagnose(plant: str, symptom: str = "anything unusual") -> str:
    """Find out what ails a plant.

    Args:
        plant: Which plant.
        symptom: What you see.
    """
    return f"My {plant} has {symptom}. What is it, and what can I do?"


@server.prompt
async def compare_leaves(bed: str = "north") -> list[Message]:
    """A conversation with pictures to go on from."""
    return [
        Message("Here is a healthy leaf."),
        Message(Image(LEAF)),
        Message("I see it. Show me yours, and the rules of the house.", role="assistant"),
        Message(EmbeddedResource("greenhouse://rules", rules())),
        Message(f"It grows in {bed}. What is different?"),
    ]


@dataclass
class Season:
    month: Literal["March", "June", "September"]


@server.prompt
async def plan_season(ctx: Context) -> str:
    """Ask the user first, then write the prompt."""
    answer = await ctx.elicit("Which month is it?", Season)
    month = answer.data.month if answer.data is not None else "this month"
    return f"What shall I sow in {month}?"


# -- completion -----------------------------------------------------------------------------


@server.complete(diagnose, "plant")
def complete_plant(typed: str) -> list[str]:
    return [plant for plant in SYMPTOMS if plant.startswith(typed)]


@server.complete(diagnose, "symptom")
async def complete_symptom(typed: str, settled: dict[str, str]) -> list[str]:
    """What suits depends on the plant that has been chosen already."""
    known = SYMPTOMS.get(settled.get("plant", ""), [])
    return [symptom for symptom in known if symptom.startswith(typed)]


@server.complete("greenhouse://beds/{bed}", "bed")
def complete_bed(typed: str) -> list[str]:
    return [bed for bed in PLANTS if bed.startswith(typed)]
