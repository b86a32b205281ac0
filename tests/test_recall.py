"""Real faults: hunks between two releases, what is judged, many by few kernels, the page, known changes."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mutants.history import alone, corpus, found, hunks, judging, page, words
from mutants.judge import Built, Court
from mutants.patches import Mutant
from mutants.results import Judgement
from rushhour.coverage import index_file
from rushhour.verdict.known import changes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OLD = "int first(void)\n{\n\treturn 1;\n}\n" + "\n" * 9 + "int second(void)\n{\n\treturn 2;\n}\n"
NEW = OLD.replace("return 1", "return 10").replace("\treturn 2;\n", "\tcheck();\n\treturn 2;\n")


@pytest.fixture
def releases(tmp_path: Path) -> tuple[Path, Path]:
    for name, text in (("old", OLD), ("new", NEW)):
        for folder in hunks.FOLDERS:
            (tmp_path / name / folder).mkdir(parents=True)
        (tmp_path / name / "net/ipv4/tcp.c").write_text(text)
        (tmp_path / name / "net/core/dev.c").write_text(f"/*\n * {name}\n */\nint x;\n")
    return tmp_path / "old", tmp_path / "new"


def test_each_hunk_is_turned_round_and_says_which_lines_it_is_about(releases: tuple[Path, Path]) -> None:
    comment, first, second = sorted(hunks.between(*releases), key=lambda one: (one.file, one.lines))
    assert comment.comments_only
    assert [one.file for one in (first, second)] == ["net/ipv4/tcp.c"] * 2
    assert not first.comments_only
    assert NEW.splitlines()[first.lines[0] - 1] == "\treturn 10;"
    assert second.lines == (16,)
    assert NEW.splitlines()[15] == "\tcheck();"


def test_a_hunk_taken_out_alone_leaves_the_others(releases: tuple[Path, Path]) -> None:
    first, second = (one for one in hunks.between(*releases) if one.file == "net/ipv4/tcp.c")
    assert alone.without(first, NEW) == NEW.replace("return 10", "return 1")
    assert alone.without(second, alone.without(first, NEW)) == OLD


def test_the_corpus_is_what_it_claims_to_be() -> None:
    judged, rows = corpus.load(), corpus.read()
    assert len(judged) >= 60
    assert len(rows) > 700
    places = {row.patch: row for row in rows if row.patch}
    assert places.keys() == {one.name for one in judged}
    for one in judged:
        assert one.missed in page.REASONS, one.name
        assert places[one.name].executed, one.name
        assert one.files == [places[one.name].file]
        assert len(one.text.split("\n@@ ")) == 2, f"{one.name} is not one hunk"


def test_of_a_source_only_what_was_asked_for_is_unpacked(tmp_path: Path) -> None:
    tree = tmp_path / "linux-6.12"
    for name in ("net/ipv4/tcp.c", "net/sched/sch_fq.c", "mm/slab.c"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"/* {name} */\n")
    archive = tmp_path / "linux-6.12.tar.xz"
    with tarfile.open(archive, "w:xz") as file:
        file.add(tree, tree.name)
    made = corpus.unpack(str(archive), tmp_path / "made")
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*.c"))
    assert names == ["net/ipv4/tcp.c", "net/sched/sch_fq.c"]
    assert (made / names[0]).read_text() == "/* net/ipv4/tcp.c */\n"


def test_what_executes_a_hunk_is_what_the_index_says() -> None:
    index = index_file.read(corpus.INDEX)
    file = index.files["net/ipv4/tcp_cubic.c"]
    function = next(one for one in file.functions if one.name == "cubictcp_cong_avoid")
    names, calling, executing = corpus.reach(hunks.Hunk(file.name, (function.first,), ""), index)
    assert names == ["cubictcp_cong_avoid"]
    assert len(calling) >= len(executing)
    assert calling
    assert corpus.reach(hunks.Hunk("net/ipv6/route.c", (1,), ""), index) == ([], [], [])


def test_a_scenario_that_the_index_does_not_know_judges_every_hunk() -> None:
    index, [one, *_] = index_file.read(corpus.INDEX), corpus.load()
    assert "handshake" not in judging.scenarios([], index)
    cells = tuple(cell for cell in index.cells if cell.scenario != "suite/handshake")
    assert "handshake" in judging.scenarios([one], replace(index, cells=cells))


def mutant(name: str, missed: str = "nothing") -> Mutant:
    return Mutant(name, "faults", f"tcp: {name}", "tcp", f"{name} is wrong.", missed, "")


@pytest.mark.parametrize(("bad", "kernels"), [((), 1), (("d",), 7), (("a", "h"), 11)])
def test_many_are_judged_by_few_kernels(
    monkeypatch: pytest.MonkeyPatch, bad: tuple[str, ...], kernels: int
) -> None:
    group, built = [mutant(name) for name in "abcdefgh"], []

    class Said(Court):
        """A court of which kernels are never built."""

        def __init__(self) -> None:
            pass

        def build(self, mutants: Sequence[Mutant]) -> Built:
            built.append(len(mutants))
            return Built(mutants, None, 0.0)

        def judge(self, built: Built, *_: Any) -> list[Judgement]:
            worse = any(one.name in bad for one in built.mutants)
            return [Judgement(one.name, "worse" if worse else "same", scenario="x") for one in built.mutants]

    monkeypatch.setattr(judging, "scenarios", lambda *_: ("suite/x",))
    bench = judging.Bench(Said(), None, lambda _: None)  # type: ignore[arg-type]  # no index is asked
    made = list(judging.halves(group, bench))
    assert [one.hunk for one in made] == list("abcdefgh")
    assert {one.hunk for one in made if one.noticed} == set(bad)
    assert all(one.together == 1 for one in made if one.noticed)
    assert len(built) == kernels


def test_a_later_judgement_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "found.csv"
    found.keep([found.Found("b", "same", together=40), found.Found("a", "same", together=40)], path)
    found.keep([found.of(Judgement("b", "worse", "red", "x", metric="drops", change=0.5), 1)], path)
    known = found.read(path)
    assert list(known) == ["a", "b"]
    assert known["a"].together == 40
    assert known["b"].noticed
    assert known["b"].by == "red x: drops +50.00%"


def test_the_page_says_what_was_noticed_and_why_not_the_rest() -> None:
    rows = [
        corpus.Row("net/ipv4/tcp.c", 5, "tcp_close", 40, 5, "seen"),
        corpus.Row("net/ipv4/tcp.c", 9, "tcp_close", 40, 0, "quiet"),
        corpus.Row("net/ipv4/tcp.c", 12, "tcp_abort", 0, 0),
        corpus.Row("net/ipv6/route.c", 7, "", None, None),
    ]
    known = {
        "seen": found.Found("seen", "worse", "red", "x", "drops", "+50.00%"),
        "quiet": found.Found("quiet", "same", together=8),
    }
    text = page.tables(rows, [mutant("seen"), mutant("quiet", "race")], known)
    assert "**4 hunks. 1 of the 2 that were judged were noticed.**" in text
    assert "| `net/ipv4` | 3 | 3 | 2 | 1 | 2 |" in text
    assert "| `net/ipv6` | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| race | 1 |" in text
    assert "| 40, 5 | **red x: drops +50.00%** |" in text
    assert "| 40, 0 | no: race |" in text


def test_the_page_is_that_of_what_was_found() -> None:
    assert page.tables(corpus.read(), corpus.load(), found.read()) in page.PAGE.read_text()


def test_words_that_are_missing_or_too_early_are_said(tmp_path: Path) -> None:
    trees = {series: tmp_path / series for series in words.SERIES}
    one = next(one for one in changes() if one.text and one.text[1] and not one.gone and not one.stable)
    path = tmp_path / "6.1" / one.text[0]
    path.parent.mkdir(parents=True)
    path.write_text(one.text[1])
    assert words.there(one, trees["6.1"])
    assert not words.there(one, trees["7.2"])
    said = [line for line in words.wrong(trees) if one.commit[:12] in line]
    assert any("7.2 lacks" in line for line in said)
    early = replace(one, since="6.2")
    assert not words.there(early, trees["5.10"])
