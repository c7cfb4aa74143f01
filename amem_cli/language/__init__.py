"""Words of any human language: pure rules."""
