"""Prompts: start a daily note, summarise a folder, suggest missing links."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from typing import Annotated

from dovetail import EmbeddedResource, Message, Server, ToolError
from dovetail.errors import InvalidParamsError
from dovetail_vault.answers import Vaults
from dovetail_vault.note_resources import complete_folder, complete_path
from dovetail_vault.words import without_surrogates

__all__ = ["add_note_prompts"]

_MAX_NOTES = 100


def add_note_prompts(server: Server, vaults: Vaults, names: Mapping[str, str]) -> None:
    """Register the prompts; they use the first vault, and the tools with these names."""
    vault = vaults.pick(None)

    @server.prompt(name="daily-note", title="Daily note")
    def daily_note(
        day: Annotated[str, "The day, like 2025-01-31; default: today."] = "",
        folder: Annotated[str, "Folder of daily notes."] = "Daily",
    ) -> str:
        """Start the note of a day, with the open tasks of the day before."""
        try:
            chosen = date.fromisoformat(day) if day else date.today()
        except ValueError:
            raise InvalidParamsError(
                f"day must be a date like 2025-01-31, got {day[:50]!r}"
            ) from None
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        before = chosen - timedelta(days=1)
        return (
            f"Write my daily note for {chosen:%A}, {chosen}. First read {prefix}{before}.md with "
            f"{names['read']}, if it exists, and carry over the open tasks. Read vault://recent to "
            f"see what I worked on. Then create the note with {names['write']} at "
            f"{prefix}{chosen}.md (mode create) with the headings Tasks, Notes and Log. If it "
            f"already exists, add what is missing with {names['edit']} instead of replacing it."
        )

    @server.prompt(name="summarise-folder", title="Summarise a folder")
    def summarise_folder(folder: Annotated[str, "The folder."]) -> str:
        """Summarise the notes of a folder."""
        try:
            bounds = vault.folder_bounds(folder)
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None
        rows = vault.index.select("WHERE path >= ? AND path < ? ORDER BY mtime_ns DESC", bounds)
        listed = "\n".join(f"- {row.path} ({row.title})" for row in rows[:_MAX_NOTES])
        more = f"\n- and {len(rows) - _MAX_NOTES} more" if len(rows) > _MAX_NOTES else ""
        return (
            f"Summarise the folder {folder or 'of the whole vault'!r}. It has {len(rows)} notes:\n"
            f"{listed}{more}\n\nRead them with {names['read']}, several at once. Write one "
            "paragraph on the topic of the folder, the main points with links like [[note]], and "
            "open questions or contradictions."
        )

    @server.prompt(name="suggest-links", title="Suggest links")
    def suggest_links(path: Annotated[str, "The note."]) -> list[Message]:
        """Suggest notes that a note should link to but does not."""
        try:
            opened = vault.open(vault.resolve(path))
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None
        text = without_surrogates(opened.text)
        return [
            Message(EmbeddedResource(vault.uri_of(opened.path), text, "text/markdown")),
            Message(
                f"This is {opened.path}. Find notes of the vault that it should link to but does "
                f"not: search for each of its main ideas with {names['search']}, also in titles, "
                "and compare with its links. Propose at most ten links, each with the sentence "
                f"where it belongs and the reason. Change nothing until I agree; then use "
                f"{names['edit']}."
            ),
        ]

    server.complete("daily-note", "folder")(partial(_folders, vaults))
    server.complete("daily-note", "day")(_days)
    server.complete("summarise-folder", "folder")(partial(_folders, vaults))
    server.complete("suggest-links", "path")(partial(_paths, vaults))


def _folders(vaults: Vaults, value: str) -> list[str]:
    return complete_folder(vaults.pick(None), value)


def _paths(vaults: Vaults, value: str) -> list[str]:
    return complete_path(vaults.pick(None), value)


def _days(value: str) -> list[str]:
    today = date.today()
    days = [(today - timedelta(days=back)).isoformat() for back in range(-1, 14)]
    return [day for day in days if day.startswith(value)]
