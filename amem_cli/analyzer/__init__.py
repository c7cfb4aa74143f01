"""Metadata and links without a language model."""
