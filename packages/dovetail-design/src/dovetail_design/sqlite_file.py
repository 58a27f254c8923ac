"""The SQLite file and its tables."""

from __future__ import annotations

from pathlib import Path

from dovetail_serverkit.durable_sqlite import DurableDatabase, Layout

__all__ = ["SqliteFile"]

# States are in separate tables, so that listing designs does not read their pages.
_SCHEMA = """
CREATE TABLE designs(id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL,
  visibility TEXT NOT NULL, owner TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
  version INTEGER NOT NULL, elements INTEGER NOT NULL, created INTEGER NOT NULL,
  updated INTEGER NOT NULL, deleted INTEGER NOT NULL, is_template INTEGER NOT NULL,
  category TEXT NOT NULL, slots TEXT NOT NULL, folded TEXT NOT NULL);
CREATE INDEX designs_listed ON designs(is_template, deleted > 0, updated DESC, id);
CREATE INDEX designs_owned ON designs(is_template, deleted > 0, owner, visibility);
CREATE TABLE currents(design TEXT PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE versions(design TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
  action TEXT NOT NULL, detail TEXT NOT NULL, by TEXT NOT NULL, label TEXT NOT NULL,
  stands_at INTEGER NOT NULL, undo_to INTEGER NOT NULL, redo TEXT NOT NULL,
  delta BLOB, whole BLOB);
CREATE UNIQUE INDEX versions_numbered ON versions(design, number);
CREATE INDEX versions_labelled ON versions(design, label, number) WHERE label != '';
CREATE TABLE assets(id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
  mime_type TEXT NOT NULL, size INTEGER NOT NULL, digest TEXT NOT NULL, owner TEXT NOT NULL,
  created INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL);
CREATE INDEX assets_listed ON assets(created DESC, id);
CREATE INDEX assets_content ON assets(digest);
CREATE TABLE exports(id TEXT PRIMARY KEY, design TEXT NOT NULL, version INTEGER NOT NULL,
  name TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL, digest TEXT NOT NULL,
  created INTEGER NOT NULL, owner TEXT NOT NULL);
CREATE INDEX exports_of ON exports(design);
CREATE INDEX exports_by_age ON exports(created DESC, id);
CREATE INDEX exports_content ON exports(digest);
CREATE TABLE changes(sequence INTEGER PRIMARY KEY AUTOINCREMENT, design TEXT NOT NULL);
CREATE TABLE clock(stamp INTEGER NOT NULL);
INSERT INTO clock VALUES(0);
"""

_LAYOUT = Layout(name="the designs", application=b"dvds", version=1, schema=_SCHEMA)


class SqliteFile(DurableDatabase):
    """Connections to the database of one directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _LAYOUT)
