"""Kernels compared: each behaviour of a kernel has its verdict, and costs no more runs than it must."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fakes
import pytest
from click.testing import CliRunner
from fakes import FakeLab

from rushhour import baseline
from rushhour.cli.compare import compare as compare_command
from rushhour.errors import GuestError, LabError, UnsupportedError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.report.verdict import output
from rushhour.verdict import Verdict, compare, place
from rushhour.verdict import open as opening
from rushhour.verdict.side import key_of

Judge = Callable[..., Verdict]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Compares the kernels `old` and `new` of a fake laboratory on a small scenario."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    there = {name: fakes.kernel(name, tmp_path) for name in ("old", "new")}
    monkeypatch.setattr(kernels, "find", there.__getitem__)
    monkeypatch.setattr(kernels, "default", lambda: there["new"])
    monkeypatch.setattr(kernels, "installed", lambda: list(there.values()))
    (tmp_path / "fake.toml").write_text(fakes.SCENARIO)

    def run(behaviour: Callable[[str, str, int], float], base: str = "old", **options: Any) -> Verdict:
        lab = FakeLab(behaviour)
        verdict = compare(base, "new", scenarios=["fake.toml"], lab=lab, **options)
        run.lab = lab  # type: ignore[attr-defined]
        return verdict

    return run


def many_cells(count: int) -> str:
    """The scenario with so many times four cells."""
    values = ", ".join(f'"{20 + 2 * number}ms"' for number in range(count))
    return fakes.SCENARIO.replace("[sweep]", f'[sweep]\n"topology.rtt" = [{values}]')


def found(verdict: Verdict) -> dict[str, str]:
    return {str(cell.cell.factors["cc"]): cell.verdict for cell in verdict.cells}


def reason(verdict: Verdict, cc: str) -> str:
    return next(cell.reason for cell in verdict.cells if cell.cell.factors["cc"] == cc)


def seeded(*about: object) -> random.Random:
    return random.Random("/".join(map(str, about)))


def test_equal_tables_are_the_same_after_one_run_of_each(bench: Judge) -> None:
    verdict = bench(lambda _, cc, seed: 90 + seed % 3)
    assert found(verdict) == dict.fromkeys(("cubic", "reno", "vegas", "bbr"), "same")
    assert all(cell.identical for cell in verdict.cells)
    assert (verdict.verdict, verdict.exit) == ("same", 0)
    assert len(bench.lab.ran) == 8  # type: ignore[attr-defined]


def test_a_slower_cell_is_worse_and_the_others_are_not(bench: Judge) -> None:
    def behaviour(kernel: str, cc: str, seed: int) -> float:
        noise = seeded(kernel, seed).gauss(0, 0.05)
        return (80 if (kernel, cc) == ("new", "reno") else 90) + (noise if cc == "reno" else 0)

    verdict = bench(behaviour)
    assert found(verdict) == {"cubic": "same", "reno": "worse", "vegas": "same", "bbr": "same"}
    assert (verdict.exit, verdict.counts["worse"]) == (1, 1)
    assert "goodput_bps of flow:long fell by 11.1 %" in reason(verdict, "reno")
    worse = next(cell for cell in verdict.cells if cell.verdict == "worse")
    assert len(worse.seeds) == 5
    assert worse.divergence is not None
    assert worse.divergence["differs"] == ["snd_cwnd"]


def test_a_faster_cell_is_better(bench: Judge) -> None:
    verdict = bench(lambda kernel, cc, seed: 90 + seeded(kernel, cc, seed).gauss(10 * (kernel == "new"), 0.1))
    assert set(found(verdict).values()) == {"better"}
    assert verdict.exit == 0


def test_a_shift_that_is_too_small_to_matter_costs_one_look(bench: Judge) -> None:
    verdict = bench(lambda kernel, _, seed: 90 + 0.01 * (kernel == "new"))
    assert set(found(verdict).values()) == {"same"}
    assert not any(cell.identical for cell in verdict.cells)
    assert len(bench.lab.ran) == 8  # type: ignore[attr-defined]


@pytest.mark.parametrize("world", range(1, 9))
def test_luck_is_no_change(bench: Judge, world: int) -> None:
    """In a chaotic cell every perturbation is another seed: all values move, and nothing is said of them.

    Of a hundred such suites at most five may alarm (`test_false_alarms.py`); these are eight that do not.
    """
    verdict = bench(lambda kernel, cc, seed: 90 * seeded(world, kernel, cc, seed).lognormvariate(0, 0.2))
    assert verdict.verdict == "inconclusive"
    assert "worse" not in found(verdict).values()
    assert "better" not in found(verdict).values()
    assert {len(cell.seeds) for cell in verdict.cells if cell.verdict == "inconclusive"} == {40}


@pytest.mark.parametrize(("within", "expected"), [("30%", "same"), ("6%", "inconclusive")])
def test_chaotic_runs_are_the_same_within_what_they_are_asked_to_exclude(
    bench: Judge, tmp_path: Path, within: str, expected: str
) -> None:
    """Forty pairs of values that spread by 20 % tell what lies between them to some 9 %."""
    (tmp_path / "fake.toml").write_text(fakes.SCENARIO + f'within = "{within}"\n')
    verdict = bench(lambda kernel, cc, seed: 90 * seeded(1, kernel, cc, seed).gauss(1, 0.2))
    assert set(found(verdict).values()) == {expected}
    assert {len(cell.seeds) for cell in verdict.cells} == {40}, "never before the last look"
    metric = verdict.cells[0].document()["metrics"][0]
    if expected == "same":
        assert "less than 30% of it: the runs are chaotic, and 40 seeds cannot exclude 5%" in metric["reason"]
        assert metric["within"] == pytest.approx(0.3 * metric["base"]["mean"])
    else:
        assert metric["within"] is None


def test_what_chaotic_runs_exclude_hides_no_change(bench: Judge, tmp_path: Path) -> None:
    (tmp_path / "fake.toml").write_text(fakes.SCENARIO + 'within = "30%"\n')
    verdict = bench(lambda kernel, cc, seed: (90 - 10 * (kernel == "new")) + seeded(kernel, seed).gauss(0, 1))
    assert set(found(verdict).values()) == {"worse"}


def test_stop_ends_at_the_first_cell_that_is_worse(bench: Judge, tmp_path: Path) -> None:
    (tmp_path / "fake.toml").write_text(many_cells(30))
    verdict = bench(lambda kernel, _, seed: 80 if kernel == "new" else 90, stop=True, jobs=1)
    assert verdict.stopped
    assert (verdict.exit, verdict.counts["worse"]) == (1, 1)
    assert verdict.planned == 120
    assert len({(name, cc) for name, cc, _ in bench.lab.ran}) <= 8  # type: ignore[attr-defined]
    assert len(bench.lab.ran) < 60  # type: ignore[attr-defined]


def panics(kernel: str, cc: str, seed: int) -> float:
    if (kernel, cc) == ("new", "bbr"):
        lines = "    random: crng init done\n    Oops in bbr_main\n    Call Trace:"
        raise GuestError(f"the virtual kernel panicked; its last console lines:\n{lines}")
    return 90.0


def test_a_panic_where_the_base_ran_is_worse_with_its_words(bench: Judge) -> None:
    verdict = bench(panics)
    assert found(verdict) == {"cubic": "same", "reno": "same", "vegas": "same", "bbr": "worse"}
    assert reason(verdict, "bbr") == "the candidate failed: the virtual kernel panicked: Oops in bbr_main"
    document = output.write(verdict, verdict.folder or Path())
    assert document["cells"][0]["runs"]["candidate"][0]["error"].startswith("the virtual kernel panicked")


def test_a_fault_of_the_machine_is_not_blamed_on_the_kernel(bench: Judge) -> None:
    def behaviour(kernel: str, cc: str, seed: int) -> float:
        if (kernel, cc) == ("new", "bbr"):
            raise LabError("the virtual kernel ran out of memory")
        return 90.0

    verdict = bench(behaviour)
    assert found(verdict)["bbr"] == "invalid"
    assert verdict.exit == 4


def test_a_base_that_fails_judges_nobody(bench: Judge) -> None:
    verdict = bench(lambda kernel, cc, seed: panics({"old": "new"}.get(kernel, "old"), cc, seed))
    assert found(verdict)["bbr"] == "invalid"
    assert "the base failed" in reason(verdict, "bbr")


def nowhere(kernel: str, _cc: str, _seed: int) -> float:
    if kernel == "new":
        raise GuestError("the virtual kernel panicked")
    return 90.0


def test_a_kernel_that_boots_nowhere_is_invalid(bench: Judge) -> None:
    verdict = bench(nowhere)
    assert set(found(verdict).values()) == {"invalid"}
    assert verdict.exit == 4
    assert "ran in no cell" in reason(verdict, "cubic")


def test_a_kernel_that_boots_and_dies_of_every_cell_is_worse(bench: Judge) -> None:
    verdict = bench(lambda kernel, cc, seed: 90.0 if cc == "boot" else nowhere(kernel, cc, seed))
    assert set(found(verdict).values()) == {"worse"}


def test_a_kernel_that_hangs_is_given_up(bench: Judge, tmp_path: Path) -> None:
    (tmp_path / "fake.toml").write_text(many_cells(10))

    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        if kernel == "new" and cc != "boot":
            error = GuestError("virtual time stood still")
            error.hangs = True
            raise error
        return 90.0

    verdict = bench(behaviour, jobs=1)
    hung = sum(name == "new" for name, *_ in bench.lab.ran)  # type: ignore[attr-defined]
    assert 5 <= hung <= 10, "and the probe whether it boots"
    assert set(found(verdict).values()) == {"worse"}
    assert len(verdict.missing) == 40 - len(verdict.cells)
    assert "had hung 5 times" in verdict.missing[0].reason


@pytest.mark.parametrize("base_s", [0.0, 0.3])
def test_the_first_hang_ends_what_ends_at_the_first_worse_cell(
    bench: Judge, tmp_path: Path, base_s: float
) -> None:
    """Also where the base's run of the cell ends after the one that hangs."""
    (tmp_path / "fake.toml").write_text(many_cells(10))

    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        if kernel == "new" and cc in ("cubic", "vegas"):
            error = GuestError("virtual time stood still")
            error.hangs = True
            raise error
        if cc in ("cubic", "vegas"):
            time.sleep(base_s)
        return 90.0

    verdict = bench(behaviour, stop=True, jobs=1)
    hung = [cc for name, cc, _ in bench.lab.ran if name == "new" and cc in ("cubic", "vegas")]  # type: ignore[attr-defined]
    assert 1 <= len(hung) <= 3, "and what had begun"
    assert (verdict.verdict, verdict.exit) == ("worse", 1)
    worst = next(cell for cell in verdict.cells if cell.verdict == "worse")
    assert worst.reason.endswith("virtual time stood still")
    assert "had hung once" in verdict.missing[0].reason


def test_where_the_base_hangs_too_a_hang_ends_nothing(bench: Judge) -> None:
    def behaviour(_kernel: str, cc: str, _seed: int) -> float:
        if cc == "cubic":
            error = GuestError("virtual time stood still")
            error.hangs = True
            raise error
        return 90.0

    verdict = bench(behaviour, stop=True, jobs=1)
    assert found(verdict) == {"cubic": "invalid", "reno": "same", "vegas": "same", "bbr": "same"}


def test_cells_can_be_left_out(bench: Judge) -> None:
    gone = key_of("fake", {"cc": "cubic"})
    verdict = bench(lambda *_: 90.0, without={gone}, jobs=1)
    assert found(verdict) == dict.fromkeys(("reno", "vegas", "bbr"), "same")
    assert "cubic" not in {cc for _, cc, _ in bench.lab.ran}  # type: ignore[attr-defined]
    assert verdict.planned == 3
    # Nothing at all is left: the same, and a page that says so.
    every = {key_of("fake", {"cc": cc}) for cc in ("cubic", "reno", "vegas", "bbr")}
    verdict = bench(lambda *_: 90.0, without=every, jobs=1)
    assert (verdict.verdict, verdict.cells) == ("same", [])
    assert output.write(verdict, verdict.folder or Path())["cells"] == []


def test_what_a_kernel_lacks_is_not_compared(bench: Judge) -> None:
    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        if (kernel, cc) == ("new", "vegas"):
            raise UnsupportedError("the kernel has no vegas")
        return 90.0

    verdict = bench(behaviour)
    assert found(verdict) == {"cubic": "same", "reno": "same", "bbr": "same"}
    (missing,) = verdict.missing
    assert (missing.label, missing.reason) == ("cc=vegas", "skipped by new: the kernel has no vegas")
    assert verdict.exit == 0
    # Of what was skipped nothing is left to be judged.
    assert verdict.planned == 3


def test_records_and_sets_of_a_comparison_are_results_like_others(bench: Judge) -> None:
    verdict = bench(
        lambda kernel, cc, seed: 90 - (kernel == "new") * (cc == "reno") * seeded(seed).uniform(9, 11)
    )
    folder = verdict.folder
    assert folder is not None
    document = output.write(verdict, folder)
    assert json.loads((folder / "verdict.json").read_text()) == document
    assert (document["base"]["records"], document["candidate"]["records"]) == ("base", "candidate")
    for cell in document["cells"]:
        for run in (*cell["runs"]["base"], *cell["runs"]["candidate"]):
            assert (folder / run["folder"] / "manifest.json").is_file()
    again = compare(folder / "base", folder / "candidate")
    assert found(again) == found(verdict)
    assert not again.base.name.startswith("/")


def test_recorded_runs_get_more_seeds_where_their_kernel_is_here(bench: Judge) -> None:
    def behaviour(kernel: str, cc: str, seed: int) -> float:
        return 90 + seeded(cc, kernel, seed).gauss(-9 * (kernel == "new"), 0.2)

    once = bench(behaviour, seeds=1, max_seeds=1)
    assert set(found(once).values()) == {"inconclusive"}, "one seed cannot tell"
    verdict = bench(behaviour, base=str((once.folder or Path()) / "base"))
    assert set(found(verdict).values()) == {"worse"}
    assert {len(cell.seeds) for cell in verdict.cells} == {5}


def test_recorded_runs_alone_are_judged_as_they_are(bench: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def behaviour(kernel: str, cc: str, seed: int) -> float:
        return 90 + seeded(cc, kernel, seed).gauss(-9 * (kernel == "new"), 0.2)

    once = bench(behaviour, seeds=1, max_seeds=1)
    monkeypatch.setattr(kernels, "installed", list)
    verdict = bench(behaviour, base=str((once.folder or Path()) / "base"))
    assert set(found(verdict).values()) == {"inconclusive"}
    assert {len(cell.seeds) for cell in verdict.cells} == {1}
    assert "one seed cannot tell chance from change" in reason(verdict, "cubic")


def test_words_that_name_nothing(bench: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="seeds"):
        bench(panics, seeds=9, max_seeds=5)
    with pytest.raises(UsageError, match='there is no "kernels"'):
        bench(panics, variables=["kernels"])
    with pytest.raises(UsageError, match="a share"):
        bench(panics, minimum="2ms")
    monkeypatch.undo()
    with pytest.raises(UsageError, match="neither a folder of results nor a baseline nor a built kernel"):
        opening.open_side("no-such-thing")


@pytest.mark.parametrize("slim", [False, True])
def test_a_baseline_judges_a_kernel(bench: Judge, slim: bool) -> None:
    def behaviour(kernel: str, cc: str, seed: int) -> float:
        return 90 - (9 + seeded(seed).uniform(0, 0.1)) * ((kernel, cc) == ("new", "bbr"))

    first = bench(behaviour)
    assert first.folder is not None
    baseline.save("nightly", first.folder / "base", time="2026-11-21T09:00:00Z", slim=slim)
    verdict = bench(behaviour, base="nightly")
    assert found(verdict) == found(first)
    assert found(verdict)["bbr"] == "worse"
    assert (verdict.base.name, verdict.base.kind) == ("nightly@1", "baseline")
    assert (verdict.base.records is None) == slim


def test_the_command_line_gives_the_document_and_the_exit_code(
    bench: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = bench(lambda kernel, cc, seed: 90 - 9 * ((kernel, cc) == ("new", "reno")) - seed % 2 / 100)
    assert verdict.folder is not None
    words = [str(verdict.folder / "base"), str(verdict.folder / "candidate"), "--out", "here"]
    done = CliRunner().invoke(compare_command, [*words, "--json"], standalone_mode=False)
    document = json.loads(done.stdout)
    assert done.return_value == document["exit"] == 1
    assert document["counts"] == {"same": 3, "better": 0, "inconclusive": 0, "invalid": 0, "worse": 1}
    assert document == json.loads(Path("here/verdict.json").read_text())
    assert Path("here/report.html").stat().st_size > 10_000
    assert "reno" in Path("here/summary.md").read_text()
    told = CliRunner().invoke(compare_command, words, standalone_mode=False)
    assert "goodput_bps" in told.stdout


def test_an_interrupted_comparison_keeps_what_finished(bench: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        if (kernel, cc) == ("new", "vegas"):
            raise KeyboardInterrupt
        return 90.0

    with pytest.raises(KeyboardInterrupt):
        bench(behaviour, out="here", jobs=1)
    about = json.loads(Path("here/candidate/fake/set.json").read_text())
    assert about["complete"] is False
    again = bench(lambda *_: 90.0, out="here", jobs=1)
    assert again.verdict == "same"
    assert 2 <= len(bench.lab.ran) <= 4, "what had finished is not run again"  # type: ignore[attr-defined]


def test_two_comparisons_do_not_share_a_folder(bench: Judge, tmp_path: Path) -> None:
    with place.alone(tmp_path / "here"), pytest.raises(UsageError, match="another comparison"):
        bench(lambda *_: 90.0, out="here", jobs=1)
    assert not any((tmp_path / "here").iterdir())
    assert bench(lambda *_: 90.0, out="here", jobs=1).exit == 0


def test_with_metrics_alone_only_the_runs_of_a_first_divergence_are_whole(bench: Judge) -> None:
    from rushhour.record.record import Record  # noqa: PLC0415
    from rushhour.running.runner import keeping  # noqa: PLC0415

    def behaviour(kernel: str, cc: str, seed: int) -> float:
        return (80 if (kernel, cc) == ("new", "reno") else 90) + seeded(kernel, seed).gauss(0, 0.05)

    thin = bench(behaviour, wanted=keeping("uml", "metrics"))
    assert thin.folder is not None
    runs = sorted(thin.folder.glob("*/*/runs/[0-9]*"))
    assert found(thin)["reno"] == "worse"
    # Every cell moved, and reno alone enough to need more than one look.
    worse = next(cell for cell in thin.cells if cell.verdict == "worse")
    assert worse.divergence is not None
    assert worse.divergence["differs"] == ["snd_cwnd"]
    assert sum(Record.verified(run).is_whole for run in runs) == 2
    assert len(runs) > 10


def test_records_that_were_given_are_not_made_anew(bench: Judge, tmp_path: Path) -> None:
    from rushhour.record.record import Record  # noqa: PLC0415
    from rushhour.running.runner import carry_out, keeping, prepare  # noqa: PLC0415

    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        return 90 if kernel == "old" else 80

    slim = keeping("uml", "metrics")
    batches = prepare(["fake.toml"], kernels=["old"], repeat=5, out=tmp_path / "given")
    assert len(list(carry_out(batches, FakeLab(behaviour), wanted=slim))) == 20
    verdict = compare("given", "new", lab=FakeLab(behaviour), wanted=slim)
    assert {cell.verdict for cell in verdict.cells} == {"worse"}
    assert not any(Record.verified(run).is_whole for run in (tmp_path / "given").glob("runs/[0-9]*"))
    assert all("no divergence: the tables" in cell.warnings[-1] for cell in verdict.cells)
