"""Real machines: where they are, how they are spoken to, and what time it is there."""
