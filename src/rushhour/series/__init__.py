"""Series: readings of a record over time."""
