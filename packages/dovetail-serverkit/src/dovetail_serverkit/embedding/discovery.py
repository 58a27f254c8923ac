"""Which model is used: the one that comes with the extra, one of somebody else's, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from dovetail import UsageError
from dovetail_serverkit.embedding.embedder import Embedder
from dovetail_serverkit.embedding.foreign import Foreign
from dovetail_serverkit.embedding.minilm import find_minilm

__all__ = ["BUILT_IN", "GROUP", "find_embedder"]

# Other packages offer a model under this group of entry points: a class without arguments.
GROUP = "dovetail.embedders"
# Name on the command line -> makes the embedder; None where its weights are not installed.
BUILT_IN: dict[str, Callable[[], Embedder | None]] = {"minilm": find_minilm}


def find_embedder(choice: str, others: Sequence[str] = ()) -> Embedder | None:
    """The embedder of `--embeddings`: auto, off, or a name. None: only words can be compared.

    `others` are choices that the caller knows; they are named where a choice is refused.
    """
    if choice == "off":
        return None
    offered = {point.name: point for point in entry_points(group=GROUP)}
    if choice == "auto":
        # Whoever installed another model wants it.
        if offered:
            return Foreign(offered[min(offered)])
        found = (make() for make in BUILT_IN.values())
        return next((one for one in found if one is not None), None)
    if choice in offered:
        return Foreign(offered[choice])
    made = BUILT_IN[choice]() if choice in BUILT_IN else None
    if made is None:
        raise _refusal(choice, [*others, *sorted(offered)])
    return made


def _refusal(choice: str, others: Sequence[str]) -> UsageError:
    here = [name for name, make in BUILT_IN.items() if make() is not None]
    hint = "; pip install 'dovetail[embeddings]' brings it" if choice in BUILT_IN else ""
    names = ", ".join(["auto", "off", *here, *others])
    return UsageError(f"The model {choice[:100]!r} is not installed{hint}; there is: {names}")
