from __future__ import annotations

import json

from dovetail.wire.framing import encode_sse
from tests.check.saboteur.responses import serve, stream_of
from tests.check.saboteur.switch import HttpRequest, HttpResponse, on_http, on_response, tuned

# The healthy server also requires no token.
tuned("sbp.local-restrict")


@on_http("http.origin.validate")
def every_origin_is_accepted(request: HttpRequest) -> HttpResponse | None:
    return serve(request) if "origin" in request.headers else None


@on_http("sse.origin")
def every_origin_may_open_the_stream(request: HttpRequest) -> HttpResponse | None:
    if "origin" not in request.headers or request.verb != "GET":
        return None
    return stream_of(encode_sse(b"/sse/messages", event=b"endpoint"))


@on_response("http.origin.403")
def another_status(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 403:
        response.status = 400


@on_response("http.origin.403-body")
def an_id_in_the_403(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 403:
        response.body = json.dumps({**json.loads(response.body), "id": 5}).encode()
