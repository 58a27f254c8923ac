"""The stores that the processes of a cluster share."""

from __future__ import annotations

import inspect

from dovetail.stores.redis.redis_stores import RedisStores
from dovetail.stores.shared_stores import SharedStores


def test_redis_has_every_store() -> None:
    stores: SharedStores = RedisStores("redis://127.0.0.1", "test")
    names = [name for name, each in vars(SharedStores).items() if isinstance(each, property)]
    assert {"cluster", "events"} <= set(names)
    for name in names:
        assert getattr(stores, name) is not None


def test_each_store_has_the_methods_of_its_interface() -> None:
    stores = RedisStores("redis://127.0.0.1", "test")
    for name, each in vars(SharedStores).items():
        if isinstance(each, property) and name != "cluster":
            assert each.fget is not None
            interface = inspect.get_annotations(each.fget, eval_str=True)["return"]
            for method, wanted in inspect.getmembers(interface, inspect.isfunction):
                if not method.startswith("_"):
                    found = getattr(type(getattr(stores, name)), method)
                    assert inspect.signature(found) == inspect.signature(wanted), (name, method)
