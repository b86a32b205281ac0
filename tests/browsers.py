"""A served Rush Hour and a real browser that looks at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import kills
from playwright.sync_api import Browser, Page, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

DESK, PHONE = (1400, 900), (390, 844)
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of `rushhour serve` with these words behind it."""
    command = [sys.executable, "-m", "rushhour", "serve", "--port", "0", "--json", *words]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with kills.at_the_end(started) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
        server.terminate()
        assert server.wait(30) == 0


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's browser."""
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        started = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield started
        started.close()


def open_page(browser: Browser, url: str, size: tuple[int, int] = DESK) -> tuple[Page, list[str]]:
    """A page of its own context, and the faults it will tell of."""
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(url)
    return page, faults
