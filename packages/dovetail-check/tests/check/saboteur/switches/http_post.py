from __future__ import annotations

from tests.check.saboteur.responses import refuse
from tests.check.saboteur.switch import HttpRequest, HttpResponse, on_http, on_response, tuned

LEGACY = "2025-11-25"
tuned(
    "http.post.notification-202",
    "http.post.notification-empty",
    "http.post.notification-refused",
    "http.post.refused-body",
    revision=LEGACY,
)


def _is_notification(request: HttpRequest) -> bool:
    return "method" in request.message and "id" not in request.message


@on_response("http.post.notification-202")
def ok_for_notifications(response: HttpResponse, request: HttpRequest) -> None:
    if _is_notification(request) and response.status == 202:
        response.status = 200


@on_response("http.post.notification-empty")
def a_body_for_notifications(response: HttpResponse, request: HttpRequest) -> None:
    if _is_notification(request) and response.status == 202:
        response.body = b"{}"


@on_http("http.post.notification-refused")
def an_error_with_status_200(request: HttpRequest) -> HttpResponse | None:
    return refuse(request, 200, -32600) if _is_notification(request) else None


@on_http("http.post.refused-body")
def an_error_with_an_id(request: HttpRequest) -> HttpResponse | None:
    return refuse(request, 400, -32600, id=7) if _is_notification(request) else None


@on_response("http.post.content-type")
def plain_text(response: HttpResponse, request: HttpRequest) -> None:
    if "id" in request.message and not response.is_stream:
        response.headers["content-type"] = "text/plain"
