"""From a scenario to plans: cells of a sweep, each lowered to the last number; and for people to look at."""

from rushhour.plan.cells import Cell, derive_seed, expand
from rushhour.plan.commands import commands
from rushhour.plan.drawing import drawing
from rushhour.plan.lower import Lowered, lower

__all__ = ["Cell", "Lowered", "commands", "derive_seed", "drawing", "expand", "lower"]
