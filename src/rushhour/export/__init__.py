"""Verdicts and results in the formats that other people's machines read.

    gather.gather    a verdict's document or result sets → `Report` of cases
    formats.FORMATS  name → what it is and the function Report → text

Every exporter is a pure function of a report; which consumer each was tried against stands in docs/ci.md.
To add a format: a file with its function, and a line of `FORMATS`, which commands and help read.
"""
