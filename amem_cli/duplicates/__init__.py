"""The same text twice: find and merge."""
