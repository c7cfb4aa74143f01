"""Commits what the machine changed beside the user's own work in a git repository."""
