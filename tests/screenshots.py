"""Makes the pictures of the README anew: `python -m tests.screenshots`.

The vault in the pictures is amem's own template with its links, and made-up notes around them would
say nothing: so the pictures show a made-up network of 150 notes, the same in every run.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from amem_cli.core.graph import clusters
from amem_cli.rendering.graph_page import graph_page
from tests.browser import chromium, visiting
from tests.networks import made_up_network

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    """Write docs/images/graph-light.png and graph-dark.png."""
    network = made_up_network(150, 330)
    page = graph_page(network, vault_name="A made-up vault", clusters=clusters(network))
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "graph.html"
        file.write_text(page, encoding="utf-8")
        with visiting(browser, file, viewport=SIZE) as visit:
            visit.page.wait_for_timeout(300)
            visit.page.screenshot(path=str(IMAGES / "graph-light.png"))
        with visiting(browser, file, viewport=SIZE, color_scheme="dark") as visit:
            visit.page.keyboard.press("/")
            visit.page.keyboard.type("bread 7")
            visit.page.keyboard.press("Enter")
            visit.page.mouse.click(20, 790)
            visit.page.wait_for_timeout(300)
            visit.page.screenshot(path=str(IMAGES / "graph-dark.png"))


if __name__ == "__main__":
    main()
