"""Equal to the byte means everything that a metric can read, also what stands beside the raw tables."""

import json
import re
from pathlib import Path
from typing import Any

import builders
import pytest

from rushhour import baseline
from rushhour.baseline import Baseline
from rushhour.metrics import paths, stack, tcp_stack
from rushhour.record.record import Record
from rushhour.record.told import told
from rushhour.spec.scenario import Scenario
from rushhour.verdict.comparing import compare
from rushhour.verdict.side import of_record

RESOLVED: dict[str, Any] = {
    "duration": "10s", "topology": {"preset": "dumbbell", "rate": "10mbit", "rtt": "10ms"},
    "flow": [{"name": "u", "kind": "udp", "rate": "1mbit"}],
}  # fmt: skip
JUDGED = next(m.name for m in paths.METRICS if "receive buffer full" in m.definition)
RESOLVED["judge"] = [{"metric": JUDGED}]
RESOLVED = Scenario.model_validate({"title": "t", "question": "q?", **RESOLVED}).canonical()


def result_set(folder: Path, lost: int, release: str) -> Path:
    about: dict[str, Any] = {"scenario": {"name": "fragile", "sha256": "a", "resolved": RESOLVED}}
    kernel = {"name": release, "release": release, "image_sha256": release}
    builders.record(
        folder / "runs/00000-a",
        {"udp": builders.rows(builders.UDP, flow=0, seq=range(9), tx_ns=0, rx_ns=9)},
        flows=[builders.flow(0, "u", "udp")],
        result={"counters": {"r1": {"Udp.RcvbufErrors": lost, "Udp.InDatagrams": 9}}, "kernel": kernel},
        manifest={**about, "cell": {"index": 0, "factors": {}}, "kernel": kernel},
    )
    (folder / "set.json").write_text(json.dumps({**about, "quick": False}))
    return folder


def test_a_kernel_that_stopped_counting_is_not_the_same(tmp_path: Path) -> None:
    before, after = (result_set(tmp_path / f"{lost}", lost, f"k{lost}") for lost in (243, 0))
    [cell] = compare(before, after).cells
    assert not cell.identical
    assert JUDGED in {entry.what.metric for entry in cell.metrics}
    # One seed decides nothing, but it is not called the same.
    assert cell.verdict == "inconclusive"
    assert "243" in cell.reason


def test_what_no_metric_reads_does_not_matter(tmp_path: Path) -> None:
    [cell] = compare(result_set(tmp_path / "a", 7, "k1"), result_set(tmp_path / "b", 7, "k2")).cells
    assert cell.identical
    assert cell.reason == "equal to the byte"


@pytest.mark.parametrize("slim", [False, True])
def test_a_baseline_knows_it(slim: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    kept = baseline.save(
        "kept", result_set(tmp_path / "a", 243, "k1"), slim=slim, time="2026-11-22T09:00:00Z"
    )
    assert all(run.told for run in Baseline.open(kept.path).runs)
    [cell] = compare("kept", result_set(tmp_path / "same", 243, "k2")).cells
    assert cell.identical
    [cell] = compare("kept", result_set(tmp_path / "other", 0, "k2")).cells
    assert not cell.identical


def test_every_part_counts(tmp_path: Path) -> None:
    def made(name: str, **parts: Any) -> Record:
        return builders.record(tmp_path / name, {}, **parts)

    first = made("first")
    others = [
        made("counters", result={"counters": {"r1": {"Ip6.InReceives": 1}}}),
        made("events", result={"lost_events": {"tcp_probe": 1}}),
        made("inputs", result={"inputs": [{"node": "r1", "packets": 1, "dropped": 1}]}),
        made("plan", plan={"sample_ns": 7}),
    ]
    assert told(made("again", result={"kernel": {"release": "7"}, "warnings": ["x"]})) == told(first)
    assert all(told(other) != told(first) for other in others)
    assert not any(of_record(other).equals(of_record(first)) for other in others)


class Asked(dict[str, int]):
    """Counters that remember which of them were asked for."""

    def __init__(self) -> None:
        super().__init__(some=1)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


def test_every_counter_that_a_metric_reads_is_counted_by_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = ("tcp", "udp", "ping", "rr")
    flows = [builders.flow(number, kind, kind) for number, kind in enumerate(kinds)]
    record = builders.record(tmp_path / "run", {}, flows=flows)
    asked = Asked()
    for module in (paths, stack, tcp_stack):
        monkeypatch.setattr(module, "stack_counters", lambda _: asked)
        for metric in module.METRICS:
            list(metric.function(record))
    there: set[str] = set()
    for name in ("snmp", "netstat"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[::2]:
            kind, _, names = line.partition(": ")
            there |= {f"{kind}.{one}" for one in names.split()}
    for line in Path("/proc/net/snmp6").read_text().splitlines():
        there.add(re.sub(r"^(UdpLite6|Udp6|Icmp6|Ip6)", r"\1.", line.split()[0]))
    assert len(asked.names) > 40
    assert not asked.names - there
