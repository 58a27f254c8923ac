"""The tool design_history: list, undo, redo, snapshot, restore, diff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Context, ToolError, ToolResult
from dovetail_design.answers import MAX_CHARS, Registrar, answer, tool
from dovetail_design.comparing import compare, summarise
from dovetail_design.inputs import ApiKey, DesignId, IfVersion
from dovetail_design.result_views import fit_budget, warnings_of
from dovetail_design.results import HistoryAnswer, VersionView
from dovetail_design.storage import DesignRecord, Reader, State, VersionRecord, Writer
from dovetail_design.studio import (
    Caller,
    Change,
    Studio,
    add_edit,
    caller_of,
    renumbered,
    show_moment,
)
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import CHANGES

__all__ = ["add_history_tools"]

_Action = Literal["list", "undo", "redo", "snapshot", "restore", "diff"]
_Number = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call of design_history."""

    studio: Studio
    caller: Caller
    id: str
    version: int | None
    from_version: int | None
    label: str | None
    if_version: int | None
    steps: int
    limit: int
    before: int | None


def add_history_tools(tools: Registrar, studio: Studio) -> None:
    """Register it."""

    @tool(
        tools,
        "design_history",
        "Versions of a design. undo, redo: `steps`; snapshot: name the current version with "
        "`label`; restore: return to a `version` or `label`, or out of the trash; diff: from "
        "`fromVersion` to `version`. No version is ever lost.",
        CHANGES,
        HistoryAnswer,
    )
    def design_history(  # noqa: PLR0913 - parameters of the tool
        ctx: Context,
        designId: DesignId,
        action: _Action = "list",
        version: _Number | None = None,
        fromVersion: _Number | None = None,
        label: Annotated[
            Annotated[str, Meta(min_length=1, max_length=100)] | None, "A name"
        ] = None,
        steps: Annotated[int, Meta(ge=1, le=100)] = 1,
        limit: Annotated[int, Meta(ge=1, le=100)] = 20,
        before: Annotated[_Number | None, "List versions before it"] = None,
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        asked = _Asked(
            studio,
            caller_of(ctx),
            designId,
            version,
            fromVersion,
            label,
            ifVersion,
            steps,
            limit,
            before,
        )
        return answer(_ACTIONS[action](asked))


def _list(asked: _Asked) -> HistoryAnswer:
    with asked.studio.store.reading() as reader:
        record = asked.studio.find(reader, asked.caller, asked.id, in_trash=True)
        found = reader.versions(asked.id, asked.before, asked.limit + 1)
    shown = fit_budget(
        [_view(one, asked.caller) for one in found[: asked.limit]], AnswerBudget(MAX_CHARS)
    )
    has_more = len(found) > len(shown)
    return HistoryAnswer(
        design_id=asked.id,
        version=record.version,
        action="list",
        message=f"{record.name!r} is at version {record.version}.",
        versions=shown,
        has_more=has_more,
        next_before=shown[-1].version if has_more and shown else None,
    )


def _diff(asked: _Asked) -> HistoryAnswer:
    with asked.studio.store.reading() as reader:
        record = asked.studio.find(reader, asked.caller, asked.id, in_trash=True)
        until = asked.version or record.version
        since = asked.from_version or max(1, until - 1)
        old = _state_at(reader, record, since)
        new = _state_at(reader, record, until)
    differences = compare(old, new)
    shown = fit_budget(differences, AnswerBudget(MAX_CHARS))
    told = summarise(differences) or "nothing"
    return HistoryAnswer(
        design_id=asked.id,
        version=record.version,
        action="diff",
        message=f"From version {since} to {until}: {told}.",
        differences=shown,
        has_more=len(shown) < len(differences),
    )


def _snapshot(asked: _Asked) -> HistoryAnswer:
    if asked.label is None:
        raise ToolError("A snapshot needs a `label`, such as 'before the new colours'")
    with asked.studio.store.writing() as writer:
        record = asked.studio.find_to_change(writer, asked.caller, asked.id, asked.if_version)
        writer.set_label(asked.id, record.version, asked.label)
    return HistoryAnswer(
        design_id=asked.id,
        version=record.version,
        action="snapshot",
        message=f"Version {record.version} is {asked.label!r}; restore takes that label.",
    )


def _undo(asked: _Asked) -> HistoryAnswer:
    def step(writer: Writer, current: VersionRecord) -> tuple[int, tuple[int, ...]]:
        place = writer.version(asked.id, current.stands_at)
        if place is None or not place.undo_to:
            raise ToolError(f"There is nothing to undo: version {current.number} is the first one")
        return place.undo_to, (current.stands_at, *current.redo)

    return _travel(asked, "undo", step)


def _redo(asked: _Asked) -> HistoryAnswer:
    def step(_writer: Writer, current: VersionRecord) -> tuple[int, tuple[int, ...]]:
        if not current.redo:
            raise ToolError("There is nothing to redo: the last change was not an undo")
        return current.redo[0], current.redo[1:]

    return _travel(asked, "redo", step)


def _travel(
    asked: _Asked,
    action: str,
    step: Callable[[Writer, VersionRecord], tuple[int, tuple[int, ...]]],
) -> HistoryAnswer:
    """Go some steps back or forward; the result is saved as a new version."""
    studio = asked.studio
    with studio.store.writing() as writer:
        record = studio.find_to_change(writer, asked.caller, asked.id, asked.if_version)
        here = writer.version(asked.id, record.version)
        assert here is not None
        current = here
        for number in range(asked.steps):
            try:
                target, redo = step(writer, current)
            except ToolError:
                if number == 0:
                    raise
                break
            current = replace(current, stands_at=target, redo=redo)
        state = _state_at(writer, record, current.stands_at)
        version = replace(
            current,
            action=action,
            detail=f"to version {current.stands_at}",
            by=asked.caller.owner,
            label="",
            undo_to=0,
        )
        before = writer.state(asked.id)
        assert before is not None
        number = writer.add_version(record, state, version)
    change = _change(record, before, state, number)
    return _moved(
        studio, action, change, f"{action.capitalize()}: as at version {current.stands_at}."
    )


def _restore(asked: _Asked) -> HistoryAnswer:
    studio = asked.studio
    with studio.store.writing() as writer:
        record = studio.find_to_change(
            writer, asked.caller, asked.id, asked.if_version, in_trash=True
        )
        was_deleted = bool(record.deleted)
        if was_deleted:
            record = replace(record, deleted=0)
            writer.describe(record)
        before = writer.state(asked.id)
        assert before is not None
        target = _target(writer, record, asked, was_deleted)
        if target is None:
            change = Change(record, before, [])
            return _moved(studio, "restore", change, f"Taken out of the trash: {record.name!r}.")
        state = _state_at(writer, record, target)
        detail = f"version {target}"
        number = add_edit(writer, record, state, asked.caller, "restore", detail)
    change = _change(record, before, state, number)
    return _moved(studio, "restore", change, f"As at version {target}. Undo with action undo.")


def _target(writer: Writer, record: DesignRecord, asked: _Asked, was_deleted: bool) -> int | None:
    if asked.label is not None:
        found = writer.labelled(record.id, asked.label)
        if found is None:
            raise ToolError(f"No version has the label {asked.label!r}; action list shows labels")
        return found.number
    if asked.version is None and not was_deleted:
        raise ToolError("restore needs a `version` or a `label`; action list shows them")
    return asked.version


def _moved(studio: Studio, action: str, change: Change, message: str) -> HistoryAnswer:
    return HistoryAnswer(
        design_id=change.record.id,
        version=change.record.version,
        action=action,
        message=message,
        element_ids=change.element_ids[:200],
        warnings=warnings_of(studio, change)[0],
    )


def _change(record: DesignRecord, before: State, state: State, number: int) -> Change:
    differences = compare(before, state)
    touched = [one["elementId"] for one in differences if "elementId" in one]
    is_whole = any(one["change"] == "canvas" for one in differences)
    return Change(renumbered(record, state, number), state, touched, is_whole=is_whole)


def _state_at(reader: Reader, record: DesignRecord, number: int) -> State:
    state = reader.state(record.id, number)
    if state is None:
        raise ToolError(
            f"The design {record.id!r} has no version {number}; there are 1 to {record.version}"
        )
    return state


def _view(one: VersionRecord, caller: Caller) -> VersionView:
    return VersionView(
        version=one.number,
        at=show_moment(one.at),
        action=one.action,
        detail=one.detail,
        # Shown only for changes by somebody other than the caller.
        by=one.by if one.by and one.by != caller.owner else None,
        label=one.label or None,
    )


_ACTIONS: dict[str, Callable[[_Asked], Any]] = {
    "list": _list,
    "undo": _undo,
    "redo": _redo,
    "snapshot": _snapshot,
    "restore": _restore,
    "diff": _diff,
}
