"""A run again, under gdb: the same bytes, and time stands still while one looks.

core       a record, where to stop → gdb's script, the run, whether its bytes are the same
commands   read into gdb: `rush flows`, `rush qdisc`, …
"""

from rushhour.debug.core import Asked, Ended, debug

__all__ = ["Asked", "Ended", "debug"]
