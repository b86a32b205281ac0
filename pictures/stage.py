"""What pictures are taken with: a browser, a served Rush Hour, a kernel with one number changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from mutants import patches
from mutants.source import Source
from rushhour.lab import kernel as kernels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from rushhour.lab.kernel import Kernel

BASE, FAULT = "debian-6.12", "cubic-beta-half"
"""The kernel that is shown, and the mutant beside it: CUBIC keeps half of its window instead of 0.7."""
_FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--font-render-hinting=none"]


@contextmanager
def page(width: int, height: int) -> Iterator[Page]:
    """A page of the system's browser, light and of this size."""
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
        yield context.new_page()
        browser.close()


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of `rushhour serve` with these words behind it."""
    command = [sys.executable, "-m", "rushhour", "serve", "--port", "0", "--json", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"].rstrip("/")
        finally:
            server.terminate()


def rush(*words: str, cwd: Path, codes: tuple[int, ...] = (0,)) -> str:
    """Run `rushhour` in a folder; what it printed."""
    command = [sys.executable, "-m", "rushhour", *words]
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"rushhour {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def mutant() -> Kernel:
    """The kernel with the fault; built where it is not known, and never the one that is used by default."""
    known = [one for one in kernels.installed() if one.name == FAULT]
    if known:
        return known[0]
    (found,) = patches.select(patches.load(), (FAULT,))
    made = Source(kernels.find(BASE)).build([found], FAULT)
    if made is None:
        sys.exit(f"the fault {FAULT} is not in the image")
    return made
