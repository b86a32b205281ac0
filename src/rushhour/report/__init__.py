"""Reports: what a result set says, as a page, a terminal view, figures and tables.

Pure: records in, text and pictures out.
"""
