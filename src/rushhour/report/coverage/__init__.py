"""Coverage as a page."""
