"""Build the server: tools, resources and prompts for one or more vaults."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dovetail import Options, Server, UsageError
from dovetail_serverkit.embedding import Embedder, find_embedder
from dovetail_vault.answers import Vaults
from dovetail_vault.compact_tools import add_compact_edit, add_compact_tools
from dovetail_vault.link_tools import add_link_tools
from dovetail_vault.note_prompts import add_note_prompts
from dovetail_vault.note_resources import ChangeNotifier, add_note_resources
from dovetail_vault.read_tools import add_read_tools
from dovetail_vault.registration import LISTED, NAMES, Registrar
from dovetail_vault.search_tools import add_search_tools
from dovetail_vault.tag_tools import add_tag_tools
from dovetail_vault.vault import Vault
from dovetail_vault.write_tools import add_write_tools

__all__ = ["VaultOptions", "build_server"]

# Seconds that startup waits for the first index pass: enough for a small vault.
_FIRST_PASS = 0.5
_POLL_INTERVAL = 0.25
_PAGE = 100

_INSTRUCTIONS = {
    "default": (
        "Notes in Markdown, as used by Obsidian, Logseq and Foam. Start with search-vault or "
        "discover-mocs; read long notes by outline and section. Prefer edit-note for changes, and "
        "pass the etag that you read as ifMatch. Rename with move-note, which updates links."
    ),
    "compact": (
        "Notes in Markdown, as used by Obsidian, Logseq and Foam. Read long notes by outline and "
        "section. Prefer edits to rewriting a note, and pass the etag that you read as ifMatch."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultOptions:
    """Options of the server."""

    name: str = "vault"
    read_only: bool = False
    # Directory of the index; by default in the user's cache directory.
    index_dir: Path | None = None
    # Embedding model: auto (an installed one), off, or a name.
    embeddings: str = "auto"
    # The tools that are listed: default or compact. All of them can be called.
    tools: str = "default"


def build_server(vaults: Mapping[str, Path], options: VaultOptions | None = None) -> Server:
    """Return a server for these folders, by vault name."""
    options = options or VaultOptions()
    if not vaults:
        raise UsageError("The vault server needs at least one folder with notes")
    embedder = find_embedder(options.embeddings)
    opened = [
        _open(name, path, len(vaults) == 1, options, embedder) for name, path in vaults.items()
    ]
    server = Server(
        options.name,
        version="1.0.0",
        title="Notes",
        description="Search, read, write and link notes in folders of Markdown files.",
        instructions=_INSTRUCTIONS[options.tools],
        lifespan=lambda server: _serving(server, opened),
        options=Options(page_size=_PAGE, list_output_schemas=False),
    )
    catalogue = Vaults(opened)
    tools = Registrar(server, LISTED[options.tools], several_vaults=len(opened) > 1)
    add_search_tools(tools, catalogue)
    add_read_tools(tools, catalogue)
    add_link_tools(tools, catalogue)
    add_tag_tools(tools, catalogue)
    add_compact_tools(tools)
    if not options.read_only:
        add_write_tools(tools, catalogue)
        add_compact_edit(tools)
    add_note_resources(server, catalogue)
    add_note_prompts(server, catalogue, NAMES[options.tools])
    return server


def _open(
    name: str, path: Path, is_only: bool, options: VaultOptions, embedder: Embedder | None
) -> Vault:
    folder = options.index_dir
    if folder is not None and not is_only:
        folder = folder / name
    prefix = "obsidian-note:///" if is_only else f"obsidian-note://{name}/"
    return Vault(name, path, index_dir=folder, uri_prefix=prefix, embedder=embedder)


@contextlib.asynccontextmanager
async def _serving(server: Server, vaults: list[Vault]) -> AsyncIterator[None]:
    tasks = []
    try:
        for vault in vaults:
            vault.start()
        for vault in vaults:
            await asyncio.to_thread(vault.wait_until_complete, _FIRST_PASS)
            notifier = ChangeNotifier(server, vault, is_only=len(vaults) == 1)
            await notifier.start()
            tasks.append(asyncio.create_task(notifier.follow(_POLL_INTERVAL)))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for vault in vaults:
            await asyncio.to_thread(vault.stop)
