from __future__ import annotations

from typing import get_args

from dovetail_design.compact_tools import _NEEDS_QUERY, _SEARCHES, _Kind


def test_every_kind_has_a_search() -> None:
    assert list(_SEARCHES) == list(get_args(_Kind))
    assert {kind for kind, (_, query, _l) in _SEARCHES.items() if query == "query"} == _NEEDS_QUERY
