"""`rushhour demo`: one sentence from what was measured, in an empty folder, and a page."""

import json
import re
from pathlib import Path

import pytest
from commandline import rush

from rushhour.cli import demo
from rushhour.plan.draft import Draft, text
from rushhour.spec import load_scenario, parse_scenario


def test_the_demo_and_the_file_to_begin_with_are_one_experiment() -> None:
    mine, its = parse_scenario(text(Draft(), "x")).canonical(), load_scenario(demo.SCENARIO).canonical()
    for told in ("description", "figure", "expect"):
        mine.pop(told), its.pop(told)
    assert mine == its


@pytest.mark.virtual
def test_an_empty_folder_and_one_sentence(tmp_path: Path) -> None:
    done = rush("demo", cwd=tmp_path, DISPLAY=":0")
    assert done.returncode == 0, done.stderr
    assert "Who gets the link when BBR meets CUBIC?" in done.stdout
    # Hock and others 2017, Ware and others 2019:
    # most of a short buffer's link, the lesser part of a deep one's.
    shares = [int(part) for part in re.findall(r"  bbr (\d+) %", done.stdout)]
    assert shares[0] > 80
    assert shares[2] < 35
    said = " ".join(done.stdout.split())
    assert f"At buffer 0.5 BDP bbr got {shares[0]} % of the goodput" in said
    assert f"at 8 BDP cubic got {100 - shares[2]} %" in said
    page = re.search(r"^Page +(\S+)$", done.stdout, re.MULTILINE)
    assert page is not None
    assert "BBR against CUBIC" in (tmp_path / page[1]).read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    again = json.loads(rush("demo", "--json", "--out", "there", cwd=tmp_path).stdout)
    assert again["answer"] in said
    assert again["valid"]
    assert (tmp_path / again["report"]) == tmp_path / "there/report.html"


def test_a_browser_is_for_somebody_at_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", "")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert not demo._to_be_seen()
    monkeypatch.setenv("DISPLAY", ":0")
    assert demo._to_be_seen()
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert not demo._to_be_seen()


def test_without_a_kernel_it_says_what_to_do(tmp_path: Path) -> None:
    done = rush("demo", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert "rushhour kernel build debian:6.12" in done.stderr
    assert not (tmp_path / "results").exists()
