"""Tests MCP servers against the specification, with the recorded traffic as evidence.

Probes send traffic and a recording keeps every byte of it. Rules read the recording and report
observations. Each requirement of the inventory gets one verdict. The checker shares only the wire
format and the protocol tables with the framework, so that it tests any server from outside.
"""
