"""First divergence on made-up tables: what differs first is found, and what is no difference is not."""

from __future__ import annotations

import json
from errno import EHOSTUNREACH, ETIMEDOUT
from typing import TYPE_CHECKING, Any

import builders
import numpy as np
import pytest
from builders import (
    CONG_STATE,
    ERROR_REPORT,
    PING,
    TCP_PROBE,
    TCP_RETRANSMIT,
    UDP,
    end,
    flow,
    qdisc,
    rows,
    tcp_info,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from rushhour.record.record import Record
from rushhour.verdict.alignment import pair
from rushhour.verdict.divergence import first_divergence
from rushhour.verdict.traces import missing

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.verdict.divergence import Divergence

MS = 1_000_000
COUNT = 200


def acks(number: int = 0, *, isn: int = 4_294_000_000, **columns: Any) -> Any:
    """A trace of ACKs, one a millisecond, each for 1448 bytes; the sequence numbers wrap on the way."""
    acked = np.arange(COUNT) * 14480
    made = {
        "t_ns": (np.arange(COUNT) + 1) * MS,
        "flow": number,
        "sport": 33000,
        "snd_una": (isn + acked) % 2**32,
        "snd_nxt": (isn + acked + 20 * 1448) % 2**32,
        "snd_cwnd": 20,
        "ssthresh": 15,
        "snd_wnd": 65535,
        "srtt": 20_000,
        **columns,
    }
    return rows(TCP_PROBE, **made)


SIDES = ("base", "candidate")


def diverged(
    folder: Path,
    base: dict[str, Any],
    candidate: dict[str, Any],
    names: tuple[str, str] = SIDES,
    **more: Any,
) -> Divergence | None:
    before, after = (
        builders.record(folder / side, tables, **more)
        for side, tables in zip(SIDES, (base, candidate), strict=True)
    )
    return first_divergence(before, after, names=names)


def found(folder: Path, base: dict[str, Any], candidate: dict[str, Any], **more: Any) -> Divergence:
    divergence = diverged(folder, base, candidate, **more)
    assert divergence is not None
    assert json.loads(json.dumps(divergence.document())) == divergence.document()
    return divergence


def changed(table: Any, column: str, place: int, value: int) -> Any:
    """The table with one value replaced from a row on."""
    table = table.copy()
    table[column][place:] = value
    return table


def test_equal_runs_have_none(tmp_path: Path) -> None:
    tables = {"tcp_probe": acks(), "tcp_info": tcp_info([MS, 2 * MS]), "qdisc": qdisc([MS])}
    assert diverged(tmp_path, tables, tables) is None


def test_ports_cookies_and_initial_sequence_numbers_do_not_count(tmp_path: Path) -> None:
    other = acks(isn=77, sport=41000, sock_cookie=9, mark=3)
    assert diverged(tmp_path, {"tcp_probe": acks()}, {"tcp_probe": other}) is None


def test_a_window_set_otherwise_is_a_decision_on_the_ack_before(tmp_path: Path) -> None:
    base = changed(changed(acks(), "snd_cwnd", 120, 17), "ssthresh", 120, 17)
    candidate = changed(changed(acks(), "snd_cwnd", 120, 12), "ssthresh", 120, 12)
    states = rows(CONG_STATE, t_ns=[120 * MS], flow=0, cong_state=3)
    one = found(
        tmp_path,
        {"tcp_probe": base, "tcp_cong_state_set": states},
        {"tcp_probe": candidate, "tcp_cong_state_set": states},
    )
    assert (one.kind, one.table, one.flow, one.event, one.t_ns) == (
        "state",
        "tcp_probe",
        "long",
        120,
        120 * MS,
    )
    assert one.differs == ("snd_cwnd", "ssthresh")
    assert one.sentence == (
        "At 0.120000 s, on ACK 120 of flow long, after the loss at byte 1737600, base entered Recovery "
        "and set snd_cwnd 20 → 17 and ssthresh 15 → 17, candidate entered Recovery "
        "and set snd_cwnd 20 → 12 and ssthresh 15 → 12; until then all events were equal to the byte."
    )
    assert one.earlier == ()
    assert one.before["base"] == one.before["candidate"]
    assert one.before["base"][-1]["event"] == "ACK 120"
    assert [row["event"] for row in one.after["base"][:2]] == ["enters Recovery", "ACK 121"]
    assert [side[1]["snd_cwnd"] for side in one.after.values()] == [17, 12]


@pytest.mark.parametrize(
    ("state", "more", "words"),
    [
        (
            3,
            {"qdisc": qdisc([60 * MS, 110 * MS, 130 * MS], drops=[0, 0, 1])},
            "the queue left → right had dropped",
        ),
        (
            3,
            {"qdisc": qdisc([60 * MS, 110 * MS, 130 * MS], drops=[1, 1, 1])},
            "after the loss at byte 1737600,",
        ),
        (4, {}, "after a retransmission timeout at byte 1737600"),
        (2, {}, "after a congestion signal"),
        (2, {"tcp_info": tcp_info([110 * MS, 130 * MS], delivered_ce=[0, 2])}, "after an ECN mark"),
    ],
)
def test_what_both_reacted_to_is_said(tmp_path: Path, state: int, more: dict[str, Any], words: str) -> None:
    shared = {"tcp_cong_state_set": rows(CONG_STATE, t_ns=[120 * MS], flow=0, cong_state=state), **more}
    sides = [{"tcp_probe": changed(acks(), "snd_cwnd", 120, window), **shared} for window in (17, 12)]
    assert words in found(tmp_path, *sides).sentence


def test_sides_are_called_as_asked_and_nodes_and_flows_keep_their_names(tmp_path: Path) -> None:
    drops = qdisc([60 * MS, 110 * MS, 130 * MS], drops=[0, 0, 1])
    lost = {"tcp_cong_state_set": rows(CONG_STATE, t_ns=[120 * MS], flow=0, cong_state=3), "qdisc": drops}
    base, candidate = (
        {"tcp_probe": changed(changed(acks(), "snd_wnd", 30, offered), "snd_cwnd", 120, window), **lost}
        for offered, window in ((65535, 17), (70000, 12))
    )
    ends = {"ends": [end(2, "base → candidate")], "flows": [flow(0, "base")]}
    one = found(tmp_path, base, candidate, names=("aaaaaaaaaaaa", "bbbbbbbbbbbb"), **ends)
    assert one.sentence == (
        "At 0.120000 s, on ACK 120 of flow base, after the loss at byte 1737600 "
        "(the queue base → candidate had dropped), aaaaaaaaaaaa entered Recovery and set snd_cwnd 20 → 17, "
        "bbbbbbbbbbbb entered Recovery and set snd_cwnd 20 → 12. It began earlier: at 0.030000 s, "
        "on ACK 30 of flow base, the receiver offers 65535 bytes in aaaaaaaaaaaa, 70000 in bbbbbbbbbbbb."
    )
    assert set(one.after) == {"base", "candidate"}


def test_a_mere_shift_in_time_is_told_from_a_decision(tmp_path: Path) -> None:
    late = acks()
    late["t_ns"][50:] += 12_000
    one = found(tmp_path / "a", {"tcp_probe": acks()}, {"tcp_probe": late})
    assert (one.kind, one.event) == ("time", 51)
    assert "ACK 51 of flow long came 12 µs later in candidate" in one.sentence
    decided = changed(late, "snd_cwnd", 100, 21)
    one = found(tmp_path / "b", {"tcp_probe": acks()}, {"tcp_probe": decided})
    assert (one.kind, one.event) == ("state", 100)
    assert [(first.kind, first.event) for first in one.earlier] == [("time", 51)]
    assert one.sentence.endswith(
        "It began earlier: at 0.051000 s, ACK 51 of flow long came 12 µs later in candidate."
    )


def test_the_initial_window_is_said_as_such(tmp_path: Path) -> None:
    one = found(tmp_path, {"tcp_probe": acks()}, {"tcp_probe": acks(snd_cwnd=4)})
    assert "flow long begins with snd_cwnd 20 in base, 4 in candidate" in one.sentence
    assert one.before == {"base": [], "candidate": []}


def test_an_offered_window_and_what_had_been_sent_are_lesser_kinds(tmp_path: Path) -> None:
    offered = changed(acks(), "snd_wnd", 30, 70000)
    assert found(tmp_path / "a", {"tcp_probe": acks()}, {"tcp_probe": offered}).kind == "window"
    decided = changed(offered, "snd_cwnd", 60, 30)
    one = found(tmp_path / "b", {"tcp_probe": acks()}, {"tcp_probe": decided})
    assert (one.kind, one.event, one.earlier[0].kind) == ("state", 60, "window")
    assert "the receiver offers 65535 bytes in base, 70000 in candidate" in one.sentence


def test_acknowledgements_in_other_steps_are_said_in_bytes(tmp_path: Path) -> None:
    other = acks()
    other["snd_una"][10:] += 1448
    one = found(tmp_path, {"tcp_probe": acks()}, {"tcp_probe": other})
    assert "ACK 10 of flow long acknowledged 14480 bytes in base, 15928 bytes in candidate" in one.sentence


def test_a_retransmission_that_only_one_side_sends(tmp_path: Path) -> None:
    sent = rows(TCP_RETRANSMIT, t_ns=[40 * MS, 80 * MS], flow=0, state=1)
    one = found(
        tmp_path,
        {"tcp_probe": acks(), "tcp_retransmit_skb": sent},
        {"tcp_probe": acks(), "tcp_retransmit_skb": sent[:1]},
    )
    assert (one.kind, one.table, one.event, one.t_ns) == ("state", "tcp_retransmit_skb", 2, 80 * MS)
    assert "base sent retransmission 2 (in Open) on ACK 80" in one.sentence
    assert "candidate had no further retransmission" in one.sentence
    assert one.before["base"][-1]["event"] == "ACK 80"


def test_events_are_numbered_by_acks_so_that_a_shift_is_none(tmp_path: Path) -> None:
    late = acks()
    late["t_ns"] += 500_000
    sent = rows(TCP_RETRANSMIT, t_ns=[40 * MS], flow=0, state=1)
    shifted = rows(TCP_RETRANSMIT, t_ns=[40 * MS + 500_000], flow=0, state=1)
    base = {"tcp_probe": acks(), "tcp_retransmit_skb": sent}
    one = found(tmp_path / "a", base, {"tcp_probe": late, "tcp_retransmit_skb": shifted})
    assert one.kind == "time"
    moved = rows(TCP_RETRANSMIT, t_ns=[42 * MS + 500_000], flow=0, state=1)
    one = found(tmp_path / "b", base, {"tcp_probe": late, "tcp_retransmit_skb": moved})
    assert (one.kind, one.differs) == ("state", ("acks",))
    assert "base sent retransmission 1 (in Open) on ACK 40" in one.sentence
    assert "candidate sent retransmission 1 (in Open) on ACK 42" in one.sentence


def test_a_timer_that_fires_later_is_a_decision(tmp_path: Path) -> None:
    quiet = acks()
    quiet["t_ns"][100:] += 900 * MS
    timers = [rows(CONG_STATE, t_ns=[100 * MS + wait], flow=0, cong_state=4) for wait in (200 * MS, 300 * MS)]
    one = found(
        tmp_path,
        {"tcp_probe": quiet, "tcp_cong_state_set": timers[0]},
        {"tcp_probe": quiet, "tcp_cong_state_set": timers[1]},
    )
    assert (one.kind, one.table, one.differs) == ("state", "tcp_cong_state_set", ("waited_ns",))
    assert "base entered Loss 200 ms after ACK 100" in one.sentence
    assert "candidate entered Loss 300 ms after ACK 100" in one.sentence


def test_a_timer_that_fires_later_after_the_last_ack_is_a_decision_too(tmp_path: Path) -> None:
    sent = [rows(TCP_RETRANSMIT, t_ns=[400 * MS, t_ms * MS], flow=0, state=1) for t_ms in (800, 1200)]
    one = found(tmp_path, *({"tcp_probe": acks(), "tcp_retransmit_skb": one} for one in sent))
    assert (one.kind, one.event, one.differs) == ("state", 2, ("waited_ns",))
    assert "base sent retransmission 2 (in Open) 600 ms after ACK 200" in one.sentence


def given_up(*t_ms: int, error: int = ETIMEDOUT) -> Any:
    return rows(ERROR_REPORT, t_ns=[t * MS for t in t_ms], flow=0, error=error)


def test_a_connection_that_only_one_side_gives_up(tmp_path: Path) -> None:
    sent = rows(TCP_RETRANSMIT, t_ns=[40 * MS], flow=0, state=1)
    kept = {"tcp_probe": acks(), "tcp_retransmit_skb": sent}
    given = {**kept, "inet_sk_error_report": given_up(2300)}
    one = found(tmp_path / "a", kept, given)
    assert (one.kind, one.table, one.event, one.t_ns) == ("state", "inet_sk_error_report", 1, 2300 * MS)
    said = "base had no further error, candidate ended the connection with ETIMEDOUT 2.1 s after ACK 200"
    assert f"flow long: {said} at 2.300000 s" in one.sentence
    assert one.after["candidate"][0]["event"] == "ends with ETIMEDOUT"
    assert (list(one.after["base"]), one.notes) == ([], ())
    assert found(tmp_path / "b", given, kept).table == "inet_sk_error_report"
    # Without ACKs, as where no SYN is answered.
    syns = {"tcp_retransmit_skb": sent}
    one = found(tmp_path / "c", {**syns, "inet_sk_error_report": given_up(2300)}, syns)
    assert "base ended the connection with ETIMEDOUT before any ACK" in one.sentence


def test_a_connection_that_is_given_up_later_or_with_another_error(tmp_path: Path) -> None:
    sides = [{"tcp_probe": acks(), "inet_sk_error_report": given_up(t_ms)} for t_ms in (2300, 4300)]
    one = found(tmp_path / "later", *sides)
    assert (one.kind, one.differs) == ("state", ("waited_ns",))
    assert "ETIMEDOUT 2.1 s after ACK 200" in one.sentence
    assert "ETIMEDOUT 4.1 s after ACK 200" in one.sentence
    sides[1] = {"tcp_probe": acks(), "inet_sk_error_report": given_up(2300, error=EHOSTUNREACH)}
    assert found(tmp_path / "other", *sides).differs == ("error",)


def test_a_table_of_errors_that_lacks_for_another_reason_is_no_difference(tmp_path: Path) -> None:
    kept = {"tcp_retransmit_skb": rows(TCP_RETRANSMIT, t_ns=[40 * MS], flow=0, state=1)}
    given = {**kept, "inet_sk_error_report": given_up(2300)}
    # What the end of the experiment takes down.
    assert diverged(tmp_path / "end", kept, {**kept, "inet_sk_error_report": given_up(10_000)}) is None
    # No events were asked for, the kernel has no such event, another agent knew none.
    assert diverged(tmp_path / "asked", {}, given) is None
    lacks = {"warnings": ["this kernel has no event sock:inet_sk_error_report: its table is missing"]}
    changes: list[dict[str, Any]] = [{"result": lacks}, {"manifest": {"agent": {"version": "1"}}}]
    for number, change in enumerate(changes):
        base = builders.record(tmp_path / f"base{number}", kept, **change)
        candidate = builders.record(tmp_path / f"candidate{number}", given)
        assert first_divergence(base, candidate) is None
        assert missing(base, candidate) == ["inet_sk_error_report was not compared: base has no such table"]


def test_the_first_of_all_flows_is_told(tmp_path: Path) -> None:
    flows = [flow(0, "long"), flow(1, "short")]
    base = np.concatenate([acks(0), acks(1)])
    other = np.concatenate([changed(acks(0), "snd_cwnd", 90, 3), changed(acks(1), "snd_cwnd", 50, 9)])
    one = found(
        tmp_path,
        {"tcp_probe": base},
        {"tcp_probe": other[np.argsort(other["t_ns"], kind="stable")]},
        flows=flows,
    )
    assert (one.flow, one.event) == ("short", 50)


def test_another_column_layout_and_a_missing_table_are_no_difference(tmp_path: Path) -> None:
    old = acks()[[name for name in TCP_PROBE.names or () if name not in ("family", "sock_cookie")]]
    packed = np.zeros(len(old), [(name, old.dtype[name]) for name in old.dtype.names])
    for name in packed.dtype.names or ():
        packed[name] = old[name]
    states = rows(CONG_STATE, t_ns=[MS], flow=0, cong_state=1)
    base = {"tcp_probe": packed, "tcp_info": tcp_info([MS], length=232)}
    candidate = {"tcp_probe": acks(), "tcp_info": tcp_info([MS], length=248), "tcp_cong_state_set": states}
    assert diverged(tmp_path / "a", base, candidate) is None
    assert diverged(tmp_path / "c", candidate, base) is None
    candidate["tcp_probe"] = changed(acks(), "snd_cwnd", 9, 1)
    assert found(tmp_path / "b", base, candidate).notes == (
        "tcp_cong_state_set was not compared: base has no such table",
    )


def test_a_table_that_is_cut_off_is_compared_up_to_there(tmp_path: Path) -> None:
    sent = rows(TCP_RETRANSMIT, t_ns=[40 * MS, 180 * MS], flow=0, state=1)
    tables = {"tcp_probe": acks(), "tcp_retransmit_skb": sent}
    base, candidate = (builders.record(tmp_path / name, tables) for name in ("base", "candidate"))
    torn = candidate.path / "raw" / "tcp_probe.rh"
    torn.chmod(0o644)
    torn.write_bytes(torn.read_bytes()[: -50 * TCP_PROBE.itemsize - 7])
    builders.reseal(candidate.path)
    assert first_divergence(*(Record.open(one.path) for one in (base, candidate))) is None
    lost = candidate.path / "raw" / "tcp_retransmit_skb.rh"
    lost.write_bytes(lost.read_bytes()[:-1])
    builders.reseal(candidate.path)
    assert first_divergence(*(Record.open(one.path) for one in (base, candidate))) is None


def test_datagrams_echoes_samples_and_queues(tmp_path: Path) -> None:
    flows = [flow(0, "probe", "udp")]
    seq = np.arange(50)
    sent = rows(UDP, flow=0, seq=seq, tx_ns=seq * MS, rx_ns=seq * MS + 900)
    one = found(tmp_path / "lost", {"udp": sent}, {"udp": np.delete(sent, 7)}, flows=flows)
    assert "the next datagram of flow probe is number 7 in base, 8 in candidate" in one.sentence
    late = sent.copy()
    late["rx_ns"][30:] += 2_000
    one = found(tmp_path / "late", {"udp": sent}, {"udp": late}, flows=flows)
    assert (one.kind, one.differs) == ("time", ("rx_ns",))
    assert "datagram 30 of flow probe arrived 2 µs later in candidate" in one.sentence
    silent = rows(PING, flow=0, seq=seq, tx_ns=seq * MS, rx_ns=seq * MS + 900)
    deaf = changed(silent, "rx_ns", 20, -1)
    one = found(tmp_path / "deaf", {"ping": silent}, {"ping": deaf}, flows=flows)
    assert "echo 20 of flow probe was answered in base only" in one.sentence
    info = [tcp_info([MS, 2 * MS], reordering=[3, value]) for value in (3, 9)]
    one = found(tmp_path / "info", {"tcp_info": info[0]}, {"tcp_info": info[1]})
    assert "a sample of the sender of flow long shows reordering 3 in base, 9 in candidate" in one.sentence
    assert one.after["candidate"][0]["reordering"] == 9
    queues = [qdisc([MS, 2 * MS], drops=[0, value]) for value in (2, 5)]
    one = found(tmp_path / "queue", {"qdisc": queues[0]}, {"qdisc": queues[1]})
    assert (one.end, one.flow) == ("left → right", None)
    assert "a sample of the queue left → right shows drops 2 in base, 5 in candidate" in one.sentence


@settings(max_examples=30)
@given(
    place=st.integers(0, COUNT - 1),
    column=st.sampled_from(["snd_cwnd", "ssthresh"]),
    shifts=st.lists(st.integers(0, 900_000), min_size=COUNT, max_size=COUNT),
)
def test_any_one_decision_is_found_under_any_shift(
    tmp_path_factory: pytest.TempPathFactory, place: int, column: str, shifts: list[int]
) -> None:
    other = changed(acks(), column, place, 7)
    other["t_ns"] += np.array(shifts)
    one = found(tmp_path_factory.mktemp("any"), {"tcp_probe": acks()}, {"tcp_probe": other})
    assert (one.kind, one.event, one.differs) == ("state", max(1, place), (column,))


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_pairs_are_the_kth_of_each_stream(base: list[int], candidate: list[int]) -> None:
    sides = [np.array(codes, np.int64) for codes in (base, candidate)]
    pairs = pair(*sides)
    for code in range(4):
        places = [np.flatnonzero(side == code) for side in sides]
        count = min(len(part) for part in places)
        mine = pairs.codes == code
        assert pairs.base[mine].tolist() == places[0][:count].tolist()
        assert pairs.candidate[mine].tolist() == places[1][:count].tolist()
        assert pairs.places[mine].tolist() == list(range(count))
        alone = [entry for entry in pairs.alone if entry[0] == code]
        further = [int(part[count]) if len(part) > count else -1 for part in places]
        assert alone == ([(code, count, *further)] if further != [-1, -1] else [])


def test_many_events_of_many_flows_are_paired(tmp_path: Path) -> None:
    count = 100_000
    base = rows(TCP_PROBE, t_ns=np.arange(count) * 1000, flow=np.arange(count) % 7, snd_una=np.arange(count))
    flows = [flow(number, f"f{number}") for number in range(7)]
    one = found(
        tmp_path, {"tcp_probe": base}, {"tcp_probe": changed(base, "snd_cwnd", 99_000, 3)}, flows=flows
    )
    assert (one.flow, one.event) == ("f6", 14_142)


def test_a_shift_that_jumps_is_told_from_one_that_grows(tmp_path: Path) -> None:
    growing = acks()
    growing["t_ns"] += np.arange(COUNT) * 100_000
    assert found(tmp_path / "a", {"tcp_probe": acks()}, {"tcp_probe": growing}).kind == "time"
    jumping = acks()
    jumping["t_ns"] += 256
    jumping["t_ns"][70:] += 12 * MS
    one = found(tmp_path / "b", {"tcp_probe": acks()}, {"tcp_probe": jumping})
    assert (one.kind, one.event, one.t_ns) == ("jump", 71, 71 * MS)
    assert "ACK 71 of flow long came 12 ms later in candidate" in one.sentence
    assert one.sentence.endswith("ACK 1 of flow long came 256 ns later in candidate.")
    seq = np.arange(50)
    sent = rows(UDP, flow=0, seq=seq, tx_ns=seq * MS, rx_ns=seq * MS + 900)
    waited = sent.copy()
    waited["rx_ns"][9:] += 3 * MS
    one = found(tmp_path / "c", {"udp": sent}, {"udp": waited}, flows=[flow(0, "probe", "udp")])
    assert one.kind == "jump"
    assert "datagram 9 of flow probe arrived 3 ms later in candidate" in one.sentence


def test_every_connection_of_a_flow_counts_from_its_own_beginning(tmp_path: Path) -> None:
    cookies = np.repeat([5, 9], COUNT // 2)
    numbers = [np.where(cookies == 5, *isns).astype(np.uint32) for isns in ((1000, 4_000_000_000), (77, 5))]
    sides = []
    for isn in numbers:
        una = (isn + np.tile(np.arange(COUNT // 2), 2) * 1448) % 2**32
        sides.append(acks(sock_cookie=cookies, snd_una=una, snd_nxt=(una + 1448) % 2**32))
    assert diverged(tmp_path / "a", {"tcp_probe": sides[0]}, {"tcp_probe": sides[1]}) is None
    other = sides[1].copy()
    other["snd_una"][150:] += 1448
    one = found(tmp_path / "b", {"tcp_probe": sides[0]}, {"tcp_probe": other})
    assert "ACK 150 of flow long acknowledged 1448 bytes in base, 2896 bytes in candidate" in one.sentence


def test_what_a_queue_dropped_before_the_experiment_does_not_count(tmp_path: Path) -> None:
    queues = [qdisc([MS, 2 * MS], drops=[before, before + 1]) for before in (0, 6)]
    assert diverged(tmp_path, {"qdisc": queues[0]}, {"qdisc": queues[1]}) is None


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 2)), max_size=12),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 2)), max_size=12),
)
@settings(max_examples=40)
def test_any_tables_whatever_is_told_or_equal(
    tmp_path_factory: pytest.TempPathFactory, base: list[Any], candidate: list[Any]
) -> None:
    """Few events, none, or those of one side only: a sentence, or tables that are equal."""

    def tables(events: list[Any]) -> dict[str, Any]:
        events = sorted(events, key=lambda event: event[1])
        number, at, value = (np.array([event[place] for event in events], np.int64) for place in range(3))
        return {
            "tcp_probe": rows(TCP_PROBE, t_ns=at * MS, flow=number, snd_cwnd=value, snd_una=value),
            "tcp_cong_state_set": rows(CONG_STATE, t_ns=at * MS, flow=number, cong_state=value),
            "tcp_retransmit_skb": rows(TCP_RETRANSMIT, t_ns=at * MS, flow=number, state=value),
            "inet_sk_error_report": rows(ERROR_REPORT, t_ns=at * MS, flow=number, error=value),
            "udp": rows(UDP, flow=number, seq=value, tx_ns=at * MS, rx_ns=at * MS + 5),
            "qdisc": qdisc(at * MS, drops=value) if events else qdisc([])[:0],
        }

    folder = tmp_path_factory.mktemp("any")
    flows = [flow(number, f"f{number}") for number in range(3)]
    one = diverged(folder, tables(base), tables(candidate), flows=flows)
    if one is None:
        # Streams are compared each for itself: what stands between them does not count.
        assert sorted(base) == sorted(candidate)
    else:
        assert one.sentence.startswith("At ")
        assert all(first.t_ns < one.t_ns for first in one.earlier)
