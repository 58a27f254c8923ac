"""The types that a graph allows: any, those of a preset, or those of a schema file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from dovetail import UsageError
from dovetail_graph.decay import Decay

__all__ = ["PRESETS", "Vocabulary", "read_vocabulary"]

_Days = Annotated[float, Meta(gt=0, le=1_000_000)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Types = list[Annotated[str, Meta(min_length=1, max_length=100)]]


class Vocabulary(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The contents of a schema file."""

    # None allows any type.
    entity_types: _Types | None = None
    relation_types: _Types | None = None
    half_life_days: _Days = 30.0
    # By relation type; other types use half_life_days.
    half_lives: dict[str, _Days] = {}
    floor: _Share = 0.1

    def check_entity_type(self, kind: str) -> str | None:
        """Return why this type is not allowed, or None if it is."""
        return _check("entityType", kind, self.entity_types)

    def check_relation_type(self, kind: str) -> str | None:
        """Return why this type is not allowed, or None if it is."""
        return _check("relationType", kind, self.relation_types)

    def decay(self) -> Decay:
        """Return the decay parameters."""
        return Decay(self.half_life_days, self.floor, self.half_lives)


def _check(name: str, kind: str, allowed: list[str] | None) -> str | None:
    if allowed is None or kind in allowed:
        return None
    return f"{name} {kind[:100]!r} is not in this graph's schema; allowed: {', '.join(allowed)}"


# Values of --schema that are not files.
PRESETS: dict[str, Vocabulary] = {
    "free": Vocabulary(),
    "software": Vocabulary(
        entity_types=["feature", "task", "decision", "component", "test"],
        relation_types=["implements", "depends_on", "relates_to", "part_of"],
    ),
}


def read_vocabulary(given: str) -> Vocabulary:
    """Return a preset by name, or read a schema file."""
    if given in PRESETS:
        return PRESETS[given]
    try:
        return msgspec.json.decode(Path(given).expanduser().read_bytes(), type=Vocabulary)
    except OSError as error:
        presets = ", ".join(PRESETS)
        raise UsageError(
            f"--schema {given!r} is not a preset ({presets}) and cannot be read as a file: "
            f"{error.strerror}"
        ) from None
    except msgspec.DecodeError as error:
        raise UsageError(f"--schema {given!r} is not a valid schema file: {error}") from None
