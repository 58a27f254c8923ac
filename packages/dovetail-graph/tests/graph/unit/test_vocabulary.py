from __future__ import annotations

from pathlib import Path

import pytest

from dovetail import UsageError
from dovetail_graph.vocabulary import read_vocabulary


def test_the_software_preset() -> None:
    software = read_vocabulary("software")
    assert software.check_entity_type("task") is None
    assert "allowed: feature, task" in (software.check_entity_type("person") or "")
    assert software.check_relation_type("part_of") is None
    assert software.check_relation_type("likes") is not None


def test_a_file_may_name_types_and_half_lives(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"entityTypes": ["cat"], "halfLives": {"likes": 7}, "floor": 0.2}')
    own = read_vocabulary(str(file))
    assert own.check_entity_type("dog") and not own.check_relation_type("anything")
    assert own.decay().by_type == {"likes": 7} and own.decay().floor == 0.2


@pytest.mark.parametrize("text", ["", "[]", '{"floor": 2}', '{"floors": 1}', '{"halfLifeDays": 0}'])
def test_an_invalid_file_is_rejected(text: str, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="not a valid schema file"):
        read_vocabulary(str(file))
    with pytest.raises(UsageError, match="not a preset"):
        read_vocabulary(str(tmp_path / "absent"))
