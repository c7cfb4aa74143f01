"""The mirror of vault and journal in SQLite, which can always be rebuilt."""
