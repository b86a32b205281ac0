"""Verdicts: did what was changed change how congestion is handled, and where does it begin."""
