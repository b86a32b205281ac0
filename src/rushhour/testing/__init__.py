"""Tests of other people's software in networks in virtual time: what the pytest plugin's fixture gives.

network   a few words or a scenario, programs and functions on its nodes → a run
calls     a Python function → a program, and its answer back
outcome   a run → values, output with virtual times, metrics
plugin    pytest's side: fixture, options, markers, what a failure shows
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushhour.testing.calls import CallError
    from rushhour.testing.network import Network, Setting
    from rushhour.testing.outcome import Printed, Program, ProgramFailed, Run

__all__ = ["CallError", "Network", "Printed", "Program", "ProgramFailed", "Run", "Setting"]

_HOMES = {"CallError": "calls", "Network": "network", "Setting": "network"} | dict.fromkeys(
    ("Printed", "Program", "ProgramFailed", "Run"), "outcome"
)


# Imported when first asked for: every pytest in an environment with this program imports the plugin.
def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
