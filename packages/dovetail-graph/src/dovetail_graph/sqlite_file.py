"""The SQLite schema of a graph, and its database file."""

from __future__ import annotations

from pathlib import Path

from dovetail_serverkit.durable_sqlite import DurableDatabase, Layout

__all__ = ["SqliteFile"]

_TIMES = (
    "valid_from INTEGER NOT NULL, valid_to INTEGER NOT NULL, "
    "recorded_from INTEGER NOT NULL, recorded_to INTEGER NOT NULL"
)
_DELETED = "deleted INTEGER NOT NULL DEFAULT 0"
# The end of recorded time: timestamps.FOREVER as a literal, because partial indexes need one.
_OPEN = "recorded_to = 253402300799999999"

# `embedded` stores for which version of an entity the passages were computed. Passage ids only
# grow, so a process that has loaded some looks for larger ids.
_PASSAGES = """CREATE INDEX documents_stamp ON documents(ns, stamp, id);
CREATE TABLE passages(id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL,
  model TEXT NOT NULL, digest BLOB NOT NULL, observation TEXT NOT NULL, vector BLOB NOT NULL);
CREATE INDEX passages_document ON passages(document, model);
CREATE TABLE embedded(model TEXT NOT NULL, document INTEGER NOT NULL, stamp INTEGER NOT NULL,
  PRIMARY KEY(model, document)) WITHOUT ROWID;
"""
# `past` has the observations that are not true now; a match there ranks lower. A document is due
# when one of its texts begins or ends to be true; it is indexed again by the next change.
_TEXTS = """CREATE VIRTUAL TABLE texts USING fts5(name, kind, body, past,
  tokenize = "porter unicode61 remove_diacritics 2", prefix = '3 5');
CREATE INDEX documents_due ON documents(ns, due);
"""

_SCHEMA = f"""
CREATE TABLE entities(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, name TEXT NOT NULL,
  kind TEXT NOT NULL, changed_by TEXT, {_DELETED}, {_TIMES});
CREATE INDEX entities_now ON entities(ns, name, kind, valid_from, valid_to) WHERE {_OPEN};
CREATE INDEX entities_all ON entities(ns, name, recorded_from);
CREATE TABLE observations(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, entity TEXT NOT NULL,
  content TEXT NOT NULL, source TEXT, confidence REAL, reinforced INTEGER NOT NULL,
  changed_by TEXT, {_DELETED}, {_TIMES});
CREATE INDEX observations_now ON observations(ns, entity) WHERE {_OPEN};
CREATE INDEX observations_all ON observations(ns, entity, recorded_from);
CREATE TABLE relations(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, source TEXT NOT NULL,
  target TEXT NOT NULL, kind TEXT NOT NULL, strength REAL NOT NULL, confidence REAL NOT NULL,
  metadata TEXT NOT NULL, reinforced INTEGER NOT NULL, changed_by TEXT, {_DELETED}, {_TIMES});
CREATE INDEX relations_out ON relations(ns, source, target, kind, valid_from, valid_to)
  WHERE {_OPEN};
CREATE INDEX relations_in ON relations(ns, target, source, valid_from, valid_to) WHERE {_OPEN};
CREATE INDEX relations_out_all ON relations(ns, source, target, recorded_from);
CREATE INDEX relations_in_all ON relations(ns, target, recorded_from);
CREATE TABLE documents(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, name TEXT NOT NULL,
  folded TEXT NOT NULL, stamp INTEGER NOT NULL, current INTEGER NOT NULL DEFAULT 1,
  due INTEGER NOT NULL DEFAULT 0, UNIQUE(ns, name));
CREATE INDEX documents_folded ON documents(ns, folded);
{_TEXTS}CREATE VIRTUAL TABLE spellings USING fts5(name, tokenize = "trigram");
{_PASSAGES}CREATE TABLE aliases(ns TEXT NOT NULL, alias TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(ns, alias)) WITHOUT ROWID;
CREATE INDEX aliases_name ON aliases(ns, name);
CREATE TABLE changes(sequence INTEGER PRIMARY KEY AUTOINCREMENT, ns TEXT NOT NULL,
  at INTEGER NOT NULL, kind TEXT NOT NULL, action TEXT NOT NULL, name TEXT NOT NULL,
  detail TEXT NOT NULL, changed_by TEXT);
CREATE INDEX changes_at ON changes(ns, at);
CREATE INDEX changes_name ON changes(ns, name);
CREATE TABLE clock(stamp INTEGER NOT NULL);
INSERT INTO clock VALUES(0);
"""

# A deletion ends a fact at the moment of its own transaction. Version 2 did not mark it otherwise.
_FACTS = ("entities", "observations", "relations")
_MARKS = "".join(
    f"ALTER TABLE {table} ADD COLUMN {_DELETED};\n"
    f"UPDATE {table} SET deleted = 1 WHERE valid_to = recorded_from AND {_OPEN};\n"
    for table in _FACTS
)
# Every document is due, and facts that have ended get one.
_INDEX_AGAIN = f"""ALTER TABLE documents ADD COLUMN current INTEGER NOT NULL DEFAULT 1;
ALTER TABLE documents ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
DROP TABLE texts;
{_TEXTS}INSERT OR IGNORE INTO documents(ns, name, folded, stamp)
  SELECT DISTINCT ns, name, '', 0 FROM entities WHERE {_OPEN} AND deleted = 0;
INSERT INTO spellings(rowid, name) SELECT id, name FROM documents WHERE folded = '';
"""

_LAYOUT = Layout(
    name="the graph",
    application=b"dvgr",
    version=3,
    schema=_SCHEMA,
    upgrades={1: f"DROP TABLE vectors;\n{_PASSAGES}", 2: f"{_MARKS}{_INDEX_AGAIN}"},
    # Purged data must not remain in free pages.
    settings=("secure_delete = ON",),
)


class SqliteFile(DurableDatabase):
    """The database file of a graph."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _LAYOUT)
        # A write touches every index; a larger cache avoids reading their pages again.
        with self.writer() as writer:
            writer.execute("PRAGMA cache_size = -65536")

    def vacuum(self) -> None:
        """Rewrite the file without erased data, and truncate the write-ahead log."""
        with self.writer() as writer:
            writer.execute("INSERT INTO texts(texts) VALUES('optimize')")
            writer.execute("INSERT INTO spellings(spellings) VALUES('optimize')")
            writer.execute("VACUUM")
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
