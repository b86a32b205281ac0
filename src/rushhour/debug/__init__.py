"""A run again, under gdb: the same bytes, and time stands still while one looks.

core       a record → the run again, with its kernel's symbols; whether its bytes are the same
script     where to stop → gdb's commands
commands, memory, stops, complaint   read into gdb: `rush flows`, `rush qdisc`, …
"""

from rushhour.debug.core import Ended, debug
from rushhour.debug.script import Asked

__all__ = ["Asked", "Ended", "debug"]
