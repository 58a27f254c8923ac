"""`make bench`: dovetail and its peers, on one machine, in one run.

.venv/bin/python qa/bench/run.py                the whole run, writes docs/benchmarks.md
.venv/bin/python qa/bench/run.py --only http    one part (see qa/bench/parts.py), writes its section
.venv/bin/python qa/bench/run.py --quick        a short one, for a look; writes nothing
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

# Started as a file, Python looks for modules beside it; the package is one level up.
sys.path[0] = str(Path(__file__).resolve().parents[2])
runpy.run_module("qa.bench.main", run_name="__main__", alter_sys=True)
