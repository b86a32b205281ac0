"""From a scenario to plans: cells of a sweep, each lowered to the last number."""

from rushhour.plan.cells import Cell, derive_seed, expand
from rushhour.plan.lower import Lowered, lower

__all__ = ["Cell", "Lowered", "derive_seed", "expand", "lower"]
