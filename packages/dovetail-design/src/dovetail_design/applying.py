"""Creates designs and files from a template, one per row: all or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dovetail import Context, ToolError
from dovetail_design import render_jobs
from dovetail_design.answers import MAX_CHARS
from dovetail_design.canvases import Canvas, new_id
from dovetail_design.design_tools import new_design
from dovetail_design.design_warnings import find_warnings
from dovetail_design.export_files import FileBatch, link_to
from dovetail_design.exporting import SUFFIXES, RenderRequest, draw
from dovetail_design.filling import FIELD
from dovetail_design.generating.recolouring import HUES, MANNERS, read_style
from dovetail_design.inputs import Format
from dovetail_design.result_views import MOST_WARNINGS, fit_budget, show_design, warnings_of
from dovetail_design.results import AppliedTemplate, WarningView
from dovetail_design.storage import DesignRecord, State, Writer
from dovetail_design.studio import Caller, Studio
from dovetail_design.templates import Source, instantiate
from dovetail_serverkit.answer_size import AnswerBudget

__all__ = ["Adaption", "Application"]

_NUMBER = "{{n}}"
_MOST_LINKS = 5
_MOST_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Adaption:
    """Another size and other colours; None leaves them as they are."""

    width: int | None = None
    height: int | None = None
    style: str | None = None

    def check(self) -> None:
        """Raise ToolError for an unknown style."""
        _, unknown = read_style(self.style or "")
        if unknown:
            raise ToolError(
                f"Unknown style {' '.join(unknown)[:100]!r}; style takes "
                f"{', '.join((*HUES, *MANNERS))}"
            )

    def adapt(self, studio: Studio, state: State) -> State:
        """Return the state in the other size and style, with texts that fit."""
        if (self.width, self.height, self.style) == (None, None, None):
            return state
        width, height = self.width or state["width"], self.height or state["height"]
        background, elements = studio.renderer.run(
            render_jobs.adapt,
            state,
            width,
            height,
            self.style or "",
            returns=tuple[str, list[dict[str, Any]]],
            kept="",
        )
        changed = {"width": width, "height": height, "background": background}
        return {**state, **changed, "elements": elements}


@dataclass(frozen=True, slots=True)
class Application:
    """One call of apply_template."""

    studio: Studio
    caller: Caller
    adaption: Adaption
    use_samples: bool
    name: str | None
    format: Format | None
    save_to: str | None
    keep_designs: bool
    overwrite: bool
    # Called after each file, for progress.
    ctx: Context

    def check(self, rows: int, design: str | None, page: int | None) -> None:
        """Raise ToolError for arguments that exclude each other."""
        if page is not None and design is None:
            raise ToolError("page needs a designId; a new design begins with page 1")
        if design is not None and rows > 1:
            raise ToolError(f"designId takes one row, got {rows}; omit designId for several rows")
        if design is not None and (self.format is not None or not self.keep_designs):
            raise ToolError(
                "format and keepDesigns apply to new designs; omit designId, or call "
                "export_design afterwards"
            )
        self.adaption.check()
        if self.format is None and (self.save_to is not None or not self.keep_designs):
            raise ToolError("saveTo and keepDesigns=false need a `format`")
        if self.save_to is not None and rows > 1 and "{{" not in self.save_to:
            raise ToolError(
                f"{rows} rows need different names: put {{{{n}}}} or a field into saveTo"
            )

    def fill(self, source: Source, rows: Sequence[dict[str, Any] | None]) -> list[State]:
        """Return the state for each row."""
        states = []
        for number, row in enumerate(rows, 1):
            try:
                elements = instantiate(source, row, use_samples=self.use_samples)
            except ToolError as error:
                raise ToolError(f"Nothing was made: row {number}: {error}") from None
            title = self.name or (source.name if len(rows) == 1 else f"{source.name} {_NUMBER}")
            state = {
                **{key: value for key, value in source.state.items() if key != "connectors"},
                "name": _spell(title, row, number)[:255] or source.name,
                "elements": elements,
            }
            states.append(self.adaption.adapt(self.studio, state))
        return states

    def replace(
        self, source: Source, id: str, state: State, if_version: int | None, page: int | None
    ) -> tuple[Any, ...]:
        """Replace the content of an existing design, or of one of its pages."""

        def edit(canvas: Canvas) -> str:
            new = state["elements"]
            kept: list[dict[str, Any]] = []
            if page is None:
                canvas.set(
                    connectors={},
                    **{key: state[key] for key in ("width", "height", "background")},
                )
            else:
                new = [{**one, "page": page} for one in (_ground(state), *new)]
                kept = [one for one in canvas.elements.values() if one.get("page", 1) != page]
            canvas.elements = {one["id"]: one for one in (*kept, *new)}
            canvas.touched.update(dict.fromkeys(one["id"] for one in new))
            return source.name

        change = self.studio.change(self.caller, id, "apply_template", edit, if_version=if_version)
        warnings, _ = warnings_of(self.studio, change)
        result = AppliedTemplate(
            template_id=source.id,
            design_id=id,
            version=change.record.version,
            element_ids=change.element_ids[:200],
            warnings=warnings,
            designs=[show_design(change.record)],
            files=[],
            rows=1,
        )
        return (result,)

    def create(
        self, source: Source, states: Sequence[State], rows: Sequence[dict[str, Any] | None]
    ) -> tuple[Any, ...]:
        """Create a design, a file or both for each row."""
        with FileBatch(self.studio, overwrite=self.overwrite) as batch:
            if self.format is not None:
                self._draw(batch, states, rows)
            with self.studio.store.writing() as writer:
                records = self._add_designs(writer, states)
                files = []
                if self.format is not None:
                    files = batch.finish(writer, self.caller, records, SUFFIXES[self.format])
        budget = AnswerBudget(MAX_CHARS)
        kept = records if self.keep_designs else []
        designs = fit_budget([show_design(one) for one in kept], budget)
        listed = fit_budget(files, budget)
        ids = [one["id"] for one in states[0]["elements"]]
        result = AppliedTemplate(
            template_id=source.id,
            design_id=kept[0].id if kept else None,
            version=1 if kept else None,
            element_ids=ids[:200] if kept else [],
            warnings=self._look(states)[:MOST_WARNINGS],
            designs=designs,
            files=listed,
            rows=len(rows),
            not_listed=len(kept) + len(files) - len(designs) - len(listed),
        )
        return result, *map(link_to, listed[:_MOST_LINKS])

    def _look(self, states: Sequence[State]) -> list[WarningView]:
        """Return the warnings row by row, up to a maximum."""
        found: list[WarningView] = []
        for number, state in enumerate(states[:_MOST_LOOKED_AT], 1):
            ids = [one["id"] for one in state["elements"]]
            for warning in find_warnings(self.studio, state, ids, self.caller.owner):
                if len(states) > 1:
                    warning.message = f"Row {number}: {warning.message}"
                found.append(warning)
        return found

    def _add_designs(self, writer: Writer, states: Sequence[State]) -> list[DesignRecord]:
        owner = self.caller.owner
        if self.keep_designs:
            return [writer.add_design(new_design("PRIVATE", owner), one, owner) for one in states]
        return [
            replace(new_design("PRIVATE", owner), id="", name=one["name"], version=1)
            for one in states
        ]

    def _draw(
        self,
        batch: FileBatch,
        states: Sequence[State],
        rows: Sequence[dict[str, Any] | None],
    ) -> None:
        assert self.format is not None
        request = RenderRequest(self.format)
        for number, (state, row) in enumerate(zip(states, rows, strict=True), 1):
            place = self.save_to
            if place is not None:
                place = _spell(place, row, number, is_path=True)
            try:
                batch.add(draw(self.studio, state, request, self.caller.owner), place)
            except ToolError as error:
                raise ToolError(f"Nothing was made: row {number}: {error}") from None
            if self.ctx.cancelled:
                raise ToolError("Nothing was made: the request was cancelled")
            self.ctx.progress(number, len(states))


def _ground(state: State) -> dict[str, Any]:
    """Return the background of a template as an element, because pages share one background."""
    return {
        "type": "rectangle",
        "id": new_id("el", 8),
        "name": "page background",
        "x": 0,
        "y": 0,
        "width": state["width"],
        "height": state["height"],
        "fill": state.get("background", "#ffffff"),
    }


def _spell(pattern: str, row: dict[str, Any] | None, number: int, *, is_path: bool = False) -> str:
    """Return a name with the row number and its fields filled in."""
    values = {**(row or {}), "n": number}

    def say(found: re.Match[str]) -> str:
        text = str(values.get(found[1], found[0]))
        # A value must not contain path separators, which would create folders.
        return text.replace("/", "-") if is_path else text

    said = FIELD.sub(say, pattern)
    return "".join(sign for sign in said if sign.isprintable())
