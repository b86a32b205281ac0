"""What must not be compared is refused by name; what is missing is said; the rest is judged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import builders
import numpy as np
import pytest

from rushhour.errors import UsageError
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import write_json
from rushhour.verdict import Rule, Verdict, compare, judge, of_sets
from rushhour.verdict.side import key_of

RESOLVED = {
    "title": "Fake", "duration": "10s", "topology": {"preset": "dumbbell", "rate": "100mbit"},
    "flow": [{"name": "long", "cc": "cubic"}], "judge": [{"metric": "goodput_bps", "flow": "long"}],
}  # fmt: skip
KERNEL = {"name": "k", "release": "6.12.1", "image_sha256": "1" * 64, "hz": 1000}


def recorded(
    folder: Path,
    values: dict[str, list[float]],
    *,
    quick: bool = False,
    failures: Any = (),
    skipped: Any = (),
    resolved: Any = None,
    plan: Any = None,
    **manifest: Any,
) -> Path:
    """A result set: for each algorithm its goodputs in Mbit/s, seed by seed."""
    resolved = resolved or RESOLVED
    for index, (cc, goodputs) in enumerate(values.items()):
        for number, mbit in enumerate(goodputs):
            received = int(mbit * 1e6 / 8 * 10)
            trace = builders.rows(
                builders.TCP_PROBE, t_ns=np.arange(3) * builders.SECOND, snd_cwnd=received % 99_991
            )
            about = {
                "key": f"{index}{number}",
                "scenario": {"name": "fake", "title": "Fake", "resolved": resolved},
                "cell": {"index": index, "factors": {"cc": cc}},
                "repetition": number,
                "seed": 100 + number,
                "kernel": KERNEL,
                "agent": {"version": "1", "sha256": "a" * 64},
                "rushhour": "0.1.0",
                **manifest,
            }
            builders.record(
                folder / "runs" / f"{index:03}{number:02}", {"tcp_probe": trace},
                outcomes=[builders.outcome(bytes_received=received)],
                plan={"seed": 100 + number, **(plan or {})}, manifest=about,
            )  # fmt: skip
    about = {"name": "fake", "title": "Fake", "resolved": resolved | {"sweep": {"cc": [*values]}}}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(
        folder / "set.json",
        {
            "format": "rushhour-set/1", "scenario": about, "quick": quick, "failures": list(failures),
            "skipped": list(skipped),
        },
    )  # fmt: skip
    return folder


def side(folder: Path) -> Any:
    return of_sets([ResultSet(folder)], folder.name, "records")


@pytest.fixture
def compared(tmp_path: Path) -> Callable[..., Verdict]:
    def compare(base: Any, candidate: Any, variables: Any = ("kernel",), **options: Any) -> Verdict:
        before = recorded(tmp_path / "base", base)
        after = recorded(tmp_path / "candidate", candidate, **options)
        return judge(side(before), side(after), Rule(), variables=variables)

    return compare


SAME = {"cubic": [90.0, 91.0], "reno": [80.0, 81.0]}


@pytest.mark.parametrize(
    ("options", "said", "variable"),
    [
        ({"agent": {"sha256": "b" * 64}}, "the agent: aaaaaaaaaaaa → bbbbbbbbbbbb", "agent"),
        ({"quick": True}, "fake: the whole → a quick look", "scenario"),
        (
            {
                "resolved": RESOLVED | {"topology": {"preset": "dumbbell", "rate": "10mbit"}},
                "plan": {"rate": 10},
            },
            "scenario fake: topology.rate: 100mbit → 10mbit",
            "scenario",
        ),
        (
            {
                "resolved": RESOLVED | {"flow": [{"name": "long", "cc": "cubic", "start": "1s"}]},
                "plan": {"start": 1},
            },
            "flow.long.start: (nothing) → 1s",
            "scenario",
        ),
        ({"plan": {"format": "other"}}, "the same scenario, lowered by another version", "rushhour"),
        ({"lab": "netns"}, "the lab: uml → netns", "lab"),
        ({"kernel": KERNEL | {"hz": 250}}, "HZ: 1000 → 250", "lab"),
    ],
)
def test_another_difference_than_the_variable_is_refused_by_name(
    compared: Callable[..., Verdict], options: dict[str, Any], said: str, variable: str
) -> None:
    with pytest.raises(UsageError) as error:
        compared(SAME, SAME, **options)
    assert said in error.value.message
    assert f"--variable {variable}" in (error.value.hint or "")


def test_what_is_declared_may_differ(compared: Callable[..., Verdict]) -> None:
    verdict = compared(SAME, SAME, ("agent",), agent={"sha256": "b" * 64})
    assert verdict.verdict == "same"
    assert verdict.document()["variable"] == "agent"


def test_kernels_may_not_differ_when_they_are_not_the_variable(compared: Callable[..., Verdict]) -> None:
    other = KERNEL | {"name": "l", "image_sha256": "2" * 64}
    with pytest.raises(UsageError, match="the kernel: k → l"):
        compared(SAME, SAME, ("scenario",), kernel=other)
    assert compared(SAME, SAME, ("scenario", "kernel"), agent={"sha256": "a" * 64}).verdict == "same"


def test_words_of_a_scenario_may_differ(compared: Callable[..., Verdict]) -> None:
    told = RESOLVED | {"question": "Is it so?", "guards": "much", "repeat": 7}
    assert compared(SAME, SAME, resolved=told).verdict == "same"


def test_one_kernel_on_both_sides_is_worth_a_word(compared: Callable[..., Verdict]) -> None:
    (note,) = compared(SAME, SAME).notes
    assert "the same kernel image" in note


def test_tools_of_another_version_are_refused(tmp_path: Path) -> None:
    tools = ({"tc": {"version": version, "sha256": version * 64}} for version in ("1", "2"))
    base, candidate = (side(recorded(tmp_path / str(n), SAME, tools=tool)) for n, tool in enumerate(tools))
    with pytest.raises(UsageError, match="tc: 1 → 2"):
        judge(base, candidate)


def test_cells_of_one_side_are_named_and_the_rest_is_judged(compared: Callable[..., Verdict]) -> None:
    verdict = compared(SAME | {"bbr": [70.0]}, SAME | {"vegas": [60.0]})
    assert {(entry.label, entry.reason) for entry in verdict.missing} == {
        ("cc=bbr", "candidate has no such cell"),
        ("cc=vegas", "base has no such cell"),
    }
    assert (verdict.verdict, len(verdict.cells)) == ("same", 2)


def test_nothing_in_common_is_refused(compared: Callable[..., Verdict]) -> None:
    with pytest.raises(UsageError, match="no cell in common"):
        compared({"cubic": [90.0]}, {"reno": [90.0]})


def test_seeds_that_only_one_side_has_do_not_count(compared: Callable[..., Verdict]) -> None:
    verdict = compared({"cubic": [90.0, 91.0]}, {"cubic": [90.0, 91.0, 5.0, 5.0]})
    assert verdict.verdict == "same"
    assert verdict.cells[0].seeds == [100, 101]


def test_a_failure_of_the_candidate_is_the_kernels_or_the_machines(compared: Callable[..., Verdict]) -> None:
    def failure(kind: str) -> dict[str, Any]:
        cell = {"index": 1, "factors": {"cc": "reno"}}
        return {"cell": cell, "kernel": "k", "repetition": 0, "seed": 100, "kind": kind, "message": "oops"}

    only = {"cubic": [90.0, 91.0]}
    verdict = compared(SAME, only, failures=[failure("GuestError")])
    assert {cell.cell.label: cell.verdict for cell in verdict.cells} == {
        "cc=cubic": "same",
        "cc=reno": "worse",
    }
    assert verdict.cells[1].reason == "the candidate failed: oops"


def test_what_the_candidate_skipped_is_not_compared(compared: Callable[..., Verdict]) -> None:
    cell = {"index": 1, "factors": {"cc": "reno"}}
    entry = {"cell": cell, "kernel": "k", "repetition": 0, "seed": 100, "message": "no reno"}
    verdict = compared(SAME, {"cubic": [90.0, 91.0]}, skipped=[entry])
    assert [entry.reason for entry in verdict.missing] == ["skipped by candidate: no reno"]
    assert verdict.verdict == "same"


def test_what_a_kernel_of_the_same_configuration_cannot_run_is_worse(
    compared: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KERNEL, "config_sha256", "c" * 64)
    cell = {"index": 1, "factors": {"cc": "reno"}}
    entry = {"cell": cell, "kernel": "k", "repetition": 0, "seed": 100, "message": "no reno"}
    verdict = compared(SAME, {"cubic": [90.0, 91.0]}, skipped=[entry])
    assert not verdict.missing
    assert {cell.cell.label: cell.verdict for cell in verdict.cells} == {
        "cc=cubic": "same",
        "cc=reno": "worse",
    }
    assert verdict.cells[1].reason == "the candidate failed in 2 of 2 runs: no reno"


def test_links_that_became_untrue_are_the_candidates_doing(compared: Callable[..., Verdict]) -> None:
    """In virtual time nothing but the variable can have made them so."""
    verdict = compared(SAME, SAME, valid=False, invalid_reasons=["rate of left → right is 97 Mbit/s"])
    assert verdict.verdict == "worse"
    assert "rate of left → right is 97 Mbit/s" in verdict.cells[0].reason


def test_links_of_the_base_that_are_untrue_judge_nobody(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base", SAME, valid=False, invalid_reasons=["no rate"])
    verdict = judge(side(base), side(recorded(tmp_path / "candidate", SAME)))
    assert verdict.verdict == "invalid"
    assert verdict.exit == 4


EXPECT = RESOLVED | {"expect": [{"metric": "goodput_bps", "min": 85e6, "where": {"cc": "cubic"}}]}


@pytest.mark.parametrize(
    ("goodputs", "expected"),
    [
        ([90.0, 90.1, 90.2, 90.3], "same"),
        ([84.9, 84.8, 84.7, 84.9], "worse"),  # a law: within 6 %, and broken all the same
        ([90.0, 90.1, 84.9, 90.3], "inconclusive"),
    ],
)
def test_a_law_that_the_base_keeps(tmp_path: Path, goodputs: list[float], expected: str) -> None:
    resolved = EXPECT | {"judge": [{"metric": "goodput_bps", "minimum": "50%"}]}
    base = recorded(tmp_path / "base", {"cubic": [90.0, 90.0, 90.0, 90.0]}, resolved=resolved)
    after = recorded(tmp_path / "candidate", {"cubic": goodputs}, resolved=resolved)
    verdict = judge(side(base), side(after))
    assert verdict.verdict == expected
    if expected == "worse":
        assert "the expectation goodput_bps of total ≥ 85000000 is broken" in verdict.cells[0].reason


def test_a_law_that_the_base_breaks_too_is_no_news(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base", {"cubic": [80.0, 80.0]}, resolved=EXPECT)
    after = recorded(tmp_path / "candidate", {"cubic": [80.0, 80.1]}, resolved=EXPECT)
    verdict = judge(side(base), side(after))
    assert verdict.verdict == "same"
    assert "the base itself does not keep" in verdict.cells[0].warnings[0]


def test_a_law_that_the_candidate_alone_keeps_is_no_warning(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base", {"cubic": [80.0, 80.1, 80.0, 80.1]}, resolved=EXPECT)
    after = recorded(tmp_path / "candidate", {"cubic": [90.0, 90.1, 90.2, 90.1]}, resolved=EXPECT)
    (cell,) = judge(side(base), side(after)).cells
    assert cell.verdict == "better"
    assert not cell.warnings
    assert cell.document().mended == ["goodput_bps of total ≥ 85000000"]


REAL: Any = {"lab": "netns"}


def lucky(seed: int, count: int, centre: float, spread: float) -> list[float]:
    values: list[float] = np.random.default_rng(seed).normal(centre, spread, count).tolist()
    return values


@pytest.mark.parametrize(
    ("count", "centre", "spread", "expected"),
    [
        (10, 80.0, 1.0, "worse"),
        (10, 100.0, 1.0, "better"),
        (10, 90.2, 1.0, "same"),
        (4, 84.0, 8.0, "inconclusive"),
    ],
)
def test_real_time_is_judged_by_all_values_of_both_sides(
    tmp_path: Path, count: int, centre: float, spread: float, expected: str
) -> None:
    base = recorded(tmp_path / "base", {"cubic": lucky(1, count, 90.0, spread)}, **REAL)
    after = recorded(tmp_path / "candidate", {"cubic": lucky(2, count, centre, spread)}, **REAL)
    verdict = judge(side(base), side(after))
    assert verdict.verdict == expected
    if expected == "inconclusive":
        assert "repetitions of each side would tell" in verdict.cells[0].reason


def test_a_factor_that_is_a_table_pairs_in_any_order() -> None:
    """A baseline's document has its keys sorted, a scenario as they were written; a trace has lists."""
    written = {"police": {"rate": "1mbit", "burst": 10}, "steps": [["0s", {"b": 1, "a": True}]]}
    kept = {"steps": [["0s", {"a": True, "b": "1"}]], "police": {"burst": "10", "rate": "1mbit"}}
    assert key_of("s", written) == key_of("s", kept)
    assert key_of("s", {"x": ["a", "b"]}) != key_of("s", {"x": ["b", "a"]})


def test_what_is_read_and_judged_is_told(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base", {"cubic": [90.0], "reno": [80.0]})
    changed = recorded(tmp_path / "new", {"cubic": [70.0], "reno": [80.0]}, kernel={**KERNEL, "name": "n"})
    told: list[str] = []
    compare(base, changed, out=tmp_path / "verdict", tell=told.append)
    assert told == [
        f"{base}, fake: looking through run 1 of 2",
        f"{base}, fake: looking through run 2 of 2",
        f"{changed}, fake: looking through run 1 of 2",
        f"{changed}, fake: looking through run 2 of 2",
        "judging cell 1 of 2: fake cc=cubic",
        "judging cell 2 of 2: fake cc=reno",
        "first divergence 1 of 1: fake cc=cubic",
    ]
