"""The servers that foreign clients are let loose on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deep.interop.greenhouse import Greenhouses


@pytest.fixture(scope="module")
def greenhouses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Greenhouses]:
    """Servers on the ways that the tests of one module ask for."""
    houses = Greenhouses(tmp_path_factory.mktemp("greenhouses"))
    yield houses
    houses.close()
