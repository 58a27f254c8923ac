"""Ask the user with a form before something is booked."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Choices, Context, Server, ToolError

server = Server("restaurant", version="1.0.0")
booked: list[str] = []


@dataclass
class Table:
    """The form that the user fills in; fields with a default may be left empty."""

    day: date
    guests: Annotated[int, Meta(ge=1, le=8, description="How many people")]
    room: Annotated[str, Choices({"garden": "In the garden", "hall": "Inside"})] = "hall"
    diet: Annotated[list[str] | None, Choices(["vegetarian", "vegan", "no nuts"])] = None


@dataclass
class Confirmation:
    """The second question."""

    confirm: Literal["yes", "no"]


@server.tool
async def book_table(name: str, ctx: Context) -> str:
    """Book a table. The user chooses the day and the number of guests."""
    answer = await ctx.elicit(f"A table for {name}:", Table)
    if answer.data is None:
        # "decline": the user said no. "cancel": the user closed the form.
        raise ToolError(f"The user did not fill in the form ({answer.action}). Ask what to change.")
    table = answer.data
    if table.guests > 6:
        sure = await ctx.elicit("More than six guests pay in advance. Go on?", Confirmation)
        if sure.data is None or sure.data.confirm == "no":
            return "Nothing was booked."
    booked.append(name)
    diet = f", {' and '.join(table.diet)}" if table.diet else ""
    return f"{name}: {table.guests} in the {table.room} on {table.day:%d %B %Y}{diet}"


if __name__ == "__main__":
    server.run()
