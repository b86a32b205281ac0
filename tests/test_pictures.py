"""The pictures of README and docs/ are of the present scenarios, and what documents repeat was measured."""

import re
from pathlib import Path

import pytest
from commandline import rush
from edited import edited, symbols

from pictures import made
from pictures.index import PICTURES
from pictures.made import IMAGES, ROOT
from pictures.stills import VERDICT
from rushhour.lab import kernel as kernels
from rushhour.verdict import compare

SAID = made.read()["said"]


def test_every_picture_was_made_of_what_is_there_now() -> None:
    assert made.stale(PICTURES) == []


def test_every_picture_that_is_shown_is_one_that_is_made_and_none_is_left_over() -> None:
    shown = set()
    for path in made.DOCUMENTS:
        for link in re.findall(r"!\[[^\]]*\]\((.*?)\)", path.read_text("utf-8")):
            shown.add((path.parent / link).resolve())
    assert shown == {IMAGES / name for name in made.read()["pictures"]}
    files = {path for path in IMAGES.rglob("*") if path.is_file() and path != made.SIDECAR}
    assert files == shown


def test_another_scenario_or_another_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    demo = PICTURES[0]
    (scenario,) = demo.scenarios
    monkeypatch.setattr(made, "inputs", lambda *_: {f"scenario {scenario}": "other"})
    assert made.stale([demo]) == [f"demo.gif was made of another scenario {scenario}"]
    monkeypatch.setattr(made, "digest", lambda _: "other")
    assert "demo.gif is another file than was made: make pictures" in made.stale([demo])


def test_what_is_said_is_put_in_its_place_and_keeps_its_margin() -> None:
    inline = "So: <!-- said: a -->old<!-- end -->."
    assert made.renewed(inline, {"a": "new"}) == "So: <!-- said: a -->new<!-- end -->."
    block = "<!-- said: a -->\n\n    old\n    words\n\n<!-- end -->\n"
    long = "word " * 40
    new = made.renewed(block, {"a": long.strip()})
    lines = new.splitlines()[2:-2]
    assert len(lines) > 1
    assert all(line.startswith("    word") and len(line) <= made.WIDTH for line in lines)
    assert made.renewed(new, {"a": long.strip()}) == new
    quote = "- x\n  <!-- said: a -->\n  > old\n  <!-- end -->\n"
    assert made.renewed(quote, {"a": "new"}) == quote.replace("old", "new")


@pytest.mark.virtual
def test_the_demo_still_says_what_the_documents_say(tmp_path: Path) -> None:
    """Here as on every other machine: the same scenario on the same kernel gives the same bytes."""
    done = rush("demo", "--kernel", "debian-6.12", cwd=tmp_path)
    assert SAID["demo"] in " ".join(done.stdout.split()), "run: make pictures"


@pytest.mark.virtual
def test_the_two_kernels_still_part_where_the_documents_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUBIC's beta is one number in the image: 717/1024, here 512/1024 as in the mutant that is shown."""
    found = symbols("beta", "bic_scale")
    place = min(found["beta"], key=lambda beta: abs(beta - found["bic_scale"][0]))
    words = (717).to_bytes(4, "little"), (512).to_bytes(4, "little")
    candidate = edited("beta", tmp_path / "k", {place: words})
    find = kernels.find
    monkeypatch.setattr(kernels, "find", lambda name: candidate if name == "beta" else find(name))
    monkeypatch.chdir(tmp_path)
    verdict = compare("debian-6.12", "beta", scenarios=[VERDICT], stop=False)
    told = [cell.divergence["sentence"] for cell in verdict.cells if cell.divergence]
    assert SAID["divergence"] in told, "run: make pictures"


def test_documents_have_their_sentences_from_there() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert {"demo", "divergence"} <= set(re.findall(r"<!-- said: (\w+) -->", readme))
