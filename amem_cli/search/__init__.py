"""Find, list and show notes."""
