"""Fails that somebody has looked at: the frames, the text of the specification, and a verdict.

`confirmations.toml` has one entry for each way of failing: the row, the servers that fail in this
way, and in one line why the finding is right.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["Confirmations", "read_confirmations"]

# (name of the server, id of the row) -> why the finding is right
Confirmations = dict[tuple[str, str], str]

_PATH = Path(__file__).with_name("confirmations.toml")


def read_confirmations() -> Confirmations:
    """Every confirmation, by server and row; raises ValueError where two speak of the same fail."""
    found: Confirmations = {}
    for entry in tomllib.loads(_PATH.read_text())["confirmed"]:
        for server in entry["servers"]:
            key = (server, entry["row"])
            if key in found:
                raise ValueError(f"{_PATH.name} confirms {entry['row']} of {server} twice")
            found[key] = " ".join(entry["why"].split())
    return found
