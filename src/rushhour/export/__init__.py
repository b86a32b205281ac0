"""Verdicts and results in the formats that other people's machines read.

    gather     a verdict's document or result sets → `Report` of cases
    FORMATS    name → what it is and the function Report → text

Every exporter is a pure function of a report; which consumer each was tried against stands in docs/ci.md.
"""

from rushhour.export.case import Case, Number, Report
from rushhour.export.formats import FORMATS, Format
from rushhour.export.gather import gather, of_verdict

__all__ = ["FORMATS", "Case", "Format", "Number", "Report", "gather", "of_verdict"]
