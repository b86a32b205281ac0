"""The results database: what many folders hold, in SQLite or PostgreSQL (docs/history.md).

It is an index: the records stay in their folders, and importing these again makes it anew.
"""

from rushhour.store.core import Store, keep
from rushhour.store.rows import (
    BaselineRow,
    CellVerdict,
    ComparisonRow,
    Imported,
    KernelRow,
    MetricVerdict,
    Pair,
    QuantityRow,
    RunRow,
    ScenarioRow,
    SetRow,
)

__all__ = [
    "BaselineRow",
    "CellVerdict",
    "ComparisonRow",
    "Imported",
    "KernelRow",
    "MetricVerdict",
    "Pair",
    "QuantityRow",
    "RunRow",
    "ScenarioRow",
    "SetRow",
    "Store",
    "keep",
]
