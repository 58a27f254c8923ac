"""The garbage collector of a process that is there to serve.

What is loaded before the first request lives as long as the process, and a request leaves hardly
any cycles behind. By default the collector looks at new objects after every 700 of them, which is
every twenty calls or so, and at everything that was ever loaded again and again: between a tenth
and a seventh of the processor at full load. Only a command that owns its process may change that.
"""

from __future__ import annotations

import gc

__all__ = ["collect_seldom"]

# Container objects between two looks at the young ones, and how many of those make an older look.
_YOUNG = 20_000
_MIDDLE = 20
_OLD = 50


def collect_seldom() -> None:
    """Leave what is loaded alone, and look for garbage when there may be some."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
