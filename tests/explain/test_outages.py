"""Ways that are dead for a while, in real runs: said as such, for as long as they held, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cpus
import pytest
from experiments import metric
from known_runs import record_of

from rushhour.explain import explain
from rushhour.explain.outages import LIMIT as OUTAGES
from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.spec.load import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.explain import Explanation, Finding
    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

HEAD = """
title = "Outages"
question = "What is said of a way that is dead for a while?"
duration = "{duration}"
"""
DUMBBELL = (
    HEAD
    + """
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "20ms"
buffer = "100kB"
{link}
[[pattern]]
key = "{key}"
direction = "{direction}"
steps = {steps}
[[flow]]
name = "bulk"
cc = "cubic"
{flow}
"""
)
CHAIN = (
    HEAD
    + """
[[node]]
name = "n1"
[[link]]
between = ["s1", "n1"]
rate = "10mbit"
delay = "10ms"
[[link]]
name = "lost"
between = ["n1", "n2"]
[link.forward]
withdrawn = [["1s", "3s"]]
[[link]]
between = ["n2", "r1"]
[[flow]]
name = "bulk"
cc = "cubic"
from = "s1"
to = "r1"
"""
)


def dumbbell(
    steps: list[list[str]],
    *,
    key: str = "loss",
    direction: str = "forward",
    link: str = "",
    flow: str = "",
    duration: str = "6s",
) -> str:
    return DUMBBELL.format(steps=steps, key=key, direction=direction, link=link, flow=flow, duration=duration)


def run(text: str, folder: Path, kernel: str = "debian-6.12") -> Record:
    path = folder / "cell.toml"
    path.write_text(text)
    scenario = load_scenario(str(path))
    lowered = lower(scenario, 1)
    described = {"scenario": {"resolved": scenario.canonical()}}
    return record_of(
        UmlLab(),
        Job(lowered.plan, lowered.context, kernels.find(kernel), described),
        folder / "run",
        cpus.own(),
    )


def explained(text: str, folder: Path, kernel: str = "debian-6.12") -> tuple[Explanation, dict[str, Finding]]:
    """The one flow's explanation, and its findings by cause, in their order."""
    (found,) = explain(run(text, folder, kernel))
    assert sum(found.shares.values()) == pytest.approx(1)
    return found, {one.cause: one for one in found.findings}


DEAD = [["0s", "0%"], ["1s", "100%"], ["3s", "0%"]]


@pytest.mark.parametrize("kernel", ["debian-6.1", "debian-6.12"])
@pytest.mark.parametrize(
    ("direction", "way"),
    [
        ("forward", "The way from s1 to r1"),
        ("reverse", "The way back from r1 to s1"),
        ("both", "The way between s1 and r1"),
    ],
)
def test_a_way_that_loses_everything_for_a_while_is_dead_and_no_chance(
    direction: str, way: str, kernel: str, tmp_path: Path
) -> None:
    found, by_cause = explained(dumbbell(DEAD, direction=direction), tmp_path, kernel)
    dead = by_cause["outages"]
    assert dead.limit == OUTAGES
    assert found.shares[OUTAGES] == pytest.approx(dead.share)
    assert dead.share > 0.3
    assert f"{way} was dead for 2 s from 1 s on: " in dead.says
    # Two of six seconds, and the rest of a wait that had begun before: at most as long again (RFC 6298, 5.5).
    assert 2 / 6.1 < dead.share < 4 / 6
    assert not {"random_loss", "timeouts", "losses", "ack_loss"} & {*by_cause}


def test_a_link_that_stops_is_dead_though_it_drops_nothing(tmp_path: Path) -> None:
    steps = [["0s", "10mbit"], ["1s", "0bit"], ["3s", "10mbit"]]
    _, by_cause = explained(dumbbell(steps, key="rate"), tmp_path)
    assert "The way from s1 to r1 was dead for 2 s from 1 s on: " in by_cause["outages"].says
    assert 2 / 6.1 < by_cause["outages"].share < 4 / 6
    assert "timeouts" not in by_cause


def test_a_router_without_a_route_is_no_queue_with_too_many_senders(tmp_path: Path) -> None:
    _, by_cause = explained(CHAIN.format(duration="6s"), tmp_path)
    assert "The way from s1 to r1 was dead for 2 s from 1 s on: " in by_cause["outages"].says
    assert 2 / 6.1 < by_cause["outages"].share < 4 / 6
    assert "timeouts" not in by_cause


def test_several_outages_are_counted_and_their_time_is_added(tmp_path: Path) -> None:
    steps = [
        [f"{at}ms", "100%" if place % 2 else "0%"] for place, at in enumerate([0, 1000, 1500, 3000, 3500])
    ]
    _, by_cause = explained(dumbbell(steps), tmp_path)
    assert "was dead 2 times, for 1 s in all: " in by_cause["outages"].says
    assert 1 / 6.1 < by_cause["outages"].share < 3.5 / 6


def test_a_connection_that_opens_into_an_outage_waited_for_the_way(tmp_path: Path) -> None:
    steps = [["0s", "100%"], ["2500ms", "0%"]]
    _, by_cause = explained(dumbbell(steps, flow='bytes = "300kB"', duration="8s"), tmp_path)
    assert next(iter(by_cause)) == "outages"
    assert "The way from s1 to r1 was dead for 2.5 s: " in by_cause["outages"].says
    assert "handshake" not in by_cause


def test_what_a_reader_takes_out_of_its_buffer_over_a_dead_way_is_not_all_that_held_the_flow(
    tmp_path: Path,
) -> None:
    """For ten seconds nothing comes: the program reads at its rate even so, from what had come before."""
    text = dumbbell(
        [["0s", "0%"], ["2s", "100%"]], flow='rcvbuf = "400kB"\nread_rate = "100kbit"', duration="12s"
    )
    _, by_cause = explained(text, tmp_path)
    assert next(iter(by_cause)) == "outages"
    assert "was dead from 2 s on: " in by_cause["outages"].says
    assert by_cause["outages"].share > by_cause["slow_reader"].share


def test_a_slow_program_stays_first_where_the_way_lives_longer_than_it_is_dead(tmp_path: Path) -> None:
    steps = [["0s", "0%"], ["2s", "100%"], ["2500ms", "0%"]]
    _, by_cause = explained(dumbbell(steps, flow='rate = "1mbit"'), tmp_path)
    assert next(iter(by_cause)) == "slow_writer"


def test_losses_of_a_living_way_are_told_beside_its_outage(tmp_path: Path) -> None:
    """2 % by chance for twelve seconds, half a second of them nothing: the loss has its own number."""
    steps = [["0s", "2%"], ["6s", "100%"], ["6500ms", "2%"]]
    record = run(dumbbell(steps, duration="12s"), tmp_path)
    (found,) = explain(record)
    by_cause = {one.cause: one for one in found.findings}
    assert next(iter(by_cause)) == "random_loss"
    said = by_cause["random_loss"].says
    share = float(said.split(" % of the packets")[0].rsplit(" ", 1)[-1])
    assert share == pytest.approx(2.0, abs=0.5)
    assert metric(record, "retransmits", "flow:bulk") > 0
    assert by_cause["random_loss"].remedy is not None
    assert "bbr" in by_cause["random_loss"].remedy.advice  # which bears 2 %, though no outage


def test_a_program_that_is_silent_over_an_outage_was_not_held_by_it(tmp_path: Path) -> None:
    text = dumbbell(
        [["0s", "0%"], ["2s", "100%"], ["3s", "0%"]],
        flow='rate = "2mbit"\non = "1500ms"\noff = "2s"',
        duration="5s",
    )
    _, by_cause = explained(text, tmp_path)
    assert "outages" not in by_cause


def test_a_flow_that_was_over_before_knows_of_no_outage(tmp_path: Path) -> None:
    text = dumbbell([["0s", "0%"], ["3s", "100%"]], flow='bytes = "500kB"')
    _, by_cause = explained(text, tmp_path)
    assert "outages" not in by_cause


def test_without_sack_the_repair_behind_an_outage_is_a_cause_of_its_own(tmp_path: Path) -> None:
    off = '[sysctl]\n"net.ipv4.tcp_sack" = 0'
    text = dumbbell([["0s", "0%"], ["400ms", "100%"], ["1400ms", "0%"]], flow=off, duration="3s")
    _, by_cause = explained(text.replace('rtt = "20ms"', 'rtt = "100ms"'), tmp_path)
    assert {"outages", "sack"} <= {*by_cause}
    assert by_cause["outages"].share + by_cause["sack"].share < 1
    assert "small window" not in by_cause["outages"].says
