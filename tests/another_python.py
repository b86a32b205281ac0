"""Stands in for another Python: `sum` adds up fractions more exactly from Python 3.12 on."""

STRICT = """
import builtins
import sys

whole = sum

def strict(values, /, start=0):
    values = [*values]
    fractions = [one for one in values if isinstance(one, float) and not one.is_integer()]
    ours = sys._getframe(1).f_globals.get("__name__", "").startswith("rushhour")
    assert not ours or len(values) < 3 or not fractions, "math.fsum is the same everywhere"
    return whole(values, start)

builtins.sum = strict
"""
"""A program's first lines, after which a `sum` of ours over fractions is a failure."""
