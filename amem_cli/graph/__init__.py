"""The network of notes and its pictures."""
