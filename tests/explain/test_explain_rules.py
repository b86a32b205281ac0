"""The rules on evidence made by hand: every cause by its own numbers, and what a healthy flow is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sentences import is_said

from rushhour.causes.evidence import OPTION_SACK, OPTION_WSCALE
from rushhour.causes.rules import RULES
from rushhour.explain import LIMITS, RecordedFlow, findings
from rushhour.explain.evidence import Other
from rushhour.explain.traffic import Beside
from rushhour.quantities.short import percent, rate, rounded_up, size, time
from rushhour.series.waits import Wait

FLOW = RecordedFlow(
    name="bulk",
    sender="a",
    receiver="b",
    cc="cubic",
    length_s=10.0,
    goodput_bps=20e6,
    shares={"receiver": 0.9, "slow_start": 0.1},
    timeline=None,
    possible_bps=100e6,
    base_rtt_s=0.1,
    window=250_000.0,
    rcvbuf=500_000.0,
    sndbuf=500_000.0,
    inflight=250_000.0,
)


def test_every_limit_has_rules_and_every_rule_a_limit() -> None:
    assert {*RULES} == {*LIMITS}


def test_a_receive_buffer_is_proposed_by_what_part_of_it_becomes_window() -> None:
    (first, *_) = findings(FLOW)
    assert first.cause == "receive_buffer"
    assert first.remedy is not None
    # 1.25 MB of BDP, half of the buffer is window, half as much again to spare: 3.75 MB, two digits: 3.8 MB.
    assert first.remedy.command == "sysctl -w net.ipv4.tcp_rmem='4096 131072 3800000'"
    # At least 85 % of the path, less the round trips in which the window grows to it.
    assert first.remedy.expected_bps == 78.8e6
    assert (
        "The receive buffer of b is too small: for 90 % of the time its window of 250 kB was full"
        in first.says
    )


def test_a_socket_option_is_answered_with_half_because_the_kernel_doubles_it() -> None:
    (first, *_) = findings(replace(FLOW, asked={"rcvbuf": 250_000.0}))
    assert first.remedy is not None
    assert first.remedy.overrides == {"flow.bulk.rcvbuf": "1900000B"}


def test_without_window_scaling_no_buffer_helps() -> None:
    (first, *_) = findings(replace(FLOW, options=OPTION_SACK, window=65535.0))
    assert first.cause == "window_scaling"


@pytest.mark.parametrize(
    ("hole", "command"),
    [
        (1400, "sysctl -w net.ipv4.tcp_mtu_probing=2"),
        (700, "sysctl -w net.ipv4.tcp_mtu_probing=2 && sysctl -w net.ipv4.tcp_base_mss=628"),
    ],
)
def test_a_search_for_the_size_begins_below_a_black_hole(hole: int, command: str) -> None:
    (first, *_) = findings(replace(FLOW, shares={"timeouts": 1.0}, timeouts=5, retransmits=40, hole=hole))
    assert first.remedy is not None
    assert first.remedy.command == command


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"wire_loss": 0.01, "segments": 1000, "retransmits": 10}, "random_loss"),
        ({"retransmits": 10, "duplicates": 9, "wire_loss": 0.001, "segments": 9000}, "reordering"),
        ({"retransmits": 2, "duplicates": 383, "wire_loss": 0.002, "segments": 1700}, "random_loss"),
        # Nine of ten were loss probes whose answers were late: nothing was overtaken.
        (
            {"retransmits": 10, "duplicates": 9, "unprompted": 9, "wire_loss": 0.001, "segments": 1000},
            "random_loss",
        ),
        ({"retransmits": 10, "queue_drops": 10, "options": OPTION_WSCALE}, "sack"),
        ({"retransmits": 10, "queue_drops": 10, "buffer": 15_000.0}, "shallow_buffer"),
        ({"retransmits": 10, "queue_drops": 10, "buffer": 2e6}, "losses"),
        ({"retransmits": 10, "policed": 10, "policer_bps": 30e6}, "policer"),
        ({"retransmits": 10, "damaged": 10}, "corruption"),
        ({"retransmits": 10, "refused": 3}, "refused"),
        ({"retransmits": 10, "refused": 2, "queue_drops": 8, "buffer": 2e6}, "losses"),
    ],
)
def test_what_losses_come_from(change: dict[str, float], cause: str) -> None:
    (first, *_) = findings(replace(FLOW, shares={"losses": 1.0}, **change))  # type: ignore[arg-type]
    assert first.cause == cause
    assert is_said(first), first


@pytest.mark.parametrize(
    ("other", "cause"),
    [
        (Other("rival", "bbr", 90e6, 0.1), "other_algorithm"),
        (Other("near", "cubic", 90e6, 0.01), "longer_path"),
        (Other("twin", "cubic", 90e6, 0.1), "unequal"),
        (Other("twin", "cubic", 60e6, 0.1), "path"),
    ],
)
def test_who_has_the_rest_of_a_full_path(other: Other, cause: str) -> None:
    got = 100e6 - other.goodput_bps
    assert findings(replace(FLOW, shares={"path": 1.0}, goodput_bps=got, others=(other,)))[0].cause == cause


def test_a_healthy_flow_gets_no_advice() -> None:
    healthy = replace(FLOW, shares={"path": 0.97, "slow_start": 0.03}, goodput_bps=96e6, queue_s=0.005)
    (only,) = findings(healthy)
    assert (only.cause, only.remedy) == ("path", None)


def test_a_remedy_that_promises_no_more_than_there_is_is_not_offered() -> None:
    shared = replace(FLOW, goodput_bps=60e6, others=(Other("twin", "cubic", 30e6, 0.1),))
    assert findings(shared)[0].remedy is None


UPLINK = Wait("home → isp", True, 0.4, 1.0, 800_000.0, "fifo", "link.home-isp.forward.queue", ("up",), 1)


def test_a_queue_of_the_acks_gets_the_advice_not_that_of_the_data() -> None:
    slow = replace(FLOW, shares={"acks": 0.9, "path": 0.1}, waits=(UPLINK,), queue_s=0.4)
    (first, *_) = findings(slow)
    assert (first.cause, first.where) == ("ack_queue", "home → isp")
    assert first.remedy is not None
    assert first.remedy.overrides == {"link.home-isp.forward.queue": "fq_codel"}
    assert "Its ACKs waited 400 ms in the queue at home → isp" in first.says
    assert "its data did not wait. What fills that queue is up." in first.says


def test_a_limit_behind_another_is_told_and_its_advice_holds_both() -> None:
    both = replace(
        FLOW, shares={"receiver": 1.0}, asked={"rcvbuf": 250_000.0, "sndbuf": 500_000.0}, sndbuf=1_000_000.0
    )
    first, second = findings(both)
    assert (first.cause, second.cause) == ("receive_buffer", "send_buffer")
    assert "Behind that, the send buffer allows bulk about 32 Mbit/s" in second.says
    assert first.says.startswith("bulk reached 20 Mbit/s of 100 Mbit/s. The receive buffer of b is too small")
    assert first.remedy is not None
    assert second.remedy is not None
    assert first.remedy.overrides == {"flow.bulk.rcvbuf": "1900000B"}
    assert second.remedy.overrides.keys() == {"flow.bulk.rcvbuf", "flow.bulk.sndbuf"}
    assert FLOW.goodput_bps < (first.remedy.expected_bps or 0) < (second.remedy.expected_bps or 0)


def test_while_acks_wait_nothing_else_is_promised() -> None:
    small = replace(FLOW, waits=(replace(UPLINK, rate_bps=8e6),))
    first, second, *_ = findings(small)
    assert (first.cause, second.cause) == ("receive_buffer", "ack_queue")
    assert first.remedy is not None
    assert second.remedy is not None
    assert (first.remedy.expected_bps, first.remedy.overrides) == (None, {})
    assert "Follow it together with what comes next." in first.remedy.advice
    assert second.remedy.expected_bps == 55.5e6
    assert second.remedy.overrides.keys() == {"sysctl.net.ipv4.tcp_rmem", "link.home-isp.forward.queue"}


def test_traffic_that_does_not_give_way_is_named_and_is_no_part_of_an_equal_share() -> None:
    beside = (Beside("video", "udp", 60e6), Beside("shop", "arrivals", 5e6))
    (only,) = findings(replace(FLOW, shares={"path": 1.0}, goodput_bps=33e6, beside=beside))
    assert only.cause == "others"
    assert (
        "33 Mbit/s of 100 Mbit/s, beside video (udp) with 60 Mbit/s and shop (arrivals) with 5" in only.says
    )
    assert "nothing else limits" not in only.says
    assert replace(FLOW, beside=beside).fair_bps == pytest.approx(35e6)


def test_a_lost_syn_is_the_handshakes() -> None:
    slow = replace(FLOW, shares={"handshake": 0.9, "slow_start": 0.1}, handshake_s=3.1, syns=2, length_s=0.35)
    first, second = findings(slow)
    assert first.cause == "handshake"
    assert "took 3.1 s of 3.45 s in all" in first.says
    assert "sent again 2 times" in first.says
    assert "A lost SYN sets the slow-start threshold" in second.says
    # What it reached is said once.
    assert [one.says.count("bulk reached 20 Mbit/s of 100 Mbit/s.") for one in (first, second)] == [1, 0]


def test_a_syn_that_only_had_far_to_go_was_not_lost() -> None:
    shares = {"handshake": 0.9, "slow_start": 0.1}
    far = replace(FLOW, shares=shares, handshake_s=2.01, base_rtt_s=2.01, syns=1, length_s=0.35)
    first, second = findings(far)
    assert "the round trip of 2.01 s is longer than the first timeout of a SYN, 1 s" in first.says
    assert first.remedy is not None
    assert "Repair the link" not in first.remedy.advice
    assert "A lost SYN" not in second.says
    (lost, *_) = findings(replace(far, handshake_s=5.01, syns=3))
    assert "sent again 3 times" in lost.says


def test_a_queue_that_is_too_quick_for_the_path_gets_an_interval_that_fits() -> None:
    quick = replace(
        FLOW, shares={"losses": 1.0}, base_rtt_s=0.3, queue="codel ecn", queue_key="topology.queue",
        queue_drops=5, retransmits=5, segments=9000,
    )  # fmt: skip
    (first, *_) = findings(quick)
    assert first.cause == "impatient_queue"
    assert first.remedy is not None
    assert first.remedy.overrides == {"topology.queue": "codel ecn target 15ms interval 300ms"}


def test_a_copy_of_a_flow_is_changed_by_the_name_that_the_scenario_has() -> None:
    copy = replace(FLOW, name="bulk.2", group="bulk", asked={"rcvbuf": 250_000.0})
    (first, *_) = findings(copy)
    assert first.remedy is not None
    assert first.remedy.overrides == {"flow.bulk.rcvbuf": "1900000B"}


def test_numbers_are_said_as_people_write_them() -> None:
    assert (rate(18.34e6), size(229_000), time(0.0429)) == ("18.3 Mbit/s", "229 kB", "42.9 ms")
    assert (percent(0), percent(0.0042), percent(0.031), percent(0.97)) == ("0 %", "0.42 %", "3.1 %", "97 %")
    assert (percent(5.4e-7), percent(1e-6)) == ("0.000054 %", "0.0001 %")
    assert (rate(999.7e6), rate(0)) == ("1000 Mbit/s", "0 bit/s")
    assert [rounded_up(value) for value in (0.2, 7.1, 101, 3_750_001)] == [1, 8, 110, 3_800_000]


POLICED = replace(
    FLOW, shares={"losses": 1.0}, retransmits=10, policed=10, policer_bps=30e6, bucket=20_000.0,
    burst_key="topology.police.burst",
)  # fmt: skip


def test_a_policer_that_passes_a_bdp_at_once_is_the_other_way_to_pacing() -> None:
    (first, *_) = findings(POLICED)
    assert first.remedy is not None
    assert first.remedy.overrides == {"flow.bulk.pacing": "28500000bit"}
    # 30 Mbit/s over 100 ms, two digits.
    assert first.remedy.instead == {"topology.police.burst": "380000B"}
    assert "380 kB, one BDP" in first.remedy.advice
    # 80 % of what is policed, less the round trips in which the window grows to it.
    assert first.remedy.expected_bps is not None
    assert 0.7 * 30e6 < first.remedy.expected_bps < 0.8 * 30e6
    # On a short path ten packets, which a sender begins with; a size, no fraction of a byte.
    (short, *_) = findings(replace(POLICED, base_rtt_s=0.001, bucket=3000.0))
    assert short.remedy is not None
    assert short.remedy.instead == {"topology.police.burst": "15140B"}
    (large, *_) = findings(replace(POLICED, bucket=500_000.0))
    assert large.remedy is not None
    assert large.remedy.instead == {}
    assert "burst" not in large.remedy.advice


def test_what_is_set_instead_holds_what_was_set_before() -> None:
    held = replace(
        POLICED, shares={"receiver": 0.8, "losses": 0.2}, asked={"rcvbuf": 250_000.0}, goodput_bps=2e6
    )
    found = {one.cause: one.remedy for one in findings(held)}
    remedy = found["policer"]
    assert remedy is not None
    rcvbuf, burst, pacing = "flow.bulk.rcvbuf", "topology.police.burst", "flow.bulk.pacing"
    assert set(remedy.overrides) == {rcvbuf, pacing}
    assert set(remedy.instead) == {rcvbuf, burst}


def test_a_transfer_that_fits_the_queue_does_not_overflow_it() -> None:
    short = replace(FLOW, shares={"receiver": 0.9}, buffer=60_000.0, buffer_key="topology.buffer")
    assert "shallow_buffer" in {one.cause for one in findings(short)}
    assert "shallow_buffer" not in {one.cause for one in findings(replace(short, asked={"bytes": 20_000.0}))}


def test_a_longer_round_trip_leaves_less_of_a_share() -> None:
    beside = replace(
        FLOW, shares={"receiver": 0.9}, goodput_bps=2e6, others=(Other("near", "cubic", 5e7, 0.1),)
    )
    far = replace(beside, others=(Other("near", "cubic", 5e7, 0.025),))
    (equal, *_), (longer, *_) = findings(beside), findings(far)
    assert equal.remedy is not None
    assert longer.remedy is not None
    assert (longer.remedy.expected_bps or 0) < 0.3 * (equal.remedy.expected_bps or 0)


def test_on_a_long_path_a_managed_queue_without_a_promise_is_no_set() -> None:
    full = replace(
        FLOW, shares={"path": 1.0}, goodput_bps=50e6, queue="bfifo", queue_key="topology.queue", queue_s=0.2,
        beside=(Beside("video", "udp", 40e6),),
    )  # fmt: skip
    (long, *_) = (one for one in findings(full) if one.cause == "bufferbloat")
    assert long.remedy is not None
    assert (long.remedy.overrides, "costs part of the rate" in long.remedy.advice) == ({}, True)
    (near, *_) = (one for one in findings(replace(full, base_rtt_s=0.02)) if one.cause == "bufferbloat")
    assert near.remedy is not None
    assert near.remedy.overrides.keys() == {"topology.queue"}


def test_a_lossy_path_whose_round_trip_is_not_known_is_explained() -> None:
    lossy = replace(
        FLOW, shares={"losses": 1.0}, base_rtt_s=None, wire_loss=0.001, segments=9000, retransmits=10,
        mss=1448.0, queue_drops=40, buffer=15_000.0,
    )  # fmt: skip
    assert [one.cause for one in findings(lossy)] == ["losses"]


FLOODED = replace(
    FLOW, shares={"timeouts": 0.9}, retransmits=40, timeouts=12, segments=400, queue_drops=900,
    goodput_bps=1e6, bottleneck="left → right",
)  # fmt: skip


@pytest.mark.parametrize(
    ("beside", "advice"),
    [
        ((), "Fewer senders at a time"),
        ((Beside("video", "udp", 10e6),), "Fewer senders at a time"),
        ((Beside("web", "arrivals", 90e6),), "Fewer senders at a time"),  # TCP, that gives way
        (
            (Beside("flood", "udp", 90e6),),
            "Limit the datagrams of flood, which answer neither losses nor marks",
        ),
        ((Beside("a", "udp", 40e6), Beside("b", "udp", 40e6)), "Limit the datagrams of a and b"),
    ],
)
def test_senders_are_too_many_only_where_no_stream_of_datagrams_fills_the_queue(
    beside: tuple[Beside, ...], advice: str
) -> None:
    (first, *_) = findings(replace(FLOODED, beside=beside))
    assert first.cause == "timeouts"
    assert first.remedy is not None
    assert first.remedy.advice.startswith(advice)


@pytest.mark.parametrize(("given", "least", "shorter"), [("", "200 ms", True), ("5000", "5 ms", False)])
def test_the_least_timeout_is_the_one_that_the_scenario_sets(
    given: str, least: str, *, shorter: bool
) -> None:
    sysctls = {"a": {"net.ipv4.tcp_rto_min_us": given}} if given else {}
    (first, *_) = findings(replace(FLOODED, sysctls=sysctls))
    assert first.remedy is not None
    assert f"each of {least} and more" in first.says
    assert ("rto_min" in first.remedy.advice) == shorter


MARKED = replace(FLOW, shares={"marks": 0.95}, marked=140, ack_loss=0.4)


def test_marks_that_a_sender_assumes_are_not_the_queues() -> None:
    (first, second) = findings(replace(MARKED, came_marked=44))
    assert (first.cause, second.cause) == ("marks_assumed", "ack_loss")
    assert "a took 140 segments for marked, and 44 came marked." in first.says
    assert first.remedy is not None
    assert first.remedy.advice == "Repair the way back, on which ACKs are lost or thinned."


def test_the_option_of_accurate_ecn_is_advised_where_it_is_off() -> None:
    off = {"b": {"net.ipv4.tcp_ecn_option": "0"}}
    (first, *_) = findings(replace(MARKED, came_marked=44, sysctls=off))
    assert first.remedy is not None
    assert first.remedy.overrides == {"sysctl.net.ipv4.tcp_ecn_option": "2"}


@pytest.mark.parametrize("came", [None, 140, 100])  # RFC 3168; every one counted; most of them
def test_marks_that_came_are_the_queues(came: int | None) -> None:
    (first, *_) = findings(replace(MARKED, came_marked=came))
    assert first.cause == "marks"


READS = replace(FLOW, asked={"read_bps": 20.5e6}, retransmits=40, refused=12, segments=4000)


def test_who_has_all_that_the_reader_takes_is_told_so_first_whatever_came_of_it() -> None:
    (first, second) = findings(replace(READS, shares={"timeouts": 0.8, "reader": 0.09}))
    assert (first.cause, second.cause) == ("slow_reader", "refused")
    assert first.says == "bulk had 20 Mbit/s, which is all that the receiving application allows."
    assert first.remedy is not None
    assert first.remedy.overrides.keys() == {"flow.bulk.read_rate"}


def test_a_reader_that_would_take_more_is_told_after_what_held() -> None:
    (first, second) = findings(replace(READS, shares={"timeouts": 0.8}, asked={"read_bps": 40e6}))
    assert (first.cause, second.cause) == ("refused", "slow_reader")
    assert second.says == "Behind that, the receiving application allows bulk at most 40 Mbit/s."


def test_what_allows_no_more_than_there_was_is_not_behind_that() -> None:
    dead = replace(FLOW, shares={"timeouts": 0.9}, retransmits=3, segments=30, wire_loss=0.2, queue_drops=2)
    said = [found.says for found in findings(dead)]
    assert not any("Behind that" in one for one in said)
    assert (
        "; 20 % of its packets were lost on the way." in said[0]
    )  # two were dropped by a queue, six on the way


HELD_DOWN = replace(
    FLOW,
    shares={"losses": 0.95},
    possible_bps=24e6,
    policed=80,
    policer_bps=25e6,
    retransmits=80,
    segments=9000,
)


def test_who_has_what_a_policer_lets_through_has_no_window_that_is_too_small() -> None:
    (first, *_) = findings(replace(HELD_DOWN, goodput_bps=23.9e6))
    assert first.cause == "policer"
    assert first.says.endswith("it dropped 80 packets, and bulk had 100 % of what it lets through.")


def test_who_has_less_than_a_policer_lets_through_has_a_window_that_is_too_small() -> None:
    (first, *_) = findings(HELD_DOWN)
    assert "and for 95 % of the time the window was too small for what it lets through." in first.says


def test_a_timeout_that_came_too_soon_is_put_down_to_no_loss() -> None:
    slow = replace(FLOW, shares={"timeouts": 0.9}, retransmits=2, segments=2, timeouts=1, all_came=True)
    (first, *_) = findings(slow)
    assert first.says.endswith("nothing was lost: the round trip had become longer than the timeout.")
    assert first.remedy is not None
    assert "Repair the link" not in first.remedy.advice
    (other, *_) = findings(replace(slow, all_came=False))  # as where a router has no route
    assert "nothing was lost" not in other.says
    (refused, *_) = findings(replace(slow, ack_loss=0.2))
    assert "nothing was lost" not in refused.says


def test_no_window_held_what_was_sent_at_once() -> None:
    short = replace(FLOW, shares={"handshake": 0.67, "slow_start": 0.33}, handshake_s=0.1, mss=1448.0)
    assert [found.cause for found in findings(replace(short, moved=14480))] == ["handshake"]
    assert "slow_start" in [found.cause for found in findings(replace(short, moved=14481))]


def test_the_time_whose_share_slow_start_had_begins_with_the_handshake() -> None:
    slow = replace(FLOW, shares={"slow_start": 0.8, "handshake": 0.2}, handshake_s=0.2, length_s=0.8)
    (found,) = (one for one in findings(slow) if one.cause == "slow_start")
    assert "in slow start for 80 % of its time (1 s in all)" in found.says


def test_one_is_no_several() -> None:
    once = replace(HELD_DOWN, policed=1, retransmits=1)
    assert "it dropped 1 packet," in findings(once)[0].says
    assert "43 segments were taken" in findings(replace(MARKED, marked=43))[0].says
    assert "1 segment was taken" in findings(replace(MARKED, marked=1))[0].says


@pytest.mark.parametrize(("cc", "advised"), [("cubic", True), ("dctcp", False)])
def test_dctcp_is_advised_to_who_does_not_send_with_it(cc: str, *, advised: bool) -> None:
    (first, *_) = findings(replace(MARKED, cc=cc, ack_loss=0.0))
    assert first.remedy is not None
    assert ("send with dctcp" in first.remedy.advice) == advised
