"""Notes with the same text: find and merge."""
