"""Findings on measurements: one for each cause, with what a person needs to act on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sentences import is_said

from rushhour.causes.ranking import folded
from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.case import Case
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.measured import Cpu, Measured, Sizes, Tcp, Train, Udp
from rushhour.diagnosis.rules import measured_limits, measured_path

if TYPE_CHECKING:
    from rushhour.causes.finding import Finding

MS = 1_000_000
A = Facts(
    "alice", {"link": {"dev": "eth0", "mtu": 1500}, "sysctl": {"net.ipv4.tcp_rmem": [4096, 87380, 200000]}}
)
B = Facts("bob", {"link": {"dev": "eth1", "mtu": 1500}, "sysctl": {"net.ipv4.tcp_sack": 0}})
FULL = Tcp(
    seconds=1, goodput_bps=90e6, steady_bps=95e6, peak_bps=96e6, shares={"path": 0.9, "slow_start": 0.1},
    segments=8000, retransmits=10, rtt_ns=(20 * MS, 30 * MS, 39 * MS), loaded_rtt_ns=30 * MS,
    loaded_p95_ns=39 * MS, cwnd=500_000, window=2_000_000, inflight=480_000, rcvbuf=4_000_000,
    sndbuf=1_500_000,
    mss=1448, pmtu=1500, options=7, cc="cubic",
)  # fmt: skip
SOUND = Measured(
    "a→b", idle_rtt_ns=20 * MS, idle_rtt_p95_ns=21 * MS, ping_loss=0.0, sizes=Sizes(1500), single=FULL,
    train=Train(192, 192, 98e6), several=FULL, udp=Udp(75e6, 75e6, 2500, 2500),
)  # fmt: skip


def slow(limit: str, **keys: Any) -> Measured:
    """One flow held back by one limit, several flows that fill the path."""
    flow = replace(FULL, goodput_bps=15e6, steady_bps=15e6, peak_bps=16e6, shares={limit: 0.95}, **keys)
    return replace(SOUND, single=flow)


def found(m: Measured) -> list[Finding]:
    back = replace(SOUND, direction="b→a")
    return list(measured_limits.limits(Case(A, B, {"a→b": m, "b→a": back})))


def test_a_sound_path_has_a_rate_and_no_finding() -> None:
    assert [cause.key for cause in causes(SOUND)] == ["path-rate"]
    case = Case(A, B, {"a→b": SOUND, "b→a": replace(SOUND, direction="b→a")})
    rules = [getattr(measured_path, name) for name in
             ("bufferbloat", "asymmetry", "half_duplex", "large_packets", "other_loss")]  # fmt: skip
    assert [*measured_limits.limits(case), *(one for rule in rules for one in rule(case))] == []


def test_a_receive_buffer_is_raised_at_the_receiver_to_what_the_path_holds() -> None:
    [finding] = found(slow("receiver", window=40_000, rcvbuf=65536, inflight=39_000))
    assert (finding.key, finding.where, finding.severity) == ("receive-buffer-too-small", "b", "critical")
    [command] = finding.fix
    least, usual, most = map(int, command.text.partition("'")[2].rstrip("'").split())
    # What becomes window is 40000 of 65536; the path holds 96 Mbit/s · 20 ms.
    assert command.end == "b"
    assert least <= usual <= most
    assert most * 40_000 / 65536 > 96e6 * 0.020 / 8


def test_a_full_window_of_64_kib_without_scaling_is_the_scaling() -> None:
    [finding] = found(slow("receiver", window=65535, options=0))
    assert finding.key == "window-scaling-off"
    assert {command.end for command in finding.fix} == {"a", "b"}


def offering(facts: Facts) -> Facts:
    """An end that offers what options it has."""
    on = dict.fromkeys(("net.ipv4.tcp_sack", "net.ipv4.tcp_window_scaling"), 1)
    return Facts(facts.place, {**facts.sections, "sysctl": on})


@pytest.mark.parametrize(
    ("m", "key", "option"),
    [
        (slow("receiver", window=65535, options=0), "window-scaling-off", "wscale"),
        (slow("losses", retransmits=100, options=5), "sack-off", "sackOK"),
    ],
)
def test_an_option_that_both_ends_offer_was_taken_out_on_the_way(m: Measured, key: str, option: str) -> None:
    case = Case(offering(A), offering(B), {"a→b": m, "b→a": replace(SOUND, direction="b→a")})
    [finding] = measured_limits.limits(case)
    assert (finding.key, finding.where, finding.layer) == (key, "a→b", "path")
    assert option in finding.title
    # To set what is set already would mend nothing.
    assert [command.text.split()[0] for command in finding.fix] == ["tcpdump", "tcpdump"]


@pytest.mark.parametrize(
    ("m", "key", "where"),
    [
        (slow("sndbuf", inflight=30_000, sndbuf=65536), "send-buffer-too-small", "a"),
        (slow("application"), "slow-writer", "a"),
        (slow("reader", unread=300_000), "slow-reader", "b"),
        (replace(slow("reader"), cpu={"b": Cpu(2, 0.97, 0.6)}), "cpu-busy", "b"),
        (replace(slow("reader"), cpu={"b": Cpu(2, 0.3, 0.2, throttled=0.4)}), "cpu-quota", "b"),
        (replace(slow("losses", retransmits=90), udp=Udp(75e6, 74e6, 2500, 2475)), "random-loss", "a→b"),
        (
            replace(
                slow("losses", retransmits=90, reorder_events=900),
                udp=Udp(75e6, 75e6, 2500, 2500, reordered=0.1),
            ),
            "reordering",
            "a→b",
        ),
        (replace(slow("losses", retransmits=300), line=Udp(88e6, 20e6, 1000, 300)), "policer", "a→b"),
        (replace(slow("losses", retransmits=100), train=Train(192, 40, 98e6)), "shallow-queue", "a→b"),
        (slow("losses", retransmits=100, options=5), "sack-off", "a→b"),
        (slow("losses", retransmits=100), "losses", "a→b"),
        (
            replace(slow("losses", retransmits=90), counters={"b": {"Tcp.InCsumErrors": 40}}),
            "corruption",
            "a→b",
        ),
    ],
)
def test_each_cause_has_its_finding(m: Measured, key: str, where: str) -> None:
    findings = found(m)
    assert [(finding.key, finding.where) for finding in findings] == [(key, where)]
    finding = findings[0]
    # What held our own sender or reader back says how far to trust a number; nothing of the path is broken.
    measuring = key in ("slow-writer", "slow-reader", "cpu-busy")
    assert finding.severity in (("warning",) if measuring else ("critical", "warning"))
    assert ("Our own" in finding.title) == (key in ("slow-writer", "slow-reader"))
    assert is_said(finding)
    assert finding.fix
    assert finding.source
    assert finding.limited == pytest.approx(0.95)
    assert len(finding.evidence) >= 3


def test_what_shows_random_loss_is_a_whole_sentence() -> None:
    m = replace(slow("losses", retransmits=90), udp=Udp(75e6, 74e6, 2500, 2475))
    [seen] = found(m)
    again = "1.1 % of the segments were sent again"
    below = f"{again}: 1.0 % of datagrams were lost at 75 Mbit/s, below the path's rate"
    assert seen.evidence[0].value == f"{below}, where no queue drops"
    [told] = found(replace(m, single=replace(m.single or FULL, rtt_at_loss_ns=21 * MS)))
    assert told.evidence[0].value == (
        f"{below}, where no queue drops; TCP lost them at a round trip of 21 ms (idle 20 ms), "
        "while the queue holds 19 ms"
    )


def test_blocked_datagrams_say_nothing_of_what_tcp_loses() -> None:
    """Not one came, and TCP works: no loss at random, no policer, no short queue, and no outage."""
    m = replace(
        slow("losses", retransmits=90), udp=Udp(75e6, 0.0, 2500, 0, loss_run=2500.0, gap_ns=MS),
        train=Train(192, 0, None), line=Udp(95e6, 0.0, 900, 0),
    )  # fmt: skip
    assert [cause.key for cause in causes(m)] == ["losses"]
    case = Case(A, B, {"a→b": m, "b→a": replace(SOUND, direction="b→a")})
    assert [one.key for one in measured_path.other_loss(case)] == ["udp-blocked"]
    # Losses of TCP's own before the queue was full are still at random, and nothing is said of echoes.
    [early] = causes(replace(m, single=replace(m.single or FULL, rtt_at_loss_ns=21 * MS)))
    assert early.key == "random-loss"
    assert early.law.endswith(
        "sent again: TCP lost them at a round trip of 21 ms (idle 20 ms), while the queue holds 19 ms"
    )


def test_nothing_at_all_is_told_by_how_much_answers() -> None:
    dead = Tcp(error="no connection was made")
    [gone] = found(Measured("a→b", ping_loss=1.0, single=dead))
    [shut] = found(Measured("a→b", ping_loss=0.0, idle_rtt_ns=MS, single=dead))
    stalled = Tcp(goodput_bps=0, mss=1448, stalled=True, rtt_ns=(MS, MS, MS))
    [hole] = found(Measured("a→b", ping_loss=0.0, idle_rtt_ns=MS, single=stalled, sizes=Sizes(1400, 1420)))
    assert [one.key for one in (gone, shut, hole)] == ["unreachable", "port-blocked", "mtu-black-hole"]
    assert {one.severity for one in (gone, shut, hole)} == {"critical"}
    assert "mtu 1400" in hole.fix[0].text


def test_a_queue_of_seconds_is_bufferbloat_and_one_of_a_round_trip_is_not() -> None:
    long = replace(FULL, loaded_rtt_ns=800 * MS, loaded_p95_ns=900 * MS)
    both = {"a→b": replace(SOUND, single=long), "b→a": replace(SOUND, direction="b→a")}
    [finding] = measured_path.bufferbloat(Case(A, B, both))
    assert (finding.key, finding.where) == ("bufferbloat", "a→b")
    assert finding.severity == "warning"
    assert "dev eth0" in finding.fix[0].text
    # Now and then is no standing queue; one that stands, and spoils no call, is a note.
    burst = replace(FULL, loaded_p95_ns=900 * MS)
    stands = replace(FULL, loaded_rtt_ns=50 * MS, loaded_p95_ns=60 * MS)
    for one, severities in ((burst, []), (stands, ["note"])):
        case = Case(A, B, {"a→b": replace(SOUND, single=one, several=None)})
        assert [found.severity for found in measured_path.bufferbloat(case)] == severities


def test_the_slower_of_two_directions_is_named() -> None:
    half = replace(FULL, goodput_bps=45e6, steady_bps=47e6, peak_bps=48e6)
    back = replace(SOUND, direction="b→a", single=half, several=half, udp=Udp(38e6, 38e6, 2500, 2500))
    [finding] = measured_path.asymmetry(Case(A, B, {"a→b": SOUND, "b→a": back}))
    assert finding.where == "b→a"


def test_a_window_full_of_what_came_behind_a_loss_is_not_the_buffers_fault() -> None:
    shares = {"receiver": 0.75, "losses": 0.05, "path": 0.2}
    tcp = Tcp(goodput_bps=2e6, steady_bps=2e6, segments=1000, retransmits=60, shares=shares, window=593_000,
              options=0, seconds=2.0)  # fmt: skip
    m = Measured("a→b", idle_rtt_ns=20 * MS, single=tcp, several=Tcp(steady_bps=5e7, goodput_bps=5e7))
    found = causes(m)
    assert found[0].key == "sack-off"
    assert found[0].limited == pytest.approx(0.8)
    small = replace(m, single=replace(tcp, window=90_000))
    assert causes(small)[0].key == "receive-buffer-too-small"


def test_a_policers_rate_is_not_what_its_bucket_let_through() -> None:
    m = slow("losses", retransmits=300)
    assert m.single is not None
    limited = replace(m.single, steady_bps=12e6)
    line = Udp(90e6, 72e6, 1000, 200)
    (finding,) = found(
        replace(m, single=limited, several=replace(limited, steady_bps=15.5e6, flows=8), line=line)
    )
    assert finding.key == "policer"
    assert "15.5 Mbit/s" in finding.title


def test_a_full_window_that_is_emptied_late_is_the_readers_fault() -> None:
    """80 kB over 20 ms give 32 Mbit/s: at 6.4 Mbit/s the reader came ten times a second, unseen."""
    m = slow("receiver", window=80_512, rcvbuf=131_072, retransmits=0)
    assert m.single is not None
    late = replace(m, single=replace(m.single, steady_bps=6.4e6, loaded_rtt_ns=20 * MS))
    [finding] = found(late)
    assert (finding.key, finding.where, finding.severity) == ("slow-reader", "b", "warning")
    assert "once in" in finding.evidence[0].value
    prompt = replace(m, single=replace(m.single, steady_bps=30e6, loaded_rtt_ns=20 * MS))
    assert [one.key for one in found(prompt)] == ["receive-buffer-too-small"]
    # What lies behind a hole is not read, either.
    lossy = replace(late, single=replace(late.single or FULL, retransmits=40))
    assert [one.key for one in found(lossy)] == ["receive-buffer-too-small"]


def test_one_loss_does_not_explain_a_window_that_was_full_all_the_time() -> None:
    m = slow("receiver", window=1_000_000, retransmits=1)
    assert [cause.key for cause in causes(m)] == ["slow-reader"]


def test_what_a_slow_reader_left_of_the_trains_was_not_dropped() -> None:
    m = slow("losses", retransmits=100)
    assert found(replace(m, train=Train(192, 40, 98e6)))[0].key == "shallow-queue"
    assert found(replace(m, train=Train(192, 40, 98e6, unread=150)))[0].key == "losses"


def test_losses_at_a_full_queue_are_a_note() -> None:
    m = slow("losses", retransmits=100, rtt_at_loss_ns=36 * MS)
    [full] = found(m)
    assert (full.key, full.severity) == ("losses", "note")
    assert "the queue was full" in full.title
    assert full.fix == ()
    [other] = found(replace(m, single=replace(m.single or FULL, rtt_at_loss_ns=28 * MS)))
    assert (other.key, other.severity) == ("losses", "critical")


def test_few_datagrams_lost_by_a_late_sender_are_no_random_loss() -> None:
    m = slow("losses", retransmits=40, segments=17_000)
    few = Udp(70e6, 70e6, 1940, 1936, loss_run=1.0)
    assert found(replace(m, udp=few))[0].key == "random-loss"
    assert found(replace(m, udp=replace(few, late_ns=30 * MS)))[0].key == "losses"
    # What chance takes is more.
    assert found(replace(m, udp=replace(few, received=1920, late_ns=30 * MS)))[0].key == "random-loss"


@pytest.mark.parametrize("way", ["a→b", "b→a"])
def test_beside_our_own_slow_sender_rates_are_no_critical_finding(way: str) -> None:
    slow_sender, small = slow("application"), slow("receiver", window=40_000, rcvbuf=65536)
    both = {"a→b": slow_sender, "b→a": replace(small, direction="b→a")}
    if way == "a→b":
        shares = {"application": 0.6, "receiver": 0.35}
        both = {"a→b": replace(small, single=replace(small.single or FULL, shares=shares)), "b→a": SOUND}
        both["b→a"] = replace(SOUND, direction="b→a")
    few = folded(measured_limits.limits(Case(A, B, both)))
    assert [one.key for one in few] == ["slow-writer", "receive-buffer-too-small"]
    assert {one.severity for one in few} == {"warning"}
    # That nothing passes at all is no matter of rates.
    dead = {"a→b": slow_sender, "b→a": Measured("b→a", ping_loss=1.0, single=Tcp(error="no connection"))}
    assert folded(measured_limits.limits(Case(A, B, dead)))[0].severity == "critical"


def test_what_our_own_sender_cost_beside_a_greater_limit_is_a_note() -> None:
    small = slow("receiver", window=40_000, rcvbuf=65536)
    shares = {"receiver": 0.55, "application": 0.4}
    few = folded(found(replace(small, single=replace(small.single or FULL, shares=shares))))
    assert [(one.key, one.severity) for one in few] == [
        ("receive-buffer-too-small", "critical"),
        ("slow-writer", "note"),
    ]


def test_losses_that_datagrams_do_not_have_are_no_chance() -> None:
    """0.9 % of 1900 datagrams are seventeen; where none is missing, TCP lost what it lost by itself."""
    m = slow("losses", retransmits=75, rtt_at_loss_ns=22 * MS)
    clean = Udp(70e6, 70e6, 1900, 1900)
    assert found(replace(m, udp=clean))[0].key == "losses"
    rare = replace(m, single=replace(m.single or FULL, retransmits=19, segments=16_056), udp=clean)
    assert found(replace(rare, udp=Udp(66e6, 66e6, 4309, 4309)))[0].key == "losses"
    # Too few to tell.
    assert found(replace(m, udp=replace(clean, sent=200, received=200)))[0].key == "random-loss"


def test_what_hurts_datagrams_alone_is_said_in_the_words_of_its_cause() -> None:
    clean = Udp(75e6, 75e6, 2500, 2500, gap_ns=160_000)
    seen = {
        "datagram-loss": replace(clean, received=2470),
        "outages": replace(clean, received=2300, loss_run=200.0),
        "reordering": replace(clean, reordered=0.05),
        "duplicates": replace(clean, duplicates=125),
    }
    for key, udp in seen.items():
        case = Case(A, B, {"a→b": replace(SOUND, udp=udp), "b→a": replace(SOUND, direction="b→a")})
        [finding] = measured_path.other_loss(case)
        assert (finding.key, finding.severity) == (key, "warning")
        assert is_said(finding), finding.title
        assert finding.title.endswith("though TCP copes.")


def test_a_late_sender_may_lose_what_it_sends_at_once_and_neither_doubles_nor_overtakes() -> None:
    late = Udp(75e6, 75e6, 2500, 2490, gap_ns=160_000, late_ns=30 * MS)
    twice = replace(late, received=2500, duplicates=125)
    overtaken = replace(late, received=2500, reordered=0.83)
    severities: dict[str, str] = {}
    for key, udp in {"datagram-loss": late, "duplicates": twice, "reordering": overtaken}.items():
        assert udp.crowded
        case = Case(A, B, {"a→b": replace(SOUND, udp=udp), "b→a": replace(SOUND, direction="b→a")})
        severities |= {one.key: one.severity for one in measured_path.other_loss(case)}
        assert key in severities
    assert severities == {"datagram-loss": "note", "duplicates": "warning", "reordering": "warning"}
