"""A weather service that needs no network: forecasts for five cities, made up but steady.

    dovetail call examples/weather.py forecast city=Oslo days=2

One tool with a typed result, a resource, a family of resources, a prompt, and
suggestions for both.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from dovetail import ResourceNotFoundError, Server, ToolAnnotations, ToolError

Sky = Literal["clear", "cloudy", "rain", "snow"]
# Degrees on an average day, and how far a day strays from it.
CLIMATE = {"Cairo": (28, 5), "Lima": (19, 2), "Nairobi": (20, 3), "Oslo": (6, 8), "Tokyo": (16, 7)}

server = Server("weather", version="1.0.0", instructions="Ask for the forecast of a known city.")


@dataclass
class Day:
    """The weather of one day; day 1 is tomorrow."""

    day: int
    sky: Sky
    celsius: float


@dataclass
class Forecast:
    """The days to come in one city."""

    city: str
    days: list[Day]


@server.tool(title="Weather forecast", annotations=ToolAnnotations(read_only_hint=True))
def forecast(city: str, days: Annotated[int, Meta(ge=1, le=7)] = 3) -> Forecast:
    """Forecast the weather.

    Args:
        city: One of the cities in weather://cities.
        days: How many days to look ahead.
    """
    if city not in CLIMATE:
        raise ToolError(f"No station in {city!r}. There are {', '.join(CLIMATE)}.")
    return Forecast(city, [predict(city, day) for day in range(1, days + 1)])


def predict(city: str, day: int) -> Day:
    average, spread = CLIMATE[city]
    chance = random.Random(f"{city} {day}")
    celsius = round(chance.gauss(average, spread), 1)
    wet: Sky = "snow" if celsius < 0 else "rain"
    return Day(day, chance.choice(["clear", "cloudy", wet]), celsius)


@server.resource("weather://cities")
def cities() -> list[str]:
    """The cities that have a station."""
    return list(CLIMATE)


@server.resource("weather://cities/{city}", mime_type="text/markdown")
def climate(city: str) -> str:
    """What to expect of a city in general."""
    if city not in CLIMATE:
        raise ResourceNotFoundError(f"weather://cities/{city}")
    average, spread = CLIMATE[city]
    return f"# {city}\n\nAround {average} °C, give or take {spread}."


@server.prompt(title="Pack for a trip")
def pack(city: str, days: int = 3) -> str:
    """What to take along."""
    return f"I travel to {city} for {days} days. Look at the forecast and tell me what to pack."


@server.complete(pack, "city")
@server.complete(climate, "city")
def complete_city(typed: str) -> list[str]:
    return [city for city in CLIMATE if city.lower().startswith(typed.lower())]
