"""The numbers in README.md are counted here: a claim that is no longer true fails."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

import pytest

from dovetail.spec.revisions import REVISIONS
from dovetail_check import registry
from dovetail_check.inventory import load
from dovetail_check.rulebook import rules
from tests.contracts.documents import read_blocks
from tests.contracts.source_tree import ROOT

TEXT = (ROOT / "README.md").read_text("utf-8")
WORDS = " ".join(TEXT.split())
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
# How many lines of code the first example may have, without blank lines.
LINES = range(15, 26)


def find(pattern: str) -> tuple[int, ...]:
    """The numbers of one claim; the claim must be there once."""
    [found] = re.findall(pattern, WORDS)
    return tuple(map(int, (found,) if isinstance(found, str) else found))


@pytest.fixture(scope="module")
def conformance() -> ModuleType:
    """conformance/run.py, whose tables `make conformance` holds the official suite to."""
    spec = importlib.util.spec_from_file_location(
        "conformance_run", ROOT / "qa" / "conformance" / "run.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_requirements_and_rules_of_the_checker() -> None:
    registry.load()
    claimed = find(r"It knows (\d+) requirements of the specification and has rules for (\d+)")
    ids = {row.id for row in load()}
    assert claimed == (len(ids), len(ids & rules.keys()))


def test_most_requirements_without_a_rule_cannot_be_tested_from_outside() -> None:
    registry.load()
    assert "most of the others cannot be tested from outside" in WORDS
    without = [row for row in load() if row.id not in rules]
    assert sum(not row.is_testable for row in without) > len(without) / 2


def test_the_scenarios_of_the_conformance_suite(conformance: ModuleType) -> None:
    claimed = find(
        r"(\d+) of (\d+) server scenarios, three of them Skills scenarios in which nothing is"
        r" checked yet, and (\d+) of (\d+) client scenarios"
    )
    [server] = [leg for leg in conformance.LEGS if leg.name == "all"]
    [client] = [leg for leg in conformance.CLIENT_LEGS if leg.name == "client, all"]
    assert claimed == (server.passed, server.total, client.passed, client.total)
    assert find(r"with (\d+) warning that is") == (len(conformance.MAY_WARN),)
    assert not conformance.MAY_FAIL


def read_ratios(way: str, peer: str) -> list[float]:
    """The measured rates over HTTP as multiples of a peer's, for all connections and eras."""
    row = rf"^\| HTTP rate, {way}, \d+ connections, \w+: [\d.]+ times {peer} \| .*? \| ([\d.]+)x \|"
    found = re.findall(row, BENCHMARKS, re.M)
    assert len(found) == 4, f"{way}, {peer}: both eras with 16 and 64 connections"
    return [float(ratio) for ratio in found]


@pytest.mark.parametrize(
    ("claim", "way", "peer"),
    [
        (r"serves (\d+) to (\d+) times as many calls per second as the official SDK",
         "dovetail run", "MCPServer"),
        (r"and (\d+) to (\d+) times as many as FastMCP", "dovetail run", "FastMCP"),
        (r"it serves (\d+) to (\d+) times as many as the SDK", "mounted", "MCPServer"),
    ],
)  # fmt: skip
def test_the_ratios_of_the_benchmarks(claim: str, way: str, peer: str) -> None:
    ratios = read_ratios(way, peer)
    assert find(claim) == (round(min(ratios)), round(max(ratios)))


def test_the_benchmarks_list_missed_targets() -> None:
    assert "also list the targets that we miss" in WORDS
    assert re.search(r"\| FAIL \|$", BENCHMARKS, re.M)


def test_the_revisions() -> None:
    [(count, first, last)] = re.findall(
        r"all (\d+) protocol revisions, from ([\d-]+) to ([\d-]+)", WORDS
    )
    dates = [revision.date for revision in REVISIONS]
    assert (int(count), first, last) == (len(dates), dates[0], dates[-1])


def test_the_ready_servers() -> None:
    projects = [path.read_text("utf-8") for path in ROOT.glob("packages/*/pyproject.toml")]
    names = {
        name
        for text in projects
        for name in re.findall(
            r'^\[project\.entry-points\."dovetail\.servers"\]\n(\w+) =', text, re.M
        )
    }
    assert find(r"(\d+) servers are ready to use") == (len(names),)
    served = set(re.findall(r"^dovetail serve (\w+)", TEXT, re.M))
    assert served == names | {"all"}


def test_the_first_example_is_about_twenty_lines() -> None:
    first = next(block for block in read_blocks(TEXT) if block.language == "python")
    assert len([line for line in first.text.splitlines() if line.strip()]) in LINES


def test_the_commands_to_try_it_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"^make (\w+)", TEXT, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
    assert {"serve", "test"} <= set(re.findall(r"^make (\w+)", TEXT, re.M))
