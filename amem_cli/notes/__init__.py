"""A note as bytes and as values: pure rules."""
