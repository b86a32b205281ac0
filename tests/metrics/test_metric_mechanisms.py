"""Windows, repairs, timers, buffers and the stack's counters; answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import found

from rushhour.metrics.value import SAMPLED

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

MS = 1_000_000
MSS = 1448
INFINITE = 0x7FFFFFFF
OPEN, CWR, RECOVERY, LOSS = 0, 2, 3, 4


def probe(t_ms: list[float], cwnd: list[int], ssthresh: list[int], una: list[int], **more: Any) -> Any:
    """ACKs at these instants; `una` in segments acknowledged before each, ten segments in flight."""
    start = 2**32 - 5 * MSS  # the sequence numbers wrap on the way
    numbers = (start + np.array(una) * MSS) % 2**32
    return make.rows(
        make.TCP_PROBE,
        **{"t_ns": [int(t * MS) for t in t_ms], "snd_cwnd": cwnd, "ssthresh": ssthresh, "srtt": 20_000}
        | {"snd_una": numbers, "snd_nxt": (numbers + 10 * MSS) % 2**32, "snd_wnd": 65160, **more},
    )


def states(t_ms: list[float], state: list[int]) -> Any:
    return make.rows(make.CONG_STATE, t_ns=[int(t * MS) for t in t_ms], cong_state=state)


def loss(tmp_path: Path) -> Record:
    """Slow start 10, 20, 40; a loss at 60 ms takes half; three round trips of avoidance follow."""
    acks = probe(
        [20, 40, 60, 80, 100, 120, 140, 160],
        [10, 20, 40, 30, 20, 21, 22, 23],
        [INFINITE, INFINITE, INFINITE, 20, 20, 20, 20, 20],
        [0, 10, 30, 40, 60, 80, 100, 120],
    )
    again = make.rows(make.TCP_RETRANSMIT, t_ns=[60 * MS, 75 * MS, 76 * MS], state=1)
    tables = {"tcp_probe": acks, "tcp_cong_state_set": states([60, 90], [RECOVERY, OPEN])}
    return make.record(tmp_path / "run", tables | {"tcp_retransmit_skb": again})


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("initial_window_segments", 10),
        ("slow_start_growth", 1),  # 30 segments for 30
        ("slow_start_exit_segments", 40),
        ("slow_start_exit_ms", 40),
        ("avoidance_growth_segments", 1),  # 20 → 23 in 60 ms of 20 ms each
        ("cwnd_decrease_ratio", 0.5),
        ("cwnd_after_reduction_segments", 20),
        ("window_reductions", 1),
        ("retransmit_first_ms", 60),
        ("retransmit_last_ms", 76),
        ("retransmit_gap_max_ms", 15),
        ("recovery_time_ms", 30),
        ("ack_gap_p50_ms", 20),
        ("ack_gap_max_ms", 20),
        ("rwnd_first_bytes", 65160),
    ],
)
def test_one_loss(tmp_path: Path, metric: str, value: float) -> None:
    assert found(loss(tmp_path), metric) == {"flow:long": pytest.approx(value)}


def test_what_did_not_happen_is_undefined(tmp_path: Path) -> None:
    acks = probe([20, 40], [10, 20], [INFINITE] * 2, [0, 10])
    record = make.record(
        tmp_path / "run", {"tcp_probe": acks, "tcp_cong_state_set": states([], []), "tcp_retransmit_skb":
        make.rows(make.TCP_RETRANSMIT, t_ns=[])}
    )  # fmt: skip
    for metric in ("slow_start_exit_segments", "cwnd_decrease_ratio", "avoidance_growth_segments"):
        assert found(record, metric) == {"flow:long": None}
    assert found(record, "retransmit_first_ms") == {"flow:long": None}
    assert found(record, "window_reductions") == {"flow:long": 0}
    assert found(record, "recovery_time_ms") == {"flow:long": 0}


@pytest.mark.parametrize(
    "metric", ["window_reductions", "cwnd_decrease_ratio", "recovery_time_ms", "limited_losses_pct"]
)
def test_what_only_samples_show_says_so(tmp_path: Path, metric: str) -> None:
    acks = probe([20, 40, 60, 80], [10, 20, 20, 10], [INFINITE, INFINITE, 10, 10], [0, 10, 20, 30])
    samples = make.tcp_info([10 * MS, 50 * MS, 70 * MS], ca_state=[OPEN, RECOVERY, OPEN], snd_mss=MSS)
    notes = {}
    for name, tables in (("old", {}), ("new", {"tcp_cong_state_set": states([45, 65], [RECOVERY, OPEN])})):
        record = make.record(tmp_path / name, {"tcp_probe": acks, "tcp_info": samples, **tables})
        (value,) = [value for value in record.metrics() if value.metric == metric]
        assert value.value is not None
        notes[name] = value.note
    assert notes == {"old": SAMPLED, "new": None}


def test_a_repair_that_lasts_lasts_to_the_end(tmp_path: Path) -> None:
    changes = states([9000, 9500, 9600], [CWR, RECOVERY, LOSS])
    record = make.record(tmp_path / "run", {"tcp_cong_state_set": changes})
    assert found(record, "recovery_time_ms") == {"flow:long": 500}
    assert found(record, "window_reductions") == {"flow:long": 1}, "deeper trouble is no new reduction"


def sockets(tmp_path: Path) -> Record:
    sender = make.tcp_info(
        [MS, 2 * MS, 3 * MS], rtt=[0, 20_000, 10_000], rto=[1_000_000, 220_000, 210_000], snd_mss=1000,
        snd_cwnd=10, unacked=[0, 20, 5], pacing_rate=[99, 2_000_000, 1_200_000], rttvar=[0, 8, 4],
        bytes_sent=3000, data_segs_out=4, segs_out=6, delivery_rate=[0, 1000, 3000],
    )  # fmt: skip
    receiver = make.tcp_info(
        [MS], side=1, ato=40_000, rcv_rtt=21_000, data_segs_in=4, segs_out=3, data_segs_out=1
    )
    memory = np.zeros(3, "V36")
    memory[2] = np.array([0, 0, 0, 87040, 0, 0, 0, 0, 0], "<u4").tobytes()
    sender["skmem"] = memory
    return make.record(tmp_path / "run", {"tcp_info": np.concatenate([sender, receiver])})


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("rto_min_us", 210_000),  # the first second is that of no measured RTT
        ("rto_max_us", 220_000),
        ("rttvar_mean_us", 6),
        ("ack_timeout_max_us", 40_000),
        ("receiver_rtt_us", 21_000),
        ("mss_bytes", 1000),
        ("segment_mean_bytes", 750),
        ("pure_acks_per_segment", 0.8),  # 2 of the sender and 2 of the receiver, with 4 and 1 segments
        ("sndbuf_max_bytes", 87040),
        # 20 in flight of 1000 B in 20 ms are 1 MB/s, a window of 10 in 10 ms likewise.
        ("pacing_ratio_max", 2),
        ("pacing_ratio_min", 1.2),
        ("delivery_rate_p50_bps", 16_000),
    ],
)
def test_what_sockets_tell(tmp_path: Path, metric: str, value: float) -> None:
    assert found(sockets(tmp_path), metric) == {"flow:long": pytest.approx(value)}


def test_what_algorithms_tell(tmp_path: Path) -> None:
    info = make.tcp_info([MS, 2 * MS, 3 * MS], cc=b"bbr", rtt=1000)
    told = [(0, 0, 0, 0, 0), (125_000, 0, 20_000, 739, 739), (250_000, 0, 30_000, 192, 512)]
    info["ccinfo"] = np.array([np.array(one, "<u4").tobytes() for one in told], "V20")
    record = make.record(tmp_path / "run", {"tcp_info": info})
    assert found(record, "bbr_pacing_gain_max") == {"flow:long": pytest.approx(2 / np.log(2), rel=1e-3)}
    assert found(record, "bbr_pacing_gain_min") == {"flow:long": 0.75}
    assert found(record, "bbr_min_rtt_max_us") == {"flow:long": 30_000}
    assert found(record, "bbr_bandwidth_p50_bps") == {"flow:long": 1_500_000}
    assert found(record, "dctcp_alpha_mean") == {}, "it is another algorithm"


def test_the_stack_counts_on_all_hosts(tmp_path: Path) -> None:
    counters = {"s1": {"TcpExt.TCPLossProbes": 2}, "r1": {"TcpExt.TCPLossProbes": 1}}
    record = make.record(tmp_path / "run", result={"counters": counters})
    assert found(record, "loss_probes") == {"total": 3}
    assert found(record, "window_probes") == {"total": 0}


@pytest.mark.parametrize(
    ("metric", "counters"),
    [
        ("rehashes", ["TcpTimeoutRehash", "TcpDuplicateDataRehash", "TCPPLBRehash"]),
        ("keepalive_probes", ["TCPKeepAlive"]),
        ("fastopens", ["TCPFastOpenActive", "TCPFastOpenPassive"]),
        (
            "fastopen_failures",
            ["TCPFastOpenActiveFail", "TCPFastOpenPassiveFail", "TCPFastOpenListenOverflow"],
        ),
        ("fastopen_cookies", ["TCPFastOpenCookieReqd"]),
        ("syn_cookies", ["SyncookiesSent"]),
        ("syn_cookies_returned", ["SyncookiesRecv"]),
        ("refused_syns", ["ListenDrops"]),
        ("buffer_prunes", ["PruneCalled"]),
        ("collapsed_segments", ["TCPRcvCollapsed"]),
        ("pruned_segments", ["RcvPruned", "OfoPruned", "TCPRcvQDrop"]),
        ("time_waits", ["TW", "TWKilled"]),
        ("time_wait_overflows", ["TCPTimeWaitOverflow"]),
        ("time_waits_reused", ["TWRecycled"]),
    ],
)
def test_each_of_its_counters_is_in_its_metric(tmp_path: Path, metric: str, counters: list[str]) -> None:
    told = {f"TcpExt.{name}": 10**place for place, name in enumerate(counters)}
    record = make.record(tmp_path / "run", result={"counters": {"s1": told}})
    assert found(record, metric) == {"total": sum(10**place for place in range(len(counters)))}


@pytest.mark.parametrize(
    ("release", "value"),
    [("5.10.262", None), ("5.17.0-rc1", None), ("5.18.0", 42), ("6.1.192", 42), ("", 42)],
)
def test_an_old_kernel_does_not_tell_who_waits(tmp_path: Path, release: str, value: float | None) -> None:
    """It counts a connection when its wait ends, a minute later."""
    result = {"counters": {"s1": {"TcpExt.TW": 40, "TcpExt.TWKilled": 2}}, "kernel": {"release": release}}
    record = make.record(tmp_path / "run", result=result)
    assert found(record, "time_waits") == {"total": value}


def test_resets_are_counted_where_they_are_sent(tmp_path: Path) -> None:
    counters = {"s1": {"Tcp.OutRsts": 2, "Tcp.EstabResets": 7}, "r1": {"Tcp.OutRsts": 1}}
    record = make.record(tmp_path / "run", result={"counters": counters})
    assert found(record, "resets_sent") == {"total": 3}


def test_the_window_that_the_receiver_tells_of(tmp_path: Path) -> None:
    told = make.tcp_info([MS, 2 * MS], side=1, rcv_wnd=[65_535, 70_000])
    record = make.record(tmp_path / "run", {"tcp_info": told})
    assert found(record, "rwnd_told_max_bytes") == {"flow:long": 70_000}


def test_marks_that_were_echoed_over_those_that_came(tmp_path: Path) -> None:
    counters = {"s1": {"TcpExt.TCPDeliveredCE": 12}, "r1": {"IpExt.InCEPkts": 3, "Ip6.InCEPkts": 1}}
    record = make.record(tmp_path / "run", result={"counters": counters})
    assert found(record, "ce_echo_ratio") == {"total": 3}
    unmarked = {"s1": {"TcpExt.TCPDeliveredCE": 0}}
    record = make.record(tmp_path / "unmarked", result={"counters": unmarked})
    assert found(record, "ce_echo_ratio") == {}
    flows = [make.flow(), make.flow(kind="udp", name="probe")]
    record = make.record(tmp_path / "mixed", flows=flows, result={"counters": counters})
    assert found(record, "ce_echo_ratio") == {}


def test_acks_per_segment(tmp_path: Path) -> None:
    acks = probe([1, 2], [10, 10], [INFINITE] * 2, [0, 2])
    record = make.record(
        tmp_path / "run", {"tcp_probe": acks, "tcp_info": make.tcp_info([MS], side=1, data_segs_in=4)}
    )
    assert found(record, "acks_per_segment") == {"flow:long": 0.5}


def test_segments_per_packet_counts_super_packets_once(tmp_path: Path) -> None:
    # 10 packets had left before; the last reading of the device is later than that of the socket.
    device = make.rows(make.INTERFACE, t_ns=[0, MS, 2 * MS, 3 * MS], end=0, tx_packets=[10, 20, 30, 99])
    info = make.tcp_info([MS, 2 * MS], data_segs_out=[40, 80])
    record = make.record(tmp_path / "run", {"interface": device, "tcp_info": info})
    assert found(record, "segments_per_packet") == {"flow:long": 4}


def test_without_the_event_the_samples_show_the_state(tmp_path: Path) -> None:
    info = make.tcp_info([MS, 2 * MS, 3 * MS, 4 * MS], ca_state=[OPEN, RECOVERY, RECOVERY, OPEN])
    record = make.record(tmp_path / "run", {"tcp_info": info})
    assert found(record, "window_reductions") == {"flow:long": 1}
    assert found(record, "recovery_time_ms") == {"flow:long": 2}
