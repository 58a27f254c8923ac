"""Five tasks as an assistant carries them out: the calls of each, in every set of tools.

`before` has the calls that the same task needed before facts of the past were found, observations
were replaced in one call and paths had a default depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.graph.driving import entity, relation

Call = tuple[str, dict[str, Any]]

SERVICES = ["Checkout", "PaymentService", "Ledger", "MailGateway", "WebShop", "Search", "Stock"]
CHAIN = [("WebShop", "Checkout"), ("Checkout", "PaymentService"), ("PaymentService", "Ledger")]
PAST = {"validFrom": "2015-01-01", "validTo": "2018-01-01"}


def memory() -> list[Call]:
    """Return the calls that fill the memory of a project."""
    parts = [
        entity(
            name,
            f"{name} is written in Python and has its own database",
            f"{name} is deployed every Tuesday by the platform team",
            f"Alerts of {name} go to the channel #{name.lower()}-alerts",
            kind="component",
        )
        for name in SERVICES
    ]
    people = [
        entity("Ada", "Owns the PaymentService", "Prefers written proposals", kind="person"),
        entity("Grace", "Owns the WebShop", "Is on leave in August", kind="person"),
        entity("Initech", "Sells printers", kind="company"),
    ]
    links = [relation(one, other, "depends_on") for one, other in CHAIN]
    links += [relation("Ada", "PaymentService", "owns"), relation("Grace", "WebShop", "owns")]
    return [
        ("create_entities", {"entities": [*parts, *people]}),
        ("create_relations", {"relations": links}),
    ]


@dataclass(frozen=True, slots=True)
class Task:
    """A task, the calls for it, and what the answers must say."""

    title: str
    default: list[Call]
    compact: list[Call]
    before: list[Call]
    says: tuple[str, ...]


def observe(name: str, *contents: Any) -> Call:
    return "add_observations", {"observations": [{"entityName": name, "contents": contents}]}


LIN = entity("Lin", "Maintains the Ledger", kind="person")
MAINTAINS = relation("Lin", "Ledger", "maintains")
JOB = {"content": "Worked at Initech as a designer", **PAST}
OLD, NEW = "Prefers written proposals", "Prefers a short call to a proposal"
CORRECTION = {"content": NEW, "replaces": OLD}

TASKS = [
    Task(
        "Remember a person, and how she belongs to the project",
        [
            ("search_nodes", {"query": "Lin"}),
            ("create_entities", {"entities": [LIN]}),
            ("create_relations", {"relations": [MAINTAINS]}),
        ],
        [
            ("memory_search", {"query": "Lin", "by": "words"}),
            ("memory_edit", {"entities": [LIN], "relations": [MAINTAINS]}),
        ],
        [
            ("search_nodes", {"query": "Lin"}),
            ("create_entities", {"entities": [LIN]}),
            ("create_relations", {"relations": [MAINTAINS]}),
        ],
        ("created",),
    ),
    Task(
        "Record a job of the past, and answer where she worked in 2016",
        [observe("Ada", JOB), ("semantic_search", {"query": "where did Ada work in 2016"})],
        [
            ("memory_edit", observe("Ada", JOB)[1]),
            ("memory_search", {"query": "where did Ada work in 2016"}),
        ],
        [
            observe("Ada", JOB),
            ("semantic_search", {"query": "where did Ada work in 2016"}),
            ("get_graph_at_time", {"timestamp": "2016-06-01", "recorded_at": "now"}),
        ],
        ("Worked at Initech as a designer", "2018-01-01"),
    ),
    Task(
        "Correct what is known about a person",
        [("search_nodes", {"query": "Ada prefers"}), observe("Ada", CORRECTION)],
        [
            ("memory_search", {"query": "Ada prefers", "by": "words"}),
            ("memory_edit", observe("Ada", CORRECTION)[1]),
        ],
        [
            ("search_nodes", {"query": "Ada prefers"}),
            (
                "delete_observations",
                {"deletions": [{"entityName": "Ada", "observations": [OLD]}]},
            ),
            observe("Ada", NEW),
        ],
        (NEW,),
    ),
    Task(
        "Find out how the shop depends on the ledger",
        [("traverse_graph", {"start": ["WebShop"], "target": "Ledger"})],
        [("memory_read", {"names": ["WebShop"], "target": "Ledger"})],
        [
            (
                "traverse_graph",
                {"start": ["WebShop"], "target": "Ledger", "mode": "shortest_path"},
            ),
            (
                "traverse_graph",
                {"start": ["WebShop"], "target": "Ledger", "mode": "shortest_path", "depth": 5},
            ),
        ],
        ('["WebShop","Checkout","PaymentService","Ledger"]',),
    ),
    Task(
        "Prepare a review of a component: what it is, its neighbors, what changed",
        [
            ("semantic_search", {"query": "payment component", "limit": 3}),
            ("open_nodes", {"names": ["PaymentService"], "depth": 1}),
            ("get_entity_history", {"entityName": "PaymentService"}),
        ],
        [
            ("memory_search", {"query": "payment component", "limit": 3}),
            ("memory_read", {"names": ["PaymentService"], "depth": 1}),
            ("memory_read", {"names": ["PaymentService"], "history": True}),
        ],
        [
            ("semantic_search", {"query": "payment component", "limit": 3}),
            ("open_nodes", {"names": ["PaymentService"], "depth": 1}),
            ("get_entity_history", {"entityName": "PaymentService"}),
        ],
        ("deployed every Tuesday", "depends_on", "Ada"),
    ),
]
