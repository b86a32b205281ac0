"""What a record tells beside its raw tables, as one digest: two runs are equal only if this is equal, too.

Metrics read the counters, the flows' ends, the calibration and the inputs of `result.json`, the plan, and the
context of the manifest. Left out is what names a run and measures nothing: the kernel's identity, words of
warning, what the machine did meanwhile.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushhour.record.record import Record

NAMES = ("kernel", "warnings", "machine")
"""Keys of `result.json` that are no results."""
# What a plan for machines may lack counted as empty when the first baselines were saved.
_LACKING: dict[str, object] = {"nodes": [], "links": [], "flows": []}


def told(record: Record) -> str:
    """The SHA-256 of everything beside its tables that a metric can read of a record.

    Raises:
        RecordError: a file of the record is damaged.
    """
    result = {name: value for name, value in record.result.items() if name not in NAMES}
    whole = [result, _LACKING | record.plan, record.manifest.context]
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
