"""How soon the page of a large network can be used, and how many frames a second it draws.

    python -m benchmarks.graph_page [--notes 5000] [--links 15000]

The browser is headless and draws in software, on the processor: with a graphics card the frames are
many more. What is counted are frames that were drawn while the mouse pulled the drawing about.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from amem_cli.graph.clusters import clusters
from amem_cli.graph.page import graph_page
from tests.browser import chromium, visiting
from tests.networks import made_up_network

PULLED_SECONDS = 5.0


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=5000)
    parser.add_argument("--links", type=int, default=15000)
    chosen = parser.parse_args()
    network = made_up_network(chosen.notes, chosen.links)
    groups = clusters(network)
    started = time.perf_counter()
    page = graph_page(
        network, vault_name="Many", clusters=groups, passages=lambda path: ["word " * 200]
    )
    made = time.perf_counter() - started
    print(f"{chosen.notes} notes, {len(network.edges)} links, {len(page.encode()) / 1e6:.1f} MB")
    print(f"page made in {made:.2f} s (clusters not counted)")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "graph.html"
        file.write_text(page, encoding="utf-8")
        started = time.perf_counter()
        with visiting(browser, file, settled=False) as visit:
            print(f"usable after {time.perf_counter() - started:.1f} s, drawn in software")
            visit.page.wait_for_selector("body[data-settled]", timeout=300_000)
            print(f"notes at rest after {time.perf_counter() - started:.1f} s")
            visit.page.evaluate(
                "() => { amem.frames = 0;"
                " amem.shown.drawing.sigma.on('afterRender', () => { amem.frames += 1; }); }"
            )
            started = time.perf_counter()
            visit.page.mouse.move(500, 400)
            visit.page.mouse.down()
            step = 0
            while time.perf_counter() - started < PULLED_SECONDS:
                step += 1
                visit.page.mouse.move(500 + 60 * (step % 7), 400 + 30 * (step % 5))
            elapsed = time.perf_counter() - started
            frames = visit.page.evaluate("amem.frames")
            visit.page.mouse.up()
            print(f"{frames / elapsed:.1f} frames a second while pulled, drawn in software")


if __name__ == "__main__":
    main()
