"""A process that writes to a graph until it has finished or is killed.

python -m tests.graph.writing FILE WHO COUNT: each change creates an entity with two observations
and a relation in one transaction, and is reported on stdout once it is committed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dovetail_graph.inputs import NewEntity, NewRelation
from dovetail_graph.mutations import create_entity, create_relation
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.vocabulary import Vocabulary


def main(path: str, who: str, count: int) -> None:
    store = SqliteStore(Path(path), "default")
    free = Vocabulary()
    hub = NewEntity(name="Hub", entity_type="place")
    for number in range(count):
        name = f"{who}-{number}"
        made = NewEntity(name=name, entity_type="thing", observations=[f"{name} a", f"{name} b"])
        link = NewRelation(source="Hub", target=name, relation_type="has")
        with store.writing() as writer:
            create_entity(writer, hub, free)
            create_entity(writer, made, free)
            create_relation(writer, link, free)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
