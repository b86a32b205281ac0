"""Bisecting a kernel's history by what a scenario measures.

history   the commits between two ends, and which of them halves the rest
search    which commit comes next; what can be said when none is left
measure   a commit is built and run
mark      what tells good from bad, and by it the decision about a commit
ends      both ends judged: do they differ?
state     what is known so far, on disk
core      all of it
"""

from rushhour.bisect.core import Options, bisect

__all__ = ["Options", "bisect"]
