"""Summaries: metric values of many runs, their index, and beside what others published."""

from rushhour.summary.summary import summarise

__all__ = ["summarise"]
