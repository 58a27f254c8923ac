"""Streamable HTTP of 2025-03-26 to 2025-11-25: sessions, streams that can be picked up again.

A session begins with the answer to initialize and ends with DELETE, with time, or with the
server. Each POST of a request is answered by plain JSON, or by a stream once its handler says
something first; requests to the client travel on that same stream. Messages that belong to no
request travel on the stream that a GET has opened. Events have ids, so a stream whose
connection broke is picked up with GET and Last-Event-ID; a broken connection cancels nothing.
"""

from dovetail.transports.streamable_http.legacy.endpoint import LegacyEndpoint

__all__ = ["LegacyEndpoint"]
