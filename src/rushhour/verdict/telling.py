"""A difference in words that a kernel developer understands at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.quantities.words import plural, quantity
from rushhour.verdict.alignment import WAITED
from rushhour.verdict.around import SIDES
from rushhour.verdict.flowlog import FlowLog, error_name, relative, state_name
from rushhour.verdict.reasons import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rushhour.record.record import Record
    from rushhour.verdict.alignment import Difference

_NO_SSTHRESH = 0x7FFFFFFF
_NOUNS = {
    "tcp_retransmit_skb": "retransmission",
    "tcp_cong_state_set": "change of congestion state",
    "inet_sk_error_report": "error",
}
_WINDOWS = {"snd_wnd": "the receiver offers", "rcv_wnd": "the sender's own socket offers"}


@dataclass(frozen=True)
class Sides:
    """Two records, and what each is called in a sentence."""

    records: tuple[Record, Record]
    names: tuple[str, str] = SIDES


def owner(record: Record, one: Difference) -> tuple[str | None, str | None]:
    """The flow's name and the link end's label, as far as the difference belongs to one."""
    if one.table == "qdisc":
        end = record.context.ends.get(one.code >> 32)
        return None, end.label if end else f"end {one.code >> 32}"
    number = one.code >> 1 if one.table == "tcp_info" else one.code
    flow = record.context.flows.get(number)
    return flow.name if flow else f"flow {number}", None


def event_number(one: Difference) -> int:
    """The number of the event, from 1: of the trace of ACKs the ACK on which it was decided."""
    late = one.table == "tcp_probe" and one.kind not in ("time", "jump", "end")
    return max(1, one.place) if late else one.place + 1


def sentence(sides: Sides, one: Difference) -> str:
    """What differs and when, without a full stop."""
    return f"At {one.t_ns / 1e9:.6f} s, {_WORDS[one.table](sides, one)}"


def _flow(sides: Sides, one: Difference) -> str:
    return f"flow {owner(sides.records[0], one)[0]}"


def _apart(sides: Sides, nanoseconds: int) -> str:
    return f"{_span(abs(nanoseconds))} {'later' if nanoseconds > 0 else 'earlier'} in {sides.names[1]}"


def _span(nanoseconds: int) -> str:
    return f"{nanoseconds} ns" if nanoseconds < 1000 else quantity(nanoseconds / 1e3, "µs")


def _number(column: str, value: float) -> str:
    return "unset" if column == "ssthresh" and int(value) == _NO_SSTHRESH else f"{int(value)}"


def _values(sides: Sides, one: Difference) -> str:
    """What differs with its values on both sides: `snd_cwnd 10 in base, 4 in candidate`."""
    pairs = [(name, [_number(name, value) for value in values]) for name, values in one.values.items()]
    return " and ".join(f"{name} {_in_each(sides, values)}" for name, values in pairs)


def _in_each(sides: Sides, values: Sequence[object]) -> str:
    """The values of both sides: `10 in base, 4 in candidate`."""
    return ", ".join(f"{value} in {name}" for value, name in zip(values, sides.names, strict=True))


def _ended(sides: Sides, one: Difference, noun: str) -> str:
    without = one.rows.index(-1)
    more, less = sides.names[1 - without], sides.names[without]
    return f"{more} has a further {noun} of {_flow(sides, one)}; {less} has none after number {one.place}"


# --- ACKs ---


def _probe(sides: Sides, one: Difference) -> str:
    if one.kind == "end":
        return _ended(sides, one, "ACK")
    if one.kind in ("time", "jump"):
        came = f"ACK {event_number(one)} of {_flow(sides, one)} came"
        return (
            f"{came} {_apart(sides, one.shift_ns)}" if one.shift_ns else f"{came} with {_values(sides, one)}"
        )
    if one.place == 0:
        return f"{_flow(sides, one)} begins with {_values(sides, one)}"
    return _decided(sides, one) if one.kind == "state" else _offered_or_sent(sides, one)


def _offered_or_sent(sides: Sides, one: Difference) -> str:
    ack, flow = event_number(one), _flow(sides, one)
    name = next(iter(one.values))
    values, (base, candidate) = one.values[name], sides.names
    if name in _WINDOWS:
        offered = _in_each(sides, (plural(values[0], "byte"), values[1]))
        return f"on ACK {ack} of {flow}, {_WINDOWS[name]} {offered}"
    if name == "snd_nxt":
        span = f"between ACKs {ack} and {ack + 1} of {flow}"
        return f"{span}, {base} had sent up to byte {values[0]}, {candidate} up to byte {values[1]}"
    return f"ACK {ack + 1} of {flow} came with {_values(sides, one)}"


def _decided(sides: Sides, one: Difference) -> str:
    """What either side made of an ACK."""
    logs = [FlowLog.of(record, one.code) for record in sides.records]
    ack, flow = event_number(one), _flow(sides, one)
    spans = [(log.instant(ack), log.instant(ack + 1)) for log in logs]
    entered = [log.entered(*span) for log, span in zip(logs, spans, strict=True)]
    states = {log.state(since) for log, (since, _) in zip(logs, spans, strict=True)}
    where = f" (in {', '.join(states)})" if len(states) == 1 and states != {"Open"} else ""
    parts = []
    if "snd_una" in one.values:
        steps = [np.diff(relative(log.acks, "snd_una"))[one.place - 1] for log in logs]
        spoken = [plural(step, "byte") if step else "nothing" for step in steps]
        parts.append(f"ACK {ack} of {flow}{where} acknowledged {_in_each(sides, spoken)}")
    windows = [name for name in one.values if name != "snd_una"]
    acts = [_acts(log, one.place, windows, names) for log, names in zip(logs, entered, strict=True)]
    done = [f"{side} {act}" for side, act in zip(sides.names, acts, strict=True) if act]
    if done and (windows or entered[0] != entered[1]):
        why = reason(sides.records, one, [name for names in entered for name in names])
        head = "then" if parts else f"on ACK {ack} of {flow}{where}" + (f", after {why}," if why else ",")
        parts.append(f"{head} {', '.join(done)}")
    return "; ".join(parts)


def _acts(log: FlowLog, place: int, columns: list[str], entered: list[str]) -> str:
    values = {name: [_number(name, log.acks[name][row]) for row in (place - 1, place)] for name in columns}
    kept = [f"{name} {old}" for name, (old, new) in values.items() if old == new]
    moved = [f"{name} {old} → {new}" for name, (old, new) in values.items() if old != new]
    acts = [f"entered {', then '.join(entered)}"] if entered else []
    acts += [f"{verb} {' and '.join(names)}" for verb, names in (("set", moved), ("left", kept)) if names]
    return " and ".join(acts)


# --- Events of a flow ---


def _event(sides: Sides, one: Difference) -> str:
    noun = _NOUNS[one.table]
    if one.kind in ("time", "jump"):
        return f"{noun} {one.place + 1} of {_flow(sides, one)} came {_apart(sides, one.shift_ns)}"
    said = [_did(sides, one, side, noun) for side in (0, 1)]
    return f"{_flow(sides, one)}: {', '.join(said)}"


def _did(sides: Sides, one: Difference, side: int, noun: str) -> str:
    record, name = sides.records[side], sides.names[side]
    if one.rows[side] < 0:
        return f"{name} had no further {noun}"
    row = record.raw(one.table).rows[one.rows[side]]
    log, t_ns = FlowLog.of(record, one.code), int(row["t_ns"])
    ack = log.acks_by(t_ns)
    what = f"sent retransmission {one.place + 1} (in {log.state(t_ns + 1)})"
    if one.table == "tcp_cong_state_set":
        what = f"entered {state_name(row['cong_state'])}"
    # Most errors are a timer's: the ACK is long ago.
    error = one.table == "inet_sk_error_report"
    if error:
        what = f"ended the connection with {error_name(row['error'])}"
    waited = error or WAITED in one.values
    since = f"{_span(t_ns - log.instant(ack))} after ACK {ack}" if waited else f"on ACK {ack}"
    return f"{name} {what} {since if ack else 'before any ACK'} at {t_ns / 1e9:.6f} s"


# --- Packets and samples ---


def _packet(noun: str, moments: Mapping[str, str]) -> Callable[[Sides, Difference], str]:
    """Words for what packets did; `moments` says of each column of instants what happened then."""

    def said(sides: Sides, one: Difference) -> str:
        flow = _flow(sides, one)
        if -1 in one.rows:
            return _ended(sides, one, noun)
        number = int(sides.records[0].raw(one.table).rows["seq"][one.rows[0]])
        if "seq" in one.values:
            return f"the next {noun} of {flow} is number {_in_each(sides, one.values['seq'])}"
        if "answered" in one.values:
            answered = sides.names[one.values["answered"].index(1)]
            return f"{noun} {number} of {flow} was answered in {answered} only"
        column = next(iter(one.values))
        base, candidate = one.values[column]
        return f"{noun} {number} of {flow} {moments[column]} {_apart(sides, candidate - base)}"

    return said


def _sampled(sides: Sides, one: Difference) -> str:
    flow, end = owner(sides.records[0], one)
    side = "receiver" if one.code & 1 else "sender"
    where = f"the queue {end}" if end else f"the {side} of flow {flow}"
    return f"a sample of {where} shows {_values(sides, one)}"


_WORDS: Mapping[str, Callable[[Sides, Difference], str]] = {
    "tcp_probe": _probe,
    "tcp_cong_state_set": _event,
    "tcp_retransmit_skb": _event,
    "inet_sk_error_report": _event,
    "udp": _packet("datagram", {"tx_ns": "was sent", "rx_ns": "arrived"}),
    "ping": _packet("echo", {"tx_ns": "was sent", "rx_ns": "was answered"}),
    "transaction": _packet("transaction", {"start_ns": "began", "end_ns": "ended"}),
    "tcp_info": _sampled,
    "qdisc": _sampled,
}
