"""The URL of the cluster comes from the environment, else from the options."""

from __future__ import annotations

import pytest

from dovetail import Options, Server
from dovetail.runtime.cluster_url import CLUSTER, find_cluster


def test_the_environment_takes_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CLUSTER, raising=False)
    assert find_cluster(None) is None
    assert find_cluster("redis://a/0") == "redis://a/0"
    monkeypatch.setenv(CLUSTER, "redis://b/0")
    assert find_cluster("redis://a/0") == "redis://b/0"
    monkeypatch.setenv(CLUSTER, "")
    assert find_cluster("redis://a/0") == "redis://a/0"


def test_a_server_joins_the_cluster_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(state_keys=[b"k" * 32])
    monkeypatch.delenv(CLUSTER, raising=False)
    assert Server("s", options=options).engine.shared is None
    monkeypatch.setenv(CLUSTER, "redis://127.0.0.1:1/0")
    assert Server("s", options=options).engine.shared is not None
