"""Records: what is kept of a run, sealed, and how it is read again (docs/record-format.md)."""
