"""One place for a thing: a made-up one is added to a copy of the tree, works there, and took two files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import builders
import numpy as np
import pytest
import report_records
from made_up import Copy
from verdict_documents import cell, document

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy.make(tmp_path / "tree")


ENCODER = """//! `mayfly`, which drops what is older than a day.

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

pub const QDISC: Encoder = Encoder { takes: &["most"], encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut options = Attributes::new();
    while let Some(word) = words.take() {
        match word {
            "most" => options.u32(1, words.number(word)?),
            other => return Err(words.unknown(other)),
        };
    }
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use crate::kernel::netlink::attribute;
    use crate::tc::{parse, Device, Order, TCA_OPTIONS};

    #[test]
    fn made_up_words_are_encoded_and_marked() {
        let device = Device { name: "eth0", ifindex: 3 };
        let line = "qdisc root handle 10: mayfly most 83";
        let order = parse(line, &device).expect("good words");
        let Order::Native { message, .. } = order else { panic!("for tc") };
        let bytes = message.body.bytes();
        assert_eq!(attribute(&bytes[20..], TCA_OPTIONS), Some(&[8, 0, 1, 0, 83, 0, 0, 0][..]));
        assert_eq!(bytes[bytes.len() - 9], 0x80, "marked as nested");
        assert!(parse("qdisc root mayfly least 1", &device).is_err());
    }
}
"""
ROW = """    {"name": "mayfly", "qdisc": "mayfly::QDISC", "packets": "most", "nested": true,
     "separates": true, "manages": true, "statistics": [["<u4", "hatched died"], ["<u8", "marked"]]},
"""
DISCIPLINE = """
import numpy as np
from rushhour.diagnosis.case import Case
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.measured import Measured
from rushhour.diagnosis.rules import queue
from rushhour.explain.caps import plain
from rushhour.plan import lower
from rushhour.record import decode
from rushhour.spec import parse_scenario

scenario = '''
duration = "2s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
buffer = "125826B"
queue = "mayfly"
[[flow]]
'''
lowered = lower(parse_scenario(scenario), 1)
lines = [line for link in lowered.plan["links"] for end in link["ends"] for line in end["qdiscs"]]
print(next(line for line in lines if "mayfly" in line))
print(lowered.plan.get("tools"))
raw = np.frombuffer(np.array([7, 5], "<u4").tobytes() + np.array([3], "<u8").tobytes() + bytes(112), "V128")
told = decode.xstats(raw, np.array([16], np.uint32), b"mayfly")
print(told["hatched"][0], told["died"][0], decode.marks(raw, np.array([16], np.uint32), b"mayfly")[0])
print(not plain("mayfly most 83"))
end = {"link": {"dev": "eth0"}, "qdisc": {"eth0": {"qdiscs": [{"kind": "mayfly", "parent": "root"}]}}}
m = Measured("a→b", counters={"a": {"qdisc.eth0.mayfly.root.drops": 3}})
case = Case(Facts("alice", end), Facts("bob", {}), {"a→b": m})
print(*(one.severity for one in queue.drops(case)))
"""


@pytest.fixture
def mayfly(copy: Copy) -> Copy:
    """With a queue discipline that no kernel has."""
    before = len(copy.touched())
    copy.write("agent/src/tc/kinds/mayfly.rs", ENCODER)
    copy.add("src/rushhour/tc/kinds.json", '    {"name": "prio",', ROW)
    assert len(copy.touched()) - before == 2
    return copy


def test_a_queue_discipline_is_a_row_and_its_encoder(mayfly: Copy) -> None:
    """Plans give it its limit and no tc, records read its statistics and marks, reasons know what it does."""
    line, tools, statistics, separates, manages = mayfly.python(DISCIPLINE).splitlines()
    assert line == "parent 1:1 handle 10: mayfly most 83"
    assert (tools, statistics, separates) == ("None", "7 5 3.0", "True")
    assert manages == "note"  # what it drops keeps it short


METRIC = """
from rushhour.metrics.value import Found, Metric, Telling, of_flow


def _letters(record):
    return [Found(of_flow(flow), float(len(flow.name))) for flow in record.flows()]


METRICS = [
    Metric("letters", "1", "none", ("flow",), "The letters of a flow's name.", _letters,
           title="Length of the name", telling=Telling("letters", 5)),
]
"""


def test_a_metric_is_its_function_and_a_line_of_the_catalogue(copy: Copy, tmp_path: Path) -> None:
    """It is defined in the help, has the first column of a report, and an axis of a figure has its title."""
    copy.write("src/rushhour/metrics/letters.py", METRIC)
    catalogue = "src/rushhour/metrics/catalog.py"
    copy.add(catalogue, "    limits,\n    loss,\n    mptcp,\n    paths,\n", "    letters,\n")
    copy.add(catalogue, "    goodput,\n    delay,\n    queue,\n    backlog,\n    sojourn", "    letters,\n")
    assert len(copy.touched()) == 2
    assert "| `letters` | 1 flow | The letters of a flow's name." in copy.rushhour("help", "metrics")
    run = report_records.make_record(tmp_path / "run")
    copy.rushhour("report", str(run), "--format", "md", "--out", str(tmp_path / "run.md"))
    assert "| letters | goodput \\[Mbit/s\\] |" in (tmp_path / "run.md").read_text("utf-8")
    title = "from rushhour.report.figure.titles import title_of; print(title_of('letters'))"
    assert copy.python(title) == "Length of the name\n"


SERIES = """    "advertised": _of_flow(
        "B",
        "the greatest segment that the peer takes",
        title="Greatest segment",
        shape="hold",
        tcp_info=read.info("advmss"),
    ),
"""
SAMPLES = """
from pathlib import Path
from rushhour.record.record import Record
from rushhour.report.figure.titles import title_of
from rushhour.series.series import SERIES
series = Record.open(Path({run!r})).series("advertised", flow=0)
print(len(series) > 0, series.unit, SERIES["advertised"].shape, title_of("advertised"))
"""


def test_a_series_is_one_entry(copy: Copy, tmp_path: Path) -> None:
    copy.add("src/rushhour/series/series.py", '    "rttvar_us": _of_flow(', SERIES)
    assert len(copy.touched()) == 1
    assert "the greatest segment that the peer takes" in copy.rushhour("help", "metrics")
    run = report_records.make_record(tmp_path / "run")
    assert copy.python(SAMPLES.format(run=str(run))) == "True B hold Greatest segment\n"


WORD = """    "unsteady": Word(
        5, "fail", "Unsteady: {of} come and go", "It is there on some days.", "blue", "〰"
    ),
"""
TOLD = """
import json, sys
from pathlib import Path
from rich.console import Console
from rushhour.report.verdict import html, markdown, terminal
from rushhour.verdict.rule import worst
from rushhour.verdict.vocabulary import WORDS
place = Path({place!r})
document = json.loads(place.read_text())
print(worst(["same", "unsteady", "better"]), WORDS["unsteady"].exit)
Console(width=90).print(terminal(document))
print(markdown(document))
print(html(document, place.parent))
"""


def test_a_verdicts_word_is_one_entry(copy: Copy, tmp_path: Path) -> None:
    """It has its rank, its exit code, its place in every report, and what other systems are told."""
    place = "src/rushhour/verdict/vocabulary.py"
    copy.add(place, '    "better": Word(0,', WORD)
    copy.add(place, '"inconclusive", "invalid"]\n', '"unsteady", ')
    assert len(copy.touched()) == 1
    known = document([cell(0, "better"), cell(1, "same")])
    known["cells"].append(cell(2, "unsteady"))
    known |= {"verdict": "unsteady", "exit": 5, "counts": known["counts"] | {"unsteady": 1}}
    (tmp_path / "verdict.json").write_text(json.dumps(known))
    said = copy.python(TOLD.format(place=str(tmp_path / "verdict.json")))
    assert said.startswith("unsteady 5\n")
    assert "## 〰 Unsteady: 1 of 3 cells come and go" in said
    assert '<h1 class="h-unsteady">Unsteady: 1 of 3 cells come and go</h1>' in said
    assert "<dt>unsteady</dt><dd>It is there on some days.</dd>" in said
    assert said.count("1 unsteady") == 4  # in the terminal, in Markdown, and twice on the page
    exported = copy.rushhour("export", str(tmp_path), "--to", "tap")
    assert "unsteady" in exported
    assert exported.count("not ok") == 1


DRIVER = """//! `gush`: a stream of datagrams by another driver.

use super::{udp, Side, Task};
use crate::error::Result;
use crate::plan::Flow;

pub(super) fn open(flow: &Flow, side: Side, duration_ns: i64) -> Result<Vec<Task>> {
    udp::open(flow, side, duration_ns)
}

#[cfg(test)]
mod tests {
    use crate::plan::Kind;

    #[test]
    fn made_up_flows_are_read_from_a_plan_and_fill_the_table_of_datagrams() {
        let kind: Kind = serde_json::from_str("\\"gush\\"").expect("a kind");
        assert_eq!((kind, kind.table()), (Kind::Gush, Some("udp")));
    }
}
"""
KIND = """  {"name": "gush", "driver": "gush", "transport": "udp", "carries": "stream", "table": "udp",
   "keys": ["rate", "packet", "burst"]},
"""
FLOW = """
from rushhour.plan import lower
from rushhour.spec import parse_scenario

scenario = '''
duration = "2s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
[[flow]]
kind = "gush"
rate = "1mbit"
'''
(flow,) = lower(parse_scenario(scenario), 1).plan["flows"]
print(flow["kind"], flow["name"], flow["packet_bytes"])
try:
    parse_scenario(scenario + "cc = 'cubic'")
except Exception as error:
    print(error)
"""


ARRIVED = """
from pathlib import Path
from rushhour.record.record import Record
run = Record.open(Path({run!r}))
value = {{one.metric: one.value for one in run.metrics() if one.scope in ("flow:long", "total")}}
print(value["one_way_delay_p50_us"], value["loss"], value["goodput_bps"])
"""


@pytest.fixture
def gush(copy: Copy) -> Copy:
    """With a kind of flow that is a stream of datagrams."""
    before = len(copy.touched())
    copy.write("agent/src/traffic/gush.rs", DRIVER)
    copy.add("src/rushhour/traffic/kinds.json", '  {"name": "ping",', KIND)
    assert len(copy.touched()) - before == 2
    return copy


def test_a_kind_of_flow_is_a_row_and_its_driver(gush: Copy, tmp_path: Path) -> None:
    """Scenarios take it with its own keys, plans have its packets, metrics read its arrivals."""
    said = gush.python(FLOW)
    assert said.startswith("gush gush1 1472\n")
    assert 'a flow of kind "gush" has no cc' in said
    assert "gush" in gush.rushhour("help", "scenario")
    rx_ns = np.asarray([100, 200, 400, 800]) * 1_000_000
    rows = builders.rows(builders.UDP, seq=np.arange(4), tx_ns=rx_ns - 30_000, rx_ns=rx_ns)
    flows = [builders.flow(kind="gush", name="long")]
    outcomes = [builders.outcome(packets_sent=5, packets_received=4)]
    planned = {0: {"packet_bytes": 1000}}
    run = builders.record(tmp_path / "run", {"udp": rows}, flows=flows, outcomes=outcomes, planned=planned)
    delay, loss, goodput = gush.python(ARRIVED.format(run=str(run.path))).split()
    assert (float(delay), float(loss)) == (30.0, 0.2)
    assert float(goodput) > 0


@pytest.mark.virtual
def test_the_agent_takes_both_from_the_same_rows(mayfly: Copy, gush: Copy) -> None:
    """The words of the one are encoded, the other is read from a plan and has its table: with one build."""
    assert mayfly.root == gush.root
    said = gush.cargo("test", "-q", "--locked", "--lib", "made_up")
    assert "test result: ok. 2 passed" in said
