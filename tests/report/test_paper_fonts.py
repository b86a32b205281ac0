"""Letters that the font of figures lacks: another font of the machine has them, or a sentence says so."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import font_manager
from report_records import make_record

from rushhour.record.result_set import ResultSet
from rushhour.report.figure.paper import fonts as paper_fonts
from rushhour.report.figure.paper.words import inches
from rushhour.report.gallery import draw

SHIPPED = Path(mpl.get_data_path()) / "fonts" / "ttf"
FOREIGN = "拥塞窗口"
RARE = "ᶁ"  # in STIX, not in DejaVu Sans


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The fonts of a machine, first none."""
    fonts: list[str] = []
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: list(fonts))
    paper_fonts.others.cache_clear()
    yield fonts
    paper_fonts.others.cache_clear()


def drawn(folder: Path, title: str, form: str) -> tuple[bytes, list[str]]:
    make_record(folder / form / "set/runs/0000", seconds=6, title=title)
    told: list[str] = []
    (path,) = draw(ResultSet.open(folder / form / "set"), folder / form / "figures", form, told.append)
    return path.read_bytes(), told


@pytest.mark.parametrize("form", ["png", "pdf"])
def test_letters_that_no_font_has_are_named_once(machine: list[str], tmp_path: Path, form: str) -> None:
    machine += [str(SHIPPED / "LastResortHE-Regular.ttf"), str(tmp_path / "no font")]
    _, (told,) = drawn(tmp_path, f"{FOREIGN} и окно", form)
    assert told.startswith("No font of this machine has 口, 塞, 拥, 窗: a box stands for each.\n")
    assert "--format svg" in told


def test_many_letters_are_counted(machine: list[str], tmp_path: Path) -> None:
    assert machine == []
    _, (told,) = drawn(tmp_path, "".join(chr(0x4E00 + n) for n in range(10)), "png")
    assert " and 2 more: " in told


def test_words_of_an_svg_stay_words(machine: list[str], tmp_path: Path) -> None:
    made, told = drawn(tmp_path, FOREIGN, "svg")
    assert told == []
    assert FOREIGN.encode() in made
    # A reader without the font of figures has one of its width, or any without serifs.
    assert b"'DejaVu Sans', 'Verdana', sans-serif" in made


def test_another_font_of_the_machine_has_them(
    machine: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    machine += [str(SHIPPED / "cmr10.ttf"), str(SHIPPED / "STIXGeneral.ttf")]
    assert paper_fonts.others(frozenset(RARE)) == (("STIXGeneral",), frozenset())
    assert paper_fonts.others(frozenset(RARE + FOREIGN)) == (("STIXGeneral",), frozenset(FOREIGN))
    made, told = drawn(tmp_path, f"Window {RARE}", "pdf")
    assert told == []
    # The title is bold, and the bold face of this family lacks the letter.
    assert b"+STIXGeneral-Regular" in made
    assert b"LastResort" not in made
    assert capfd.readouterr().err == ""


def test_letters_of_other_fonts_are_as_wide_as_high() -> None:
    assert paper_fonts.lacking(f"a {FOREIGN}\n") == frozenset(FOREIGN)
    assert inches(FOREIGN, 9) == pytest.approx(4 * 9 / 72)
    assert inches(f"cwnd {FOREIGN}", 9) == pytest.approx(inches("cwnd ", 9) + inches(FOREIGN, 9))
