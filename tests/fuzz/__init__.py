"""Fuzzers of all that reads files of strangers: scenarios, traces, records, results, baselines, databases.

    python -m fuzz TARGET [--seconds N | --runs N]       (`make fuzz`)

Each target takes bytes and must answer with a value or with an error that a person can act on. Atheris guides
by coverage; inputs are changed by what they mean (`mutate.py`). What once failed lies in `found/TARGET/` and
is tried first by every test.
"""
