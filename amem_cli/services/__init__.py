"""The use cases, one module a verb of the user's."""
