"""The measurement of tool search: its questions, and that it runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from qa.bench.search.corpus import CorpusTool
from qa.bench.search.measure import measure, read_questions

FOLDER = Path(__file__).resolve().parents[1] / "qa" / "bench" / "search"


def test_no_tool_of_the_measurement_is_one_of_the_tuning() -> None:
    asked = read_questions(FOLDER / "questions.txt")
    tuned = read_questions(FOLDER / "tuning.txt")
    assert len(asked) == 200 and len(tuned) == 500
    assert not asked.keys() & tuned.keys()
    assert all(asked.values()) and all(tuned.values())


def test_a_tool_is_found_or_missed() -> None:
    corpus = [
        CorpusTool("mail_send", "Send an email.", {"properties": {"to": {"description": "Who."}}}),
        *(CorpusTool(f"files_read_{n}", "Read a file.", {"properties": {}}) for n in range(30)),
    ]
    questions = {"mail_send": "write an email to Anna", "files_read_29": "read a file"}
    outcome = asyncio.run(measure(corpus, questions))
    assert outcome.places == {"mail_send": 1, "files_read_29": None}
    assert outcome.misses == ["files_read_29"]
    assert outcome.list_bytes < 6000
