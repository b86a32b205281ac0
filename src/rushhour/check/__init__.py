"""A change of a kernel tree, judged: does it change what users see, and is it executed at all?

change    two commits → files, functions, lines that differ
reach     a change, what cells execute → the cells that execute the change
same      a change → whether it compiles to the same code
core      commits are built and compared, those cells first; the answer
telling   the answer in words
"""

from rushhour.check.core import Options, check

__all__ = ["Options", "check"]
