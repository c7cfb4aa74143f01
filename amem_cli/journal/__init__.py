"""What was changed, by whom, and what follows from it."""
