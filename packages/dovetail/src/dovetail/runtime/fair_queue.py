"""A queue in which owners take turns, so that one with many items does not delay the others."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["FairQueue"]

T = TypeVar("T")

# None is an owner.
_NOBODY = object()


class FairQueue(Generic[T]):
    """Items by owner; the items of one owner keep their order."""

    def __init__(self) -> None:
        # The owner whose turn it is comes first.
        self._items: OrderedDict[Hashable, deque[T]] = OrderedDict()
        self._length = 0

    def push(self, owner: Hashable, item: T) -> None:
        """Add an item at the end of its owner's items."""
        self._items.setdefault(owner, deque()).append(item)
        self._length += 1

    def pop(self, is_allowed: Callable[[Hashable], bool] = lambda owner: True) -> T:
        """Remove and return the next item; raises IndexError if there is none.

        Owners that are not allowed keep their turn.
        """
        owner = next((owner for owner in self._items if is_allowed(owner)), _NOBODY)
        if owner is _NOBODY:
            raise IndexError("the queue has no such item")
        items = self._items.pop(owner)
        item = items.popleft()
        self._length -= 1
        if items:
            self._items[owner] = items
        return item

    def remove(self, owner: Hashable, item: T) -> bool:
        """Remove an item; False if it is not in the queue."""
        items = self._items.get(owner, ())
        if item not in items:
            return False
        assert isinstance(items, deque)
        items.remove(item)
        self._length -= 1
        if not items:
            del self._items[owner]
        return True

    def __len__(self) -> int:
        return self._length
