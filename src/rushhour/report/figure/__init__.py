"""Figures that compare cells: those that a scenario's `[[figure]]` tables ask for, and overviews of a sweep.

description  what a figure is, free of how it is drawn
collect      what is taken of each run while the report reads it
places       where the cells go: panels, lines, places on the axis
curves       series over time          points     metrics over a factor          matrix     metrics over two
distribution shares of flows or samples over their values          overview   the figures that nobody declared
ticks        where axes have ticks, and which of their words find room
over_run     a panel of a run
page         draws for the browser     screen     for the terminal     paper      for papers
"""

from rushhour.report.figure import page
from rushhour.report.figure.collect import Collector, figures_of
from rushhour.report.figure.description import Matrix, Plot

__all__ = ["Collector", "Matrix", "Plot", "figures_of", "page"]
