"""dovetail's proxy."""

from __future__ import annotations

import os

from dovetail import Proxy

server = Proxy(os.environ["UPSTREAM"], name="front", mode=os.environ["UPSTREAM_MODE"])
