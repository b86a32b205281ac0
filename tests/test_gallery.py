"""The gallery shows figures that scenarios of the catalogue have, each with its picture."""

import re
from pathlib import Path

import pytest

from pictures.gallery import FIGURES
from rushhour.spec import catalogue, load_scenario

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(("name", "title"), FIGURES)
def test_what_is_shown_is_a_figure_of_the_catalogue(name: str, title: str) -> None:
    assert title in [figure.title for figure in load_scenario(name).figure]


def test_the_page_has_every_figure_and_its_picture() -> None:
    page = (DOCS / "gallery.md").read_text("utf-8")
    shown = re.findall(r"!\[(.*?)\]\((.*?)\)", page)
    assert sorted(title for title, _ in shown) == sorted(title for _, title in FIGURES)
    for _, path in shown:
        assert 0 < (DOCS / path).stat().st_size <= 200_000, path
    assert set(re.findall(r"`rushhour run (\S+)`", page)) <= set(catalogue())
    assert {path.name for path in (DOCS / "images/gallery").iterdir()} == {Path(p).name for _, p in shown}
