"""How long a flow waits in the queue of its class: by the class's counters what each packet's stamps say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from commandline import rush

from rushhour.explain import explain, queues
from rushhour.explain.lost import drops
from rushhour.record.classes import class_of
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.series import class_queue
from rushhour.series.waits import waits

if TYPE_CHECKING:
    from pathlib import Path

    from experiments import Experiment

pytestmark = pytest.mark.virtual

SCENARIO = """
duration = "8s"
readings.sojourn = true
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
scheduler = "{scheduler}"
[[topology.class]]
name = "narrow"
flows = ["slow"]
{narrow}
queue = "bfifo limit 60000"
[[topology.class]]
name = "wide"
flows = ["fast"]
{wide}
buffer = "200kB"
[[flow]]
name = "slow"
from = "s1"
to = "r1"
[[flow]]
name = "fast"
from = "s1"
to = "r1"
"""
RATES = {"narrow": 'rate = "1mbit"', "wide": 'rate = "18mbit"'}
SHARES = {"narrow": "weight = 1", "wide": "weight = 9"}
SCHEDULERS = {"htb": RATES, "hfsc": RATES, "drr": SHARES, "qfq": SHARES, "ets": SHARES}
SETTLED_S = (2.0, 7.5)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_counters_of_a_class_tell_how_long_its_packets_wait(experiment: Experiment, scheduler: str) -> None:
    record = experiment(SCENARIO.format(scheduler=scheduler, **SCHEDULERS[scheduler]))
    end = record.context.end("left → right")
    dropped = [queues.dropped(record, flow, [end]) for flow in record.flows("tcp")]
    assert min(dropped) > 0
    assert sum(dropped) == drops(record, [end])
    for flow in record.flows("tcp"):
        entry = class_of(end, flow)
        assert entry is not None
        t_s, waited = class_queue.waits_s(record, end, entry)
        inside = (t_s > SETTLED_S[0]) & (t_s < SETTLED_S[1])
        rows = record.table("sojourn", flow=flow.id)
        rows = rows[(rows["end"] == end.end) & (rows["side"] == 0)]
        # Who was read as the last one came waits as long as the packet that leaves then has waited.
        left_s, stamped = rows["t_ns"] * 1e-9, rows["sojourn_ns"] * 1e-9
        expected = np.interp(t_s + waited, left_s, stamped)
        assert inside.sum() > 100
        assert np.median(waited[inside]) > 0.02
        near = np.isclose(waited[inside], expected[inside], rtol=0.1, atol=0.01)
        assert near.mean() > 0.8  # between two samples a class may be served unevenly
        assert np.median(waited[inside]) == pytest.approx(np.median(expected[inside]), rel=0.03)


def queue_delays(record: Record) -> dict[str, float]:
    """By scope, of all but flows, the median in s."""
    values = (one for one in record.metrics() if one.metric == "queue_delay_p50_us" and one.value)
    return {one.scope: one.value * 1e-6 for one in values if one.value and not one.scope.startswith("flow:")}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_queue_delay_is_what_packets_wait_stamped_or_not(experiment: Experiment, scheduler: str) -> None:
    text = SCENARIO.format(scheduler=scheduler, **SCHEDULERS[scheduler])
    stamped = experiment(text)
    found = queue_delays(experiment(text.replace("readings.sojourn = true", "")))
    told = (one for one in stamped.metrics() if one.metric == "sojourn_p50_us" and one.value)
    known = {one.scope: one.value * 1e-6 for one in told if one.value}
    assert [*found] == ["end:left → right", "class:narrow", "class:wide"]
    for scope, median in found.items():
        assert median == pytest.approx(known[scope], rel=0.05)
    assert found["class:narrow"] > 2 * found["end:left → right"]


def test_a_full_class_is_named_with_its_own_wait_and_its_own_key(tmp_path: Path) -> None:
    text = SCENARIO.format(scheduler="htb", **RATES).replace("readings.sojourn = true", "")
    (tmp_path / "classes.toml").write_text('title = "Classes"\n' + text)
    done = rush("run", "classes.toml", "--out", "out", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (record,) = (Record.open(run) for run in ResultSet.open(tmp_path / "out").folders())
    slow, fast = record.flows("tcp")
    (mine, *_), (others, *_) = waits(record, slow), waits(record, fast)
    assert mine.label == "left → right (class narrow)"
    assert mine.queue_key == "topology.class.narrow.queue"
    assert mine.flows == ("slow",)
    assert mine.rate_bps == pytest.approx(1e6, rel=0.01)
    # 60 kB at 1 Mbit/s are 480 ms, of which CUBIC leaves 70 % after a loss; 200 kB at 18 Mbit/s are 89 ms.
    assert 0.3 < mine.median_s < 0.5
    assert 0.05 < others.median_s < 0.09
    assert others.queue_key == "topology.queue"
    assert (mine.buffer, others.buffer) == (60_000, 200_000)
    said, _ = (" ".join(one.title for one in found.findings) for found in explain(record))
    assert "The queue at left → right (class narrow) is far too long" in said
