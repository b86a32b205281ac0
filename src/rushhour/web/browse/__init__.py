"""The results browser: what the results database holds, and the records that it knows.

asked      an address's query → filters, each checked
shelf      the database: opened when it is asked, found again when it was gone
files      the files of a record, and nothing beside them
lists      what is new; runs, comparisons, histories, baselines in tables
run        one run: what it is, its numbers, curves, files
versus     any two of runs, sets and kernels → a verdict, from what is stored
tags       words that people give
views      pages and the API: each page's values are a document, and the same document is the API's answer
"""

from rushhour.web.browse.views import section

__all__ = ["section"]
