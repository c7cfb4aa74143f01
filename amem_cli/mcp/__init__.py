"""Serves a vault to agents over the Model Context Protocol."""
