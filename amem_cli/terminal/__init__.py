"""Results as text and JSON for people and programs."""
