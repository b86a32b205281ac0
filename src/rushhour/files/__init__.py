"""Files: made in rooms, opened only where they are plain, their names harmless for terminals."""
