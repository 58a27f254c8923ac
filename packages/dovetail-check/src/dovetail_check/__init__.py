"""The checker: whether anybody's MCP server keeps the specification, with the bytes as evidence.

A black box of its own: it shares the wire format and the tables of the protocol with the
framework, and nothing else. Probes make traffic, the recording keeps every byte of it, rules
read the recording and say what they saw, and each row of the inventory gets one verdict.
"""
