"""Baselines: runs that are kept under a name to judge others by.

    find       name, name@version or folder → `Baseline`
    save       records → the first version of a name, or a folder of one's own
    promote    records or an older version → the current one, with a reason
    names      what is kept
    delete     what is kept → nothing

A version is written once and never changed (docs/history.md).
"""

from rushhour.baseline.delete import Doomed, delete, doomed
from rushhour.baseline.keep import promote, save
from rushhour.baseline.read import FORMAT, Baseline
from rushhour.baseline.shelf import Kept, Promotion, find, names

__all__ = [
    "FORMAT",
    "Baseline",
    "Doomed",
    "Kept",
    "Promotion",
    "delete",
    "doomed",
    "find",
    "names",
    "promote",
    "save",
]
