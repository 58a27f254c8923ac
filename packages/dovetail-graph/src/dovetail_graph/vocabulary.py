"""Which types there may be: all, or those that the operator's schema file names."""

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

    # None: any type.
    entity_types: _Types | None = None
    relation_types: _Types | None = None
    half_life_days: _Days = 30.0
    # By relation type; the others have the half-life above.
    half_lives: dict[str, _Days] = {}
    floor: _Share = 0.1

    def refuse_entity_type(self, kind: str) -> str | None:
        """Why this type is not allowed; None if it is."""
        return _refuse("entityType", kind, self.entity_types)

    def refuse_relation_type(self, kind: str) -> str | None:
        """Why this type is not allowed; None if it is."""
        return _refuse("relationType", kind, self.relation_types)

    def decay(self) -> Decay:
        """The rule of this vocabulary."""
        return Decay(self.half_life_days, self.floor, self.half_lives)


def _refuse(name: str, kind: str, allowed: list[str] | None) -> str | None:
    if allowed is None or kind in allowed:
        return None
    return f"{name} {kind[:100]!r} is not in this graph's schema; allowed: {', '.join(allowed)}"


# Name -> a vocabulary that needs no file.
PRESETS: dict[str, Vocabulary] = {
    "free": Vocabulary(),
    "software": Vocabulary(
        entity_types=["feature", "task", "decision", "component", "test"],
        relation_types=["implements", "depends_on", "relates_to", "part_of"],
    ),
}


def read_vocabulary(given: str) -> Vocabulary:
    """A preset by its name, or a schema file."""
    if given in PRESETS:
        return PRESETS[given]
    try:
        return msgspec.json.decode(Path(given).expanduser().read_bytes(), type=Vocabulary)
    except OSError as error:
        presets = ", ".join(PRESETS)
        raise UsageError(
            f"--schema {given!r} is no preset ({presets}) and cannot be read: {error.strerror}"
        ) from None
    except msgspec.DecodeError as error:
        raise UsageError(f"--schema {given!r} does not fit: {error}") from None
