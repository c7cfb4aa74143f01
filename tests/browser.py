"""A headless Chromium without a network, for tests of pages."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.outside_tools import program

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# WebGL is drawn in software where there is no graphics card.
_ARGUMENTS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-sandbox")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that ends with the block."""
    from playwright.sync_api import sync_playwright

    # The sandbox refuses to start for root.
    sandbox = [] if getattr(os, "geteuid", lambda: 1)() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program("chromium"), args=[*_ARGUMENTS, *sandbox]
        )
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page of the disk that is open, with all that it tried to do.

    Attributes:
        troubles: errors, warnings and refusals that the browser reported, dialogs, windows.
        requests: addresses that the page asked for, other than itself.
    """

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.requests: list[str] = []
        address = file.as_uri()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("popup", lambda popup: self.troubles.append(f"window: {popup.url}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.partition("#")[0] == address
                else self.requests.append(request.url)
            ),
        )

    def _console(self, message: Any) -> None:
        # What the drawing in software says of its own speed is no fault of the page.
        if message.type in {"error", "warning"} and "GPU stall" not in message.text:
            self.troubles.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextlib.contextmanager
def visiting(
    browser: Browser,
    file: Path,
    *,
    state: str = "",
    settled: bool = True,
    **options: Any,
) -> Iterator[Visit]:
    """A page of the disk in a window of its own, offline.

    Args:
        state: what stands behind `#` in the address.
        settled: waits until the notes have their places.
        options: of playwright's `new_context`, such as `color_scheme` or `viewport`.
    """
    settings: dict[str, Any] = {"viewport": {"width": 960, "height": 600}, **options}
    context = browser.new_context(offline=True, reduced_motion="reduce", **settings)
    try:
        page = context.new_page()
        visit = Visit(page, file)
        page.goto(file.as_uri() + (f"#{state}" if state else ""))
        page.wait_for_selector("body[data-ready]", timeout=60_000)
        if settled:
            page.wait_for_selector("body[data-settled]", timeout=60_000)
        yield visit
    finally:
        context.close()
