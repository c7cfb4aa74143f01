"""The memory process (A-MEM): describe, link, evolve."""
