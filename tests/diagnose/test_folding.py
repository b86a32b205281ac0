"""Many findings to few: one for each cause, its consequences named as such."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rushhour.causes.cause import LAYERS, SEVERITIES
from rushhour.causes.finding import PLACES, Command, Finding, Proof, Remedy
from rushhour.causes.ranking import folded
from rushhour.causes.table import CAUSES

READ = Finding(
    "receive-buffer-too-small", "note", "tcp_rmem is small", "b",
    (Proof("b", "tcp_rmem", "4096 65536 65536"),),
    remedy=Remedy(commands=(Command("b", "sysctl -w x=1"),)), source="ip-sysctl.rst",
)  # fmt: skip
SEEN = Finding(
    "receive-buffer-too-small", "critical", "the window was full", "b",
    (Proof("b", "because", "window < path"),),
    0.9, Remedy(commands=(Command("b", "other"),), gain="ten times"), source="RFC 7323",
)  # fmt: skip


def test_what_was_read_and_what_was_measured_of_one_cause_are_one_finding() -> None:
    for pair in ((READ, SEEN), (SEEN, READ)):
        [one] = folded(pair)
        assert (one.severity, one.limited, one.gain) == ("critical", 0.9, "ten times")
        assert one.fix == READ.fix
        assert {evidence.what for evidence in one.evidence} == {"tcp_rmem", "because"}
        assert "ip-sysctl.rst" in one.source
        assert "RFC 7323" in one.source


def test_a_direction_and_the_end_of_it_that_has_the_cause_are_one() -> None:
    way = Finding("sack-off", "warning", "lost segments take long", "a→b", limited=0.5)
    end = Finding("sack-off", "note", "tcp_sack is 0", "b")
    [one] = folded([way, end])
    assert (one.where, one.severity, one.limited) == ("b", "warning", 0.5)


def test_a_consequence_is_a_note_that_names_its_cause() -> None:
    cause = Finding("shaper-on-the-sender", "warning", "tbf on eth0", "a")
    follows = Finding("asymmetric-path", "warning", "a→b is slower", "a→b", limited=0.9)
    elsewhere = Finding("asymmetric-path", "warning", "b→a is slower", "b→a", limited=0.9)
    first, second = folded([follows, cause])
    assert (first.key, second.key, second.severity) == ("shaper-on-the-sender", "asymmetric-path", "note")
    assert second.evidence[0].value == "shaper-on-the-sender"
    assert folded([elsewhere, Finding("shaper-on-the-sender", "note", "", "a")])[0].key == "asymmetric-path"


def test_losses_follow_from_small_segments() -> None:
    small = Finding("segments-clamped", "warning", "524 bytes", "b→a")
    lost = Finding("losses", "warning", "sent again", "b→a", limited=0.4)
    assert [(one.key, one.severity) for one in folded([lost, small])] == [
        ("segments-clamped", "warning"),
        ("losses", "note"),
    ]
    # What chance takes of datagrams of any size has another cause.
    chance = replace(lost, key="random-loss")
    assert folded([chance, small])[0].key == "random-loss"


def test_what_our_own_program_held_back_is_read_first_of_what_is_as_grave() -> None:
    ours = Finding("slow-writer", "warning", "our own sender", "a", limited=0.6)
    other = Finding("receive-buffer-too-small", "warning", "window full", "b", limited=0.8)
    assert [one.key for one in folded([other, ours])] == ["slow-writer", "receive-buffer-too-small"]
    grave = replace(other, severity="critical")
    assert folded([ours, grave])[0].key == "receive-buffer-too-small"


FINDINGS = st.builds(
    Finding,
    key=st.sampled_from(sorted(CAUSES)),
    severity=st.sampled_from(SEVERITIES),
    layer=st.sampled_from(LAYERS),
    title=st.just("something"),
    where=st.sampled_from(PLACES),
    limited=st.none() | st.floats(0, 1),
)


@given(st.lists(FINDINGS, max_size=12))
def test_folding_keeps_every_cause_and_puts_the_gravest_first(found: list[Finding]) -> None:
    few = folded(found)
    assert {one.key for one in few} == {one.key for one in found}
    ranks = [SEVERITIES.index(one.severity) for one in few]
    assert ranks == sorted(ranks)
    if any(one.severity != "note" for one in found):
        assert few[0].severity != "note"
