"""One authorization server and one guarded server, shared by tests that do not change them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dovetail.auth.api_keys import KeyFile
from tests.deep.auth.processes import Provider, notes_server


class Place(NamedTuple):
    """A guarded server, what is written about it, and who may call it."""

    url: str
    provider: Provider
    key: str
    key_id: str
    log: Path
    audit: Path
    traces: Path


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    provider = Provider(tmp_path_factory.mktemp("idp"))
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="session")
def place(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("notes")
    record, key = KeyFile(folder / "keys.json").add("anna", ["notes:read"])
    audit = folder / "audit.jsonl"
    traces = folder / "traces.json"
    setup = {
        "keys": str(folder / "keys.json"),
        "issuer": provider.issuer,
        "audit": str(audit),
        "traces": str(traces),
    }
    with notes_server(folder, **setup) as running:
        yield Place(running.ready, provider, key, record.id, running.log, audit, traces)
