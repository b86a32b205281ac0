"""Letters on paper that the font of figures lacks, and which other fonts of this machine have them."""

from __future__ import annotations

import logging
import re
from functools import cache
from typing import TYPE_CHECKING

from matplotlib import font_manager
from matplotlib.font_manager import FontProperties

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.text import Text

FONTS = ["DejaVu Sans", "Verdana"]
"""The font of all figures, and the one of its width that readers have where it is not."""
_LAST_RESORT = re.compile("last *resort", re.IGNORECASE)
"""Fonts that have a box for every letter."""


def lacking(text: str) -> frozenset[str]:
    """The letters that the font of figures lacks."""
    own = _charmap(font_manager.findfont(FontProperties(family=FONTS[0])))
    return frozenset(letter for letter in text if letter.isprintable() and ord(letter) not in own)


def dress(texts: Iterable[Text], family: list[str]) -> frozenset[str]:
    """Give texts of this family the fonts of their letters; returns the letters that no font has."""
    said = {text: lacking(text.get_text()) for text in texts}
    letters = frozenset().union(*said.values())
    families, rest = others(letters)
    for text, foreign in said.items():
        text.set_fontfamily([*family, *families])
        faces = [_face(name, str(text.get_fontweight())) for name in families]
        # What the regular face of a family has, its bold one may lack.
        if set().union(*(_of(foreign, face) for face in faces)) < foreign - rest:
            text.set_fontweight("normal")
    return rest


@cache
def others(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Families of this machine's fonts that have these letters, and the letters that none has."""
    paths = [path for path in font_manager.findSystemFonts() if not _LAST_RESORT.search(path)]
    paths.sort(key=lambda path: ("sans" not in path.lower(), path))
    rest, families = set(letters), []
    while rest and paths:
        best = max(paths, key=lambda path: len(_of(rest, path)))
        if not _of(rest, best):
            break
        rest -= _of(rest, best)
        # A font without a bold face is drawn as it is; that is no news for who reads the terminal.
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        # What matplotlib remembers of fonts may be older than the font.
        font_manager.fontManager.addfont(best)
        families.append(font_manager.get_font(best).family_name)
    return tuple(families), frozenset(rest)


def _face(family: str, weight: str) -> str:
    return font_manager.findfont(FontProperties(family=family, weight=weight))


def _of(letters: Iterable[str], path: str) -> set[str]:
    """The letters of these that a font has."""
    has = _charmap(path)
    return {letter for letter in letters if ord(letter) in has}


@cache
def _charmap(path: str) -> frozenset[int]:
    """The letters of a font whose size can be chosen; none of a file that is none."""
    try:
        font = font_manager.get_font(path)
    except (OSError, RuntimeError):
        return frozenset()
    return frozenset(font.get_charmap()) if font.scalable else frozenset()
