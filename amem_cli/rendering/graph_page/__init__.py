"""The network of notes as one page that works without a network: `graph_page` makes it."""

from amem_cli.rendering.graph_page.page import graph_page

__all__ = ["graph_page"]
