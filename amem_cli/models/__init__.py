"""Encoders, rerankers and language models: run, fetch, choose."""
