"""Real machines: places, sessions, clocks."""
