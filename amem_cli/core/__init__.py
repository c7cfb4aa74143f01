"""The memory itself, pure: no files, clock, randomness, network or printing."""
