"""Keeps index and memory in step while people edit."""
