"""Prompts: begin a day, summarise a folder, find links that are missing."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial
from typing import Annotated

from dovetail import EmbeddedResource, Message, Server, ToolError
from dovetail.errors import InvalidParamsError
from dovetail_vault.answers import Vaults
from dovetail_vault.note_resources import complete_folder, complete_path
from dovetail_vault.paths import split_folder_path
from dovetail_vault.words import without_surrogates

__all__ = ["add_note_prompts"]

_MOST_NOTES = 100


def add_note_prompts(server: Server, vaults: Vaults) -> None:
    """Register them; they are about the first vault."""
    vault = vaults.pick(None)

    @server.prompt(name="daily-note", title="Daily note")
    def daily_note(
        day: Annotated[str, "The day, like 2025-01-31; today without."] = "",
        folder: Annotated[str, "Where daily notes are kept."] = "Daily",
    ) -> str:
        """Begin the note of a day, with what was left open the day before."""
        try:
            chosen = date.fromisoformat(day) if day else date.today()
        except ValueError:
            raise InvalidParamsError(f"day must be like 2025-01-31, got {day[:50]!r}") from None
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        before = chosen - timedelta(days=1)
        return (
            f"Write my daily note for {chosen:%A}, {chosen}. First read {prefix}{before}.md with "
            "read-note, if it is there, and carry over the tasks that are not ticked off. Look at "
            "vault://recent for what I worked on. Then create the note with write-note at "
            f"{prefix}{chosen}.md (mode create) with the headings Tasks, Notes and Log. If it "
            "exists already, add what is missing with edit-note instead of replacing it."
        )

    @server.prompt(name="summarise-folder", title="Summarise a folder")
    def summarise_folder(folder: Annotated[str, "The folder."]) -> str:
        """Summarise the notes of a folder."""
        try:
            parts = split_folder_path(folder)
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None
        prefix = "".join(f"{part}/" for part in parts)
        rows = vault.index.select(
            "WHERE path >= ? AND path < ? ORDER BY mtime_ns DESC",
            (prefix, f"{prefix[:-1]}0" if prefix else "\U0010ffff"),
        )
        listed = "\n".join(f"- {row.path} ({row.title})" for row in rows[:_MOST_NOTES])
        more = f"\n- and {len(rows) - _MOST_NOTES} more" if len(rows) > _MOST_NOTES else ""
        return (
            f"Summarise the folder {folder or 'of the whole vault'!r}. It has {len(rows)} notes:\n"
            f"{listed}{more}\n\nRead them with read-note, several at once by `paths`, and write "
            "one paragraph on what the folder is about, the main points with links like [[note]], "
            "and what is open or contradictory."
        )

    @server.prompt(name="suggest-links", title="Suggest links")
    def suggest_links(path: Annotated[str, "The note."]) -> list[Message]:
        """Find notes that a note should link to and does not."""
        try:
            opened = vault.open(vault.resolve(path))
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None
        text = without_surrogates(opened.text)
        return [
            Message(EmbeddedResource(vault.uri_of(opened.path), text, "text/markdown")),
            Message(
                f"This is {opened.path}. Find notes of the vault that it should link to and does "
                "not: take its main ideas, look for each with search-vault and search-by-title, "
                "and compare with get-links. Propose at most ten links, each with the sentence it "
                "belongs to and the reason. Change nothing until I agree; then use edit-note."
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
