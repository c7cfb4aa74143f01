"""Makes the pictures of the README anew: `python -m tests.screenshots`.

They show a made-up network of 150 notes, the same in every run.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.graph.clusters import clusters
from amem_cli.graph.page import graph_page
from tests.browser import chromium, visiting
from tests.networks import made_up_network

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    """Write docs/images/graph-light.png and graph-dark.png."""
    network = made_up_network(150, 330, seed=8)
    page = graph_page(network, vault_name="A made-up vault", clusters=clusters(network))
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "graph.html"
        file.write_text(page, encoding="utf-8")
        with visiting(browser, file, viewport=SIZE) as visit:
            take(visit.page, "graph-light.png")
        with visiting(browser, file, viewport=SIZE, color_scheme="dark") as visit:
            visit.page.press("#canvas", "ArrowRight")
            # Without the frame of what the keyboard is in.
            visit.page.evaluate("document.activeElement.blur()")
            take(visit.page, "graph-dark.png")


def take(page: Page, name: str) -> None:
    """Keep what the page shows as a picture of 256 colours, which makes it small."""
    from PIL import Image

    page.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        IMAGES / name, optimize=True
    )


if __name__ == "__main__":
    main()
