"""The rules of every flow: the same numbers, of a record or of two hosts, have one cause and one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from string import Formatter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.causes import loss_rules, on_flows, on_full_paths
from rushhour.causes.evidence import DELAY_BASED, OPTION_SACK, OPTION_WSCALE, Shown
from rushhour.causes.rules import RULES, named
from rushhour.causes.table import CAUSES
from rushhour.diagnosis.case import Case
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.flow import MeasuredFlow
from rushhour.diagnosis.measured import Measured, Tcp, Train, Udp
from rushhour.explain import RecordedFlow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.evidence import Evidence
    from rushhour.causes.telling import Rule

BOTH = OPTION_SACK | OPTION_WSCALE
RATE, TRIP_S, GOT = 96e6, 0.02, 15e6
IN_FLIGHT = GOT * TRIP_S / 8


def recorded(limit: str, sysctls: Mapping[str, Mapping[str, str]] | None = None, **keys: Any) -> RecordedFlow:
    """A flow of a record from a to b."""
    return RecordedFlow(
        "bulk", "a", "b", keys.pop("cc", "cubic"), 10.0, GOT, {limit: 0.9}, None,
        possible_bps=RATE, base_rtt_s=TRIP_S, inflight=IN_FLIGHT, sysctls=sysctls or {}, **keys,
    )  # fmt: skip


def measured(limit: str, sysctls: Mapping[str, Mapping[str, str]] | None = None, **keys: Any) -> MeasuredFlow:
    """The same flow, measured between two hosts."""
    wrong, refused = keys.pop("damaged", 0), keys.pop("refused", 0)
    single = Tcp(goodput_bps=GOT, steady_bps=GOT, shares={limit: 0.9}, cc=keys.pop("cc", "cubic"), **keys)
    m = Measured(
        "a→b", idle_rtt_ns=int(TRIP_S * 1e9), single=single, several=Tcp(steady_bps=RATE),
        counters={"b": {"Tcp.InCsumErrors": wrong, "TcpExt.TCPRcvQDrop": refused}},
    )  # fmt: skip
    a, b = (Facts(end, {"sysctl": dict((sysctls or {}).get(end, {}))}) for end in ("a", "b"))
    return MeasuredFlow(m, single, Case(a, b, {"a→b": m}))


FLOWS: dict[str, tuple[str, dict[str, Any]]] = {
    "window-scaling-off": ("receiver", {"window": 65535, "rcvbuf": 400_000, "options": OPTION_SACK}),
    "receive-buffer-too-small": ("receiver", {"window": 40_000, "rcvbuf": 65536, "options": BOTH}),
    "send-buffer-too-small": ("sndbuf", {"sndbuf": 65536, "options": BOTH}),
    "pacing": ("pacing", {"options": BOTH}),
    "marked": ("marks", {"options": BOTH, "marked": 12}),
    "small-window": ("window", {"options": BOTH, "cc": "vegas"}),
}
"""Cause → the limit that held, and what is known besides."""


@pytest.mark.parametrize("key", FLOWS)
def test_one_flow_has_one_cause_one_sentence_and_one_cure(key: str) -> None:
    limit, known = FLOWS[key]
    one, other = (named(make(limit, **known), limit, 0.9) for make in (recorded, measured))
    assert one is not None
    assert one.key == key
    assert one == other


@pytest.mark.parametrize(("limit", "key"), [("reader", "slow-reader"), ("application", "slow-writer")])
def test_of_a_slow_program_only_its_name_differs(limit: str, key: str) -> None:
    one, other = (named(make(limit), limit, 0.9) for make in (recorded, measured))
    assert one is not None
    assert other is not None
    assert (
        (one.key, one.where, one.cure) == (other.key, other.where, other.cure) == (key, one.where, one.cure)
    )
    assert one.says.partition(" on ")[2] == other.says.partition(" on ")[2]
    assert other.says.startswith("Our own ")


@pytest.mark.parametrize(
    ("rule", "known", "key"),
    [
        (loss_rules.no_sack, {"options": OPTION_WSCALE, "retransmits": 40}, "sack-off"),
        (loss_rules.corruption, {"options": BOTH, "retransmits": 40, "damaged": 38}, "corruption"),
        (loss_rules.refused, {"options": BOTH, "retransmits": 40, "refused": 9}, "data-refused"),
    ],
)
def test_losses_that_both_can_tell_are_told_alike(rule: Rule, known: dict[str, Any], key: str) -> None:
    one, other = (rule(make("losses", **known), 0.9) for make in (recorded, measured))
    assert one is not None
    assert one.key == key
    assert one == other


POLICED = {"policed": 10, "policer_bps": 30e6}
LINE = Udp(88e6, 30e6, 1000, 300)
BY_CHANCE: dict[str, Any] = {"wire_loss": 0.01, "segments": 4000}
DATAGRAMS = Udp(75e6, 74e6, 2500, 2475)


@pytest.mark.parametrize(
    ("key", "counted", "seen", "socket"),
    [
        ("policer", POLICED, {"line": LINE}, {"pacing": "28500000bit"}),
        ("random-loss", BY_CHANCE, {"udp": DATAGRAMS}, {"cc": "bbr"}),
        ("shallow-queue", {"queue_drops": 40, "buffer": 9000.0}, {"train": Train(192, 40, 98e6)}, {}),
        ("losses", {"queue_drops": 40}, {}, {}),
    ],
)
def test_an_origin_of_losses_has_one_remedy_whatever_shows_it(
    key: str, counted: dict[str, Any], seen: dict[str, Any], socket: dict[str, str]
) -> None:
    known: dict[str, Any] = {"options": BOTH, "retransmits": 40}
    other = measured("losses", **known, segments=4000)
    both = (recorded("losses", **known, **counted), replace(other, m=replace(other.m, **seen)))
    found = [named(one, "losses", 0.9) for one in both]
    assert [one and one.key for one in found] == [key, key]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].cure == found[1].cure
    assert (found[0].cure.socket if found[0].cure is not None else {}) == socket


@pytest.mark.parametrize(("cc", "takes"), [("cubic", True), ("bbr", False)])
def test_only_an_algorithm_that_answers_a_loss_is_said_to_take_it_for_congestion(
    cc: str, takes: bool
) -> None:
    known: dict[str, Any] = {"options": BOTH, "retransmits": 40, "cc": cc}
    seen = measured("losses", **known, segments=4000)
    for one in (recorded("losses", **known, **BY_CHANCE), replace(seen, m=replace(seen.m, udp=DATAGRAMS))):
        said = named(one, "losses", 0.9)
        assert said is not None
        assert ("takes each for congestion" in said.says) is takes


def test_an_option_is_switched_on_where_it_is_off() -> None:
    name = "net.ipv4.tcp_window_scaling"
    known: dict[str, Any] = FLOWS["window-scaling-off"][1]
    for make in (recorded, measured):
        one = named(make("receiver", {"a": {name: "0"}}, **known), "receiver", 0.9)
        assert one is not None
        assert one.cure is not None
        assert one.where == "a"
        assert [what.command for what in one.cure.settings] == [f"sysctl -w {name}=1"]
        assert "is off at a:" in one.says


@dataclass
class Anything:
    """Evidence of which any part may be missing."""

    sender: str = "a"
    receiver: str = "b"
    cc: str = "cubic"
    bdp: float | None = None
    window: float | None = None
    inflight: float | None = None
    rcvbuf: float | None = None
    sndbuf: float | None = None
    options: int | None = None
    marked: int = 0
    retransmits: int = 0
    damaged: int = 0
    refused: int = 0
    syns: int = 0
    acks_waited: bool = False
    short: int = 0
    origin: str = ""
    asked: Mapping[str, float] = field(default_factory=dict)

    def pressures(self, _host: str) -> int:
        return self.short

    def limited(self, *_limits: str) -> float:
        return 0.5

    def called(self, host: str) -> str:
        return host

    def program(self, host: str) -> str:
        return f"The program on {host}"

    def setting(self, _host: str, _name: str) -> Any:
        return None

    def shown(self, key: str, host: str = "") -> Shown | None:
        braces = (name for _, name, _, _ in Formatter().parse(CAUSES[key].says) if name)
        words = dict.fromkeys({*braces} - {"held"}, "x")
        return Shown(words, host=host, wait_s=1.0, fills=True) if key == self.origin else None


OF_FLOWS = (*on_flows.AT_THE_HOSTS, *on_flows.LOSSES, *on_full_paths.PATHS)
ORIGINS = ("", *(cause.key for cause in OF_FLOWS))
SIZE = st.none() | st.floats(1, 1e9)


@given(
    st.builds(
        Anything, cc=st.sampled_from(["cubic", *sorted(DELAY_BASED)]), bdp=SIZE, window=SIZE, inflight=SIZE,
        rcvbuf=SIZE, sndbuf=SIZE, options=st.none() | st.integers(0, 127), marked=st.integers(0, 99),
        syns=st.integers(0, 3), acks_waited=st.booleans(), retransmits=st.integers(0, 99),
        damaged=st.integers(0, 99), refused=st.integers(0, 99), short=st.integers(0, 3),
        origin=st.sampled_from(ORIGINS),
        asked=st.dictionaries(st.sampled_from(["rcvbuf", "sndbuf", "pacing_bps"]), st.floats(1, 1e9)),
    ),
    st.sampled_from(sorted(RULES)), st.floats(0, 1),
)  # fmt: skip
def test_what_is_not_known_stops_no_rule(known: Anything, limit: str, share: float) -> None:
    evidence: Evidence = known
    one = named(evidence, limit, share)
    if one is not None:
        assert one.key in CAUSES
        assert one.where in {"a", "b"}
        assert one.says.endswith(".")
        assert "{" not in one.says
        assert "None" not in one.says
