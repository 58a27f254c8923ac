"""server/prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.contents import prompt_blocks
from dovetail_check.exchanges import Exchange
from dovetail_check.formats import base64_problem, mime_problem, uri_problem
from dovetail_check.noting import expect_codes, expect_error, note_each, offered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept

__all__: list[str] = []

_GETS = ("get-prompts",)
_INVALID_PARAMS = (-32602,)


@rule("prompts.schema.shape", reads=("walk",))
def prompts_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """A name, and arguments with names."""
    yield from undeclared(seen, "prompts")

    def problem(prompt: dict[str, Any]) -> str | None:
        found = shapes.problems(prompt, "Prompt", seen.revision)
        return f"prompt {prompt.get('name')!r:.80}: {'; '.join(found[:3])}" if found else None

    yield from note_each(offered(seen, "prompts"), problem)


@rule("prompts.get.shape", reads=_GETS)
def results_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """Messages with a role and content that the revision knows."""
    yield from undeclared(seen, "prompts")
    for exchange in seen.sent("prompts/get"):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "prompts/get", seen.revision)
        if found:
            yield broken(exchange, f"the result of prompts/get: {'; '.join(found[:3])}")
        else:
            yield kept(exchange)


# -- content ---------------------------------------------------------------------------------------


def _judge(
    seen: ProbeSession, kind: str, find_problem: Callable[[dict[str, Any]], str | None]
) -> Iterator[Note]:
    yield from undeclared(seen, "prompts")
    blocks = list(prompt_blocks(seen, kind))
    if not blocks and seen.tagged("get-prompts"):
        yield absent(f"no prompt that was read has {kind} content")
    yield from note_each(blocks, find_problem)


def _data_problem(block: dict[str, Any]) -> str | None:
    return base64_problem(block.get("data")) or mime_problem(block.get("mimeType"))


@rule("prompts.get.image", reads=_GETS)
def images_are_encoded(seen: ProbeSession) -> Iterator[Note]:
    """base64 and a MIME type."""
    yield from _judge(seen, "image", _data_problem)


@rule("prompts.get.audio", reads=_GETS)
def audio_is_encoded(seen: ProbeSession) -> Iterator[Note]:
    """base64 and a MIME type."""
    yield from _judge(seen, "audio", _data_problem)


def _resource(block: dict[str, Any]) -> dict[str, Any]:
    resource = block.get("resource")
    return resource if isinstance(resource, dict) else {}


@rule("prompts.get.embedded-uri", reads=_GETS)
def embedded_resources_have_a_uri(seen: ProbeSession) -> Iterator[Note]:
    """A URI of RFC 3986; one that was only repeated from our arguments says nothing."""
    yield from undeclared(seen, "prompts")
    blocks = list(prompt_blocks(seen, "resource"))
    own = [(where, block) for where, block in blocks if not _repeats_us(where, block)]
    if not own and seen.tagged("get-prompts"):
        yield absent("no prompt that was read has a resource with a URI of the server's")
    yield from note_each(own, lambda block: uri_problem(_resource(block).get("uri")))


def _repeats_us(asked: Exchange, block: dict[str, Any]) -> bool:
    given = asked.params.get("arguments")
    return isinstance(given, dict) and _resource(block).get("uri") in list(given.values())


@rule("prompts.get.embedded-mime", reads=_GETS)
def embedded_resources_have_a_mime_type(seen: ProbeSession) -> Iterator[Note]:
    """It is optional elsewhere, but not in prompts."""
    yield from _judge(
        seen, "resource", lambda block: mime_problem(_resource(block).get("mimeType"))
    )


@rule("prompts.get.embedded-content", reads=_GETS)
def embedded_resources_have_content(seen: ProbeSession) -> Iterator[Note]:
    """A text, or a blob in base64."""

    def problem(block: dict[str, Any]) -> str | None:
        resource = _resource(block)
        if isinstance(resource.get("text"), str):
            return None
        if "blob" in resource:
            return base64_problem(resource["blob"])
        return "an embedded resource has neither text nor blob"

    yield from _judge(seen, "resource", problem)


# -- refusals --------------------------------------------------------------------------------------


@rule("prompts.get.unknown-32602", reads=("prompt-refusals",))
def unknown_prompts_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    yield from undeclared(seen, "prompts")
    found = seen.tagged("prompt-refusals/unknown")
    yield from expect_codes(found, "a prompt that does not exist", _INVALID_PARAMS)


@rule("prompts.get.missing-args-32602", reads=("prompt-refusals",))
def missing_arguments_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    yield from undeclared(seen, "prompts")
    found = seen.tagged("prompt-refusals/missing")
    yield from expect_codes(found, "a prompt without its required arguments", _INVALID_PARAMS)


@rule("prompts.validate-args", reads=("prompt-refusals",))
def arguments_are_validated(seen: ProbeSession) -> Iterator[Note]:
    """What is missing or no text is refused."""
    yield from undeclared(seen, "prompts")
    found = seen.tagged("prompt-refusals/missing", "prompt-refusals/wrong-type")
    yield from expect_error(found, "a prompt with arguments that do not fit")


@rule("prompts.respect-capabilities", reads=("walk", "undeclared"))
def capabilities_are_respected(seen: ProbeSession) -> Iterator[Note]:
    """prompts/list works where it was declared, and only there."""
    for exchange in seen.tagged("undeclared/prompts/list"):
        items = (exchange.result or {}).get("prompts")
        if isinstance(items, list) and items:
            yield broken(exchange, "prompts are listed, but not declared")
        else:
            yield kept(exchange)
    for page in seen.pages("prompts"):
        if page.result is not None:
            yield kept(page)
        elif page.error is not None:
            yield broken(page, f"prompts is declared, but prompts/list got {page.describe()}")


unjudged.update(
    {
        "prompts.get.resource-link": "a permission: nothing to break",
        "prompts.get.input-required": "a permission: the rows of multi round-trip requests judge "
        "it",
        "prompts.error.internal": "needs a prompt that fails",
        "prompts.security": "nothing on the wire shows what an injection would do",
    }
)
