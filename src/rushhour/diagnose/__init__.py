"""Two endpoints side by side: what limits a transfer between them, why, and what to do about it."""
