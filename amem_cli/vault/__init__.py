"""The folder on disk; the only package that writes notes."""
