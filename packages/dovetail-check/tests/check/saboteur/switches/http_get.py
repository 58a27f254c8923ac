from __future__ import annotations

import json

from dovetail.wire.framing import encode_sse
from dovetail_check.probes.http_post import TOKEN
from tests.check.saboteur.responses import stream_of
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_http,
    on_response,
    tuned,
)

tuned("http.get.unrelated", probes=("http-post",))


@on_http("http.endpoint.post-get")
def no_get(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(404) if request.verb == "GET" else None


@on_http("http.get.sse-or-405")
def a_page(request: HttpRequest) -> HttpResponse | None:
    page = HttpResponse(200, {"content-type": "text/html"}, b"<p>Hello</p>")
    return page if request.verb == "GET" else None


@on_http("http.get.retry")
def a_stream_that_is_dropped(request: HttpRequest) -> HttpResponse | None:
    return stream_of(b": hello\n\n") if request.verb == "GET" else None


def _begin(response: HttpResponse, request: HttpRequest, message: Message) -> None:
    if request.verb == "GET" and response.is_stream:
        response.prelude = encode_sse(json.dumps({"jsonrpc": "2.0", **message}).encode())


@on_response("http.get.no-response")
def an_answer_on_the_stream(response: HttpResponse, request: HttpRequest) -> None:
    _begin(response, request, {"id": 1, "result": {}})


@on_response("http.get.unrelated")
def progress_on_the_stream(response: HttpResponse, request: HttpRequest) -> None:
    params = {"progressToken": TOKEN, "progress": 1}
    _begin(response, request, {"method": "notifications/progress", "params": params})


@on_response("http.multi.one-stream")
def the_same_on_every_stream(response: HttpResponse, request: HttpRequest) -> None:
    params = {"level": "info", "data": "for everybody"}
    _begin(response, request, {"method": "notifications/message", "params": params})
