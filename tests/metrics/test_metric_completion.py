"""Flows that come and go, worked out by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import SECOND, TRANSACTION, end, flow, found, outcome, record, rows

from rushhour.metrics.doubts import doubts

MS = 1_000_000
# 10 full frames of 1514 bytes, one of 66 + 520: handshake with its ACK, way, all but the first at 100 Mbit/s.
LEAST_NS = 20 * MS + 10 * MS + (66 + 9 * 1514 + 586) * 80


def mouse(number: int, start_ns: int, **more: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"group": "mice", "start_ns": start_ns, "arrival": [0, 10 * SECOND]}
    return flow(number, f"mice.{number}", **own, **more)


def came(number: int, at_ns: int | None, count: int = 15_000) -> dict[str, Any]:
    known = {"connected_ns": (number + 1) * SECOND, "sender_done_ns": None}
    return outcome(number, receiver_done_ns=at_ns, bytes_received=count, bytes_sent=15_000, **known)


ENDS = [end(0, "s1 → left", role="plain"), end(), end(4, "right → r1", role="wire", delay_ns=10 * MS)]


def test_completion_counts_from_the_start_and_slowdown_from_the_idle_path(tmp_path: Path) -> None:
    flows = [mouse(0, SECOND), mouse(1, 2 * SECOND), mouse(2, 3 * SECOND)]
    ends = [came(0, SECOND + LEAST_NS), came(1, 2 * SECOND + 3 * LEAST_NS), came(2, None, 700)]
    made = record(
        tmp_path / "a",
        flows=flows,
        ends=ENDS,
        outcomes=ends,
        planned={n: {"bytes": 15_000} for n in range(3)},
    )
    assert found(made, "slowdown_p50") == {"group:mice": pytest.approx(2)}
    assert found(made, "flow_completion_time_min_us") == {"group:mice": pytest.approx(LEAST_NS / 1e3)}
    assert found(made, "flows_completed") == {"group:mice": 2}
    assert found(made, "flows_unfinished") == {"group:mice": 1}
    # 3 flows of 15 kB in frames of 1514 for 1448 bytes, of 100 Mbit/s for 10 s.
    assert found(made, "offered_load")["group:mice"] == pytest.approx(3 * 15_000 * 8 * 1514 / 1448 / 1e9)
    assert found(made, "goodput_bps") == {
        "total": pytest.approx((2 * 15_000 + 700) * 8 / (1 + 3 * LEAST_NS / 1e9))
    }
    assert found(made, "flow_completion_time_s") == {}


def test_the_least_time_is_of_the_rate_while_a_flow_is_there(tmp_path: Path) -> None:
    """100 Mbit/s until 1.5 s, 10 Mbit/s from then on: a flow that begins at 2 s is not ten times as slow."""
    course = {"rate_bps": [[0, 100e6], [3 * SECOND // 2, 10e6]]}
    ends = [ENDS[0], end(rate_bps=23_500_000, over_time=course), ENDS[2]]
    late = 30 * MS + (66 + 9 * 1514 + 586) * 800
    made = record(
        tmp_path / "a",
        flows=[mouse(0, SECOND, bottleneck_bps=23_500_000), mouse(1, 2 * SECOND, bottleneck_bps=23_500_000)],
        ends=ends,
        outcomes=[came(0, SECOND + LEAST_NS), came(1, 2 * SECOND + late)],
        planned={n: {"bytes": 15_000} for n in range(2)},
    )
    assert found(made, "slowdown_max") == {"group:mice": pytest.approx(1)}
    assert found(made, "slowdown_min") == {"group:mice": pytest.approx(1)}
    # 2 flows of 15 kB, of 100 Mbit/s for 1.5 s and 10 for 8.5.
    load = 2 * 15_000 * 8 * 1514 / 1448 / (150e6 + 85e6)
    assert found(made, "offered_load")["group:mice"] == pytest.approx(load)


def test_sizes_have_classes_and_the_warm_up_is_left_out(tmp_path: Path) -> None:
    flows = [mouse(0, 0), mouse(1, 5 * SECOND), mouse(2, 6 * SECOND)]
    sizes = {0: 5_000, 1: 5_000, 2: 50_000}
    ends = [came(n, (5 + n) * SECOND, 50_000) for n in range(3)]
    made = record(
        tmp_path / "b", flows=flows, ends=ENDS, outcomes=ends, warmup_ns=SECOND,
        planned={number: {"bytes": size} for number, size in sizes.items()},
    )  # fmt: skip
    times = found(made, "flow_completion_time_mean_us")
    assert times == {"group:mice": 1e6, "group:mice, up to 10 kB": 1e6, "group:mice, 10 to 100 kB": 1e6}


def test_a_query_is_complete_with_its_last_response(tmp_path: Path) -> None:
    clients = [flow(n, f"ask.{n}", "rr", group="ask") for n in range(2)]
    starts = np.array([0, 0, SECOND, SECOND, 2 * SECOND])
    table = rows(
        TRANSACTION, flow=[0, 1, 0, 1, 0], seq=[0, 0, 1, 1, 2], start_ns=starts,
        end_ns=starts + np.array([1, 4, 2, 2, 1]) * 10 * MS,
    )  # fmt: skip
    planned = {n: {"interval_ns": SECOND, "response_bytes": 50_000} for n in range(2)}
    made = record(
        tmp_path / "c", {"transaction": table}, flows=clients, planned=planned, duration_ns=3 * SECOND
    )
    assert found(made, "query_completion_time_max_us") == {"group:ask": 40_000}
    assert found(made, "query_goodput_bps") == {"group:ask": pytest.approx(2 * 2 * 50_000 * 8 / 0.06)}
    # The third was answered by one of two; the flows go on to 10 s, so seven more were never begun.
    assert found(made, "queries_unanswered") == {"group:ask": 8}


def test_round_trips_a_minute_count_the_handshake_of_crr(tmp_path: Path) -> None:
    probes = [flow(0, "rr", "rr"), flow(1, "crr", "crr")]
    table = rows(TRANSACTION, flow=[0, 0, 1], start_ns=0, end_ns=[20 * MS, 40 * MS, 120 * MS])
    made = record(tmp_path / "d", {"transaction": table}, flows=probes)
    assert found(made, "responsiveness_rpm") == {
        "flow:rr": pytest.approx(2000),
        "flow:crr": pytest.approx(1000),
    }
    assert found(made, "latency_inflation") == {"flow:rr": pytest.approx(1.5), "flow:crr": pytest.approx(3)}
    # A request behind others is no round trip.
    planned = {0: {"in_flight": 8}}
    made = record(tmp_path / "e", {"transaction": table}, flows=probes, planned=planned)
    assert set(found(made, "responsiveness_rpm")) == {"flow:crr"}


def test_a_load_above_one_is_a_doubt(tmp_path: Path) -> None:
    flows = [mouse(n, n * SECOND) for n in range(2)]
    made = record(
        tmp_path / "e", flows=flows, ends=ENDS, planned={n: {"bytes": 100_000_000} for n in range(2)}
    )
    (doubt,) = doubts(made)
    assert doubt.startswith("group:mice offers 1.67 times")
