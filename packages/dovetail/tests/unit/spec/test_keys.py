"""Reserved names, compared with the official types."""

from __future__ import annotations

from typing import get_args

import mcp_types
import pytest

from dovetail.spec import keys


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (keys.PROTOCOL_VERSION, mcp_types.PROTOCOL_VERSION_META_KEY),
        (keys.CLIENT_INFO, mcp_types.CLIENT_INFO_META_KEY),
        (keys.CLIENT_CAPABILITIES, mcp_types.CLIENT_CAPABILITIES_META_KEY),
        (keys.LOG_LEVEL, mcp_types.LOG_LEVEL_META_KEY),
        (keys.SERVER_INFO, mcp_types.SERVER_INFO_META_KEY),
        # the official package spells these in prose only
        (keys.SUBSCRIPTION_ID, "io.modelcontextprotocol/subscriptionId"),
        (keys.PROGRESS_TOKEN, "progressToken"),
        (keys.TRACE_KEYS, ("traceparent", "tracestate", "baggage")),
    ],
)
def test_keys_match_the_official_types(ours: object, theirs: object) -> None:
    assert ours == theirs


def test_log_levels_match_the_protocol_and_are_ranked() -> None:
    assert tuple(keys.LOG_LEVELS) == get_args(keys.LogLevel) == get_args(mcp_types.LoggingLevel)
    assert list(keys.LOG_LEVELS.values()) == list(range(8))
    assert keys.LOG_LEVELS["debug"] < keys.LOG_LEVELS["warning"] < keys.LOG_LEVELS["emergency"]
