"""examples/weather.py, which `make serve` runs, does what it shows, for clients of both eras."""

from __future__ import annotations

import asyncio

import pytest

from dovetail import Client
from dovetail.errors import RpcError
from tests.contracts.source_tree import ROOT
from tests.patience import CAP

EXAMPLE = ROOT / "examples" / "weather.py"


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_the_example_works_as_it_is_started(mode: str) -> None:
    async def use() -> None:
        async with asyncio.timeout(CAP), Client(EXAMPLE, mode=mode) as client:
            forecast = (await client.call("forecast", {"city": "Oslo", "days": 2})).data
            assert forecast["city"] == "Oslo"
            assert [day["day"] for day in forecast["days"]] == [1, 2]
            again = await client.call("forecast", {"city": "Oslo"})
            assert again.data["days"][:2] == forecast["days"]

            unknown = await client.call("forecast", {"city": "Atlantis"})
            assert unknown.is_error
            assert "There are Cairo, Lima" in unknown.text

            assert '"Tokyo"' in (await client.read("weather://cities")).text
            assert (await client.read("weather://cities/Lima")).text.startswith("# Lima")
            with pytest.raises(RpcError, match="not found"):
                await client.read("weather://cities/Atlantis")

            packing = await client.get_prompt("pack", {"city": "Cairo", "days": "5"})
            assert "Cairo for 5 days" in packing.messages[0].content.text  # type: ignore[union-attr]
            for ref in ("pack", "weather://cities/{city}"):
                assert (await client.complete(ref, "city", "o")).values == ["Oslo"]

    asyncio.run(use())
