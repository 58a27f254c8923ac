"""The requests for forms: one at a time and in a thread, so that large ones delay nothing else."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dovetail.console.forms.answers import FormRequest, answer_form
from dovetail.console.forms.form_schema import FormSchema
from dovetail.console.forms.outline import OutlineRequest, outline
from dovetail.console.requests import ApiRequest
from dovetail.transports.asgi.messages import HttpResponse
from dovetail.wire import codec

__all__ = ["FormService"]

_MAX_FORMS = 16


class FormService:
    """Serves `api/form` and `api/outline`, and keeps the schemas that were used last."""

    def __init__(self) -> None:
        self._forms: OrderedDict[bytes, FormSchema] = OrderedDict()
        self._turn = asyncio.Lock()

    async def serve_form(self, given: ApiRequest) -> HttpResponse:
        """Describe a form and check its value."""
        asked = given.read(FormRequest, "a schema and its value")
        return await self._serve(lambda: answer_form(self._find(asked.schema), asked))

    async def serve_outline(self, given: ApiRequest) -> HttpResponse:
        """Describe one level of a schema."""
        asked = given.read(OutlineRequest, "a schema and a path")
        return await self._serve(lambda: {"parts": outline(self._find(asked.schema), asked.path)})

    async def _serve(self, answer: Callable[[], Any]) -> HttpResponse:
        async with self._turn:
            body = await asyncio.to_thread(lambda: codec.encode(answer()))
        return HttpResponse(200, body)

    def _find(self, schema: Any) -> FormSchema:
        """The form of a schema; compiling it for every key that is pressed would be slow."""
        key = hashlib.sha256(codec.encode(schema)).digest()
        form = self._forms.pop(key, None)
        if form is None or form.is_full:
            form = FormSchema(schema)
        self._forms[key] = form
        while len(self._forms) > _MAX_FORMS:
            self._forms.popitem(last=False)
        return form
