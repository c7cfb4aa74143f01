"""The application: a vault opened with its settings, and the user's verbs."""
