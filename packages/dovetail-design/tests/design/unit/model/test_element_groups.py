from __future__ import annotations

from dovetail_design.model.element_groups import Cornered, Lettered, Painted, fields_of


def test_a_group_has_the_properties_of_those_above_it() -> None:
    assert {"fill", "stroke", "x", "boxShadow"} <= {*fields_of(Painted)} < {*fields_of(Cornered)}
    assert "fill" not in fields_of(Lettered)
