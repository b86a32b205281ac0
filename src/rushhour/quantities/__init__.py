"""Quantities: numbers with units, read and written."""
