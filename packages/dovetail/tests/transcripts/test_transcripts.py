"""Every transcript, at every revision it names, over every transport that the revision has."""

from __future__ import annotations

import asyncio

import pytest

from dovetail.spec.revisions import Revision
from tests.transcripts.player import play
from tests.transcripts.script import Script, find_scripts

RUNS = [
    pytest.param(script, revision, transport, id=f"{script.name}-{revision}-{transport}")
    for script in find_scripts()
    for revision in script.revisions
    for transport in script.transports_at(revision)
]


@pytest.mark.parametrize(("script", "revision", "transport"), RUNS)
def test_the_server_says_what_the_transcript_says(
    script: Script, revision: Revision, transport: str
) -> None:
    asyncio.run(play(script, revision, transport))
