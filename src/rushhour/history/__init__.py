"""History: a metric over kernels or time, and where it changed.

history         the series of a metric in a results database, each with its changes
changes         where a series of points changes
release_order   what kernels are sorted by
"""

from rushhour.history.changes import Change, changes
from rushhour.history.gather import history
from rushhour.history.series import Point, Series
from rushhour.quantities.release import release_order

__all__ = ["Change", "Point", "Series", "changes", "history", "release_order"]
