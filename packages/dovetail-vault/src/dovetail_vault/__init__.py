"""A server of notes: folders of Markdown files, as Obsidian, Logseq and Foam keep them.

Plain files are the truth and no application has to run. `files` (paths, folders, note_files) are
reached by descriptors and written whole; `markdown`, `frontmatter` and `note` take texts apart;
the index (database, indexing, index, crawling) is a cache beside them; the tools are on top.
"""

from dovetail_vault.server import VaultOptions, build_server

__all__ = ["VaultOptions", "build_server"]
