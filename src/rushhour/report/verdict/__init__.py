"""What a verdict says to people: a page, a summary for a pull request, the terminal.

All three are made from the document (`verdict.json`); the page also draws the records that it names.
"""

from rushhour.report.verdict.page import html
from rushhour.report.verdict.screen import terminal
from rushhour.report.verdict.summary import markdown

__all__ = ["html", "markdown", "terminal"]
