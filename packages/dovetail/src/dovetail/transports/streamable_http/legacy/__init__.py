"""Streamable HTTP of 2025-03-26 to 2025-11-25: sessions and resumable streams.

A session starts with the response to initialize and ends with DELETE, on expiry, or at server
shutdown. The response to a POST is plain JSON, or a stream if the handler sends a message first;
requests to the client use the same stream. Messages that belong to no request use the stream
that the client opened with GET. Events have ids, so a client resumes a broken stream with GET and
Last-Event-ID; a broken connection does not cancel the request.
"""

from dovetail.transports.streamable_http.legacy.cluster_endpoint import ClusterEndpoint
from dovetail.transports.streamable_http.legacy.endpoint import LegacyEndpoint

__all__ = ["ClusterEndpoint", "LegacyEndpoint"]
