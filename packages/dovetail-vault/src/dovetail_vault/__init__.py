"""MCP server for notes: folders of Markdown files, as used by Obsidian, Logseq and Foam.

The files are the only source of data; no application has to run. `paths`, `folders` and
`note_files` read and write files; `markdown`, `frontmatter` and `note` parse texts; `database`,
`index_writer`, `index` and `crawler` maintain the search index, which is a cache; the `*_tools`
modules define the tools.
"""

from dovetail_vault.server import VaultOptions, build_server

__all__ = ["VaultOptions", "build_server"]
