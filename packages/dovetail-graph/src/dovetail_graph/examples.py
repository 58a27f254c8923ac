"""An example call per tool. A test runs them in this order."""

from __future__ import annotations

from typing import Any

__all__ = ["EXAMPLES", "SHOWN_EXAMPLES"]

# Tools whose description has the example; the arguments of the others explain themselves.
SHOWN_EXAMPLES = frozenset(
    {"create_entities", "create_relations", "add_observations", "memory_edit", "memory_read"}
)

_DEPENDS = {"from": "Checkout", "to": "PaymentService", "relationType": "depends_on"}

EXAMPLES: dict[str, dict[str, Any]] = {
    "create_entities": {
        "entities": [
            {"name": "PaymentService", "entityType": "component", "observations": ["Uses Stripe"]},
            {"name": "Checkout", "entityType": "feature", "validFrom": "2025-01-31"},
        ]
    },
    "create_relations": {"relations": [{**_DEPENDS}]},
    "add_observations": {
        "observations": [
            {
                "entityName": "PaymentService",
                "contents": [
                    "Retries three times",
                    {"content": "Owned by Ada", "validFrom": "2024-05-01"},
                ],
            }
        ]
    },
    "get_relation": _DEPENDS,
    "update_relation": {"relation": {**_DEPENDS, "strength": 1.0}},
    "read_graph": {"entity_types": ["component"], "limit": 20},
    "search_nodes": {"query": "stripe retries"},
    "open_nodes": {"names": ["PaymentService"]},
    "semantic_search": {"query": "who is responsible for payment", "limit": 5},
    "get_entity_embedding": {"entity_name": "PaymentService"},
    "get_entity_history": {"entityName": "PaymentService"},
    "get_relation_history": _DEPENDS,
    "get_graph_at_time": {"timestamp": "2025-06-30T12:00:00Z", "recorded_at": "now"},
    "get_decayed_graph": {"reference_time": "2030-01-01", "decay_factor": 0.5},
    "traverse_graph": {"start": ["Checkout"], "depth": 2, "direction": "out"},
    "recent_changes": {"limit": 10},
    "graph_stats": {"changes": 5},
    "memory_search": {"query": "who is responsible for payment"},
    "memory_read": {"names": ["PaymentService"], "depth": 1},
    "memory_edit": {
        "entities": [
            {"name": "Ada", "entityType": "person", "observations": ["Likes tea"]},
        ],
        "observations": [
            {
                "entityName": "Ada",
                "contents": [{"content": "Likes mint tea", "replaces": "Likes tea"}],
            }
        ],
        "delete": {"entities": ["Ada"]},
    },
    "transfer_graph": {"action": "export", "format": "mermaid"},
    "force_generate_embedding": {"entity_name": "PaymentService"},
    "debug_embedding_config": {},
    "diagnose_vector_search": {},
    "merge_entities": {"into": "Payments", "from": ["PaymentService"], "dryRun": True},
    "delete_observations": {
        "deletions": [{"entityName": "PaymentService", "observations": ["Uses Stripe"]}]
    },
    "delete_relations": {"relations": [_DEPENDS]},
    "delete_entities": {"entityNames": ["Checkout"]},
}
