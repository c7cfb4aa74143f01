"""Serves a vault to text editors over the Language Server Protocol."""
