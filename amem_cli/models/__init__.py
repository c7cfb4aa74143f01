"""Encoders and language models: run, fetch, choose."""
