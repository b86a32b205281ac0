"""Cells built to have exactly one cause: it is named first, and its remedy does what it promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cpus
import numpy as np
import pytest
from experiments import metric
from known_runs import record_of

from rushhour import spec
from rushhour.explain import explain
from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.spec.load import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.explain import Explanation, Finding
    from rushhour.record.record import Record
    from rushhour.spec.scenario import Scenario

pytestmark = pytest.mark.virtual

HEAD = """
title = "Why"
question = "Why is this flow slow?"
duration = "{duration}"
{top}
[topology]
preset = "dumbbell"
rate = "{rate}"
{path}
[[flow]]
name = "bulk"
{flow}
"""


def cell(
    flow: str = "",
    *,
    path: str = "",
    top: str = "",
    rate: str = "50mbit",
    rtt: str = "20ms",
    duration: str = "2s",
) -> str:
    return HEAD.format(
        flow=flow, path=path + (f'\nrtt = "{rtt}"' if rtt else ""), top=top, rate=rate, duration=duration
    )


SECOND = '[[flow]]\nname = "other"\n'
SYSCTL = "[sysctl]\n"

POLICED = """
title = "Why"
question = "Why is this flow slow?"
duration = "8s"
[[link]]
between = ["s1", "router"]
rate = "100mbit"
[[link]]
between = ["router", "r1"]
delay = "10ms"
[link.forward]
police = { rate = "20mbit", burst = "15kB" }
[[flow]]
name = "bulk"
cc = "reno"
from = "s1"
to = "r1"
"""

ADSL = """
title = "Why"
question = "Why is this flow slow?"
duration = "10s"
[[link]]
between = ["home", "isp"]
[link.forward]
rate = "800kbit"
buffer = "64kB"
[link.reverse]
rate = "8mbit"
buffer = "64kB"
[[link]]
between = ["isp", "server"]
delay = "15ms"
[[flow]]
name = "bulk"
from = "server"
to = "home"
[[flow]]
name = "upload"
from = "home"
to = "server"
"""
HOLE = """
title = "Why"
question = "Why is this flow slow?"
duration = "6s"
[[node]]
name = "sw1"
role = "switch"
[[node]]
name = "sw2"
role = "switch"
[[link]]
between = ["s1", "sw1"]
rate = "20mbit"
delay = "10ms"
[[link]]
between = ["sw1", "sw2"]
mtu = "1400B"
[[link]]
between = ["sw2", "r1"]
[[flow]]
name = "bulk"
from = "s1"
to = "r1"
"""
REMEMBERED = """
title = "Why"
question = "Why is this flow slow?"
duration = "5s"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "80ms"
buffer = "4MB"
drop = [40]
[sysctl]
"net.ipv4.tcp_no_ssthresh_metrics_save" = 0
[[flow]]
name = "earlier"
from = "s1"
to = "r1"
duration = "1500ms"
[[flow]]
name = "bulk"
from = "s1"
to = "r1"
start = "2s"
"""
RATIOS = SYSCTL + '"net.ipv4.tcp_pacing_ss_ratio" = 50\n"net.ipv4.tcp_pacing_ca_ratio" = 50\n'
VIDEO = '[[flow]]\nname = "video"\nkind = "udp"\nrate = "30mbit"\n'

HOG = '[[flow]]\nname = "hog"\nrcvbuf = "400kB"\nsndbuf = "200kB"\nread_rate = "200kbit"\n'
"""What lies unread of it takes the memory of all."""

CAUSES = {
    "path": cell(),
    "ack_queue": ADSL,
    "handshake": cell(
        'bytes = "300kB"', path='drop = [0, 1]\nbuffer = "500kB"', rate="10mbit", duration="6s"
    ),
    "handshake, long path": cell('bytes = "10kB"', rtt="300ms"),
    "others": cell(VIDEO, path="pairs = 2", rate="50mbit"),
    "impatient_queue": cell(path='queue = "codel"', rtt="300ms", rate="20mbit", duration="10s"),
    "remembered_threshold": REMEMBERED,
    "pacing_ratio": cell('pacing = "10gbit"', top=RATIOS, rtt="40ms", duration="4s"),
    "receive_buffer": cell('rcvbuf = "32KiB"'),
    "receive_buffer, sysctl": cell(SYSCTL.join(["", '"net.ipv4.tcp_rmem" = "4096 65536 65536"'])),
    "window_scaling": cell(SYSCTL.join(["", '"net.ipv4.tcp_window_scaling" = 0'])),
    "send_buffer": cell('sndbuf = "32KiB"'),
    "send_buffer, sysctl": cell(SYSCTL.join(["", '"net.ipv4.tcp_wmem" = "4096 65536 65536"'])),
    "memory_pressure": cell(
        f'start = "500ms"\n{HOG}[sysctl]\n"net.ipv4.tcp_mem" = "20 30 60"', rate="20mbit", duration="3s"
    ),
    "memory_pressure, at the receiver": cell(
        f'start = "500ms"\nsndbuf = "400kB"\n{HOG}[sysctl]\n"net.ipv4.tcp_mem" = "20 30 60"',
        rate="20mbit",
        duration="3s",
    ),
    "slow_writer": cell('rate = "10mbit"'),
    "no_room_for_messages": cell(
        'rate = "10mbit"\nmessage = "1kB"\nnodelay = true\nzerocopy = true\nsndbuf = "4MB"\n'
        + SYSCTL.join(["", '"net.core.optmem_max" = 20480']),
        rtt="50ms",
    ),
    "slow_reader": cell('read_rate = "10mbit"'),
    "pacing": cell('pacing = "10mbit"'),
    "slow_start": cell('bytes = "100kB"', rtt="100ms"),
    "initial_window": cell('bytes = "100kB"\n[[node]]\nname = "s1"\ninitcwnd = 2', rtt="100ms"),
    "window_growing": cell(
        'bytes = "100kB"\n[[node]]\nname = "s1"\ninitcwnd = 40\n[[node]]\nname = "r1"\ninitrwnd = 12',
        rtt="100ms",
    ),
    "outages": cell(
        '[[pattern]]\nkey = "loss"\nsteps = [["0s", "0%"], ["1s", "100%"], ["3s", "0%"]]', duration="5s"
    ),
    "random_loss": cell('cc = "reno"', path='loss = "0.5%"', duration="5s"),
    "sack": cell('cc = "reno"\n[sysctl]\n"net.ipv4.tcp_sack" = 0', path='loss = "2%"', duration="5s"),
    "shallow_buffer": cell('cc = "reno"', path='buffer = "10p"', rtt="50ms", duration="8s"),
    "bufferbloat": cell('cc = "reno"', path='buffer = "2MB"', duration="4s"),
    "other_algorithm": cell(f'cc = "vegas"\n{SECOND}cc = "cubic"', path="pairs = 2", duration="6s"),
    "sender_shaper": cell(path='shape_at = "sender"'),
    "policer": POLICED,
    "longer_path": cell(SECOND, path='pairs = 2\nrtts = ["80ms", "10ms"]', rtt="", duration="8s"),
    "timeouts": cell('cc = "reno"\nbytes = "20kB"', path=f"drop = {list(range(2, 14))}", duration="2s"),
    "mtu_black_hole": HOLE,
    "mtu_black_hole, TCP looks for the size": HOLE + SYSCTL + '"net.ipv4.tcp_mtu_probing" = 1\n',
    "marks": cell("ecn = true", path='queue = "codel ecn ce_threshold 200us"', rtt="80ms", duration="6s"),
    "impatient_queue, marks": cell(
        "ecn = true", path='queue = "codel ecn target 1ms interval 4ms"', rtt="80ms", duration="6s"
    ),
    "reordering": cell(
        'cc = "reno"\n[sysctl]\n"net.ipv4.tcp_recovery" = 0\n"net.ipv4.tcp_max_reordering" = 3',
        path='jitter = "20ms"\nreorder = true\nbuffer = "4MB"',
        rate="300mbit",
        duration="3s",
    ),
}
"""Cause (and variant) → the cell that has it and nothing else."""


OLDER = (
    "receive_buffer, sysctl",
    "send_buffer",
    "memory_pressure",
    "slow_reader",
    "timeouts",
    "policer",
    "reordering",
    "mtu_black_hole",
)
"""Those that depend on what a kernel counts, tried on the older one, too."""


def run(scenario: Scenario, folder: Path, kernel: str) -> Record:
    lowered = lower(scenario, 1)
    job = Job(
        lowered.plan, lowered.context, kernels.find(kernel), {"scenario": {"resolved": scenario.canonical()}}
    )
    return record_of(UmlLab(), job, folder, cpus.own())


def explained(record: Record) -> tuple[Explanation, Finding]:
    found = next(one for one in explain(record) if one.flow == "bulk")
    assert sum(found.shares.values()) == pytest.approx(1)
    assert metric(record, "limited_path_pct", "flow:bulk") == pytest.approx(100 * found.shares.get("path", 0))
    return found, found.findings[0]


@pytest.mark.parametrize(
    ("name", "kernel"),
    [*((name, "debian-6.12") for name in CAUSES), *((name, "debian-6.1") for name in OLDER)],
)
def test_the_cause_is_named_first_and_its_remedy_keeps_what_it_promises(
    name: str, kernel: str, tmp_path: Path
) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(CAUSES[name])
    scenario = load_scenario(str(path))
    record = run(scenario, tmp_path / "run", kernel)
    found, first = explained(record)
    assert first.cause == name.partition(",")[0], found.findings
    remedy = first.remedy
    if remedy is None or not remedy.overrides:
        return
    after = run(spec.with_values(scenario, dict(remedy.overrides)), tmp_path / "after", kernel)
    got = metric(after, "goodput_bps", "flow:bulk")
    if remedy.expected_bps is not None:
        assert got >= 0.99 * remedy.expected_bps
        assert remedy.expected_bps > found.goodput_bps
    assert explained(after)[1].cause != first.cause


def test_a_queue_on_the_acks_way_is_named_with_who_fills_it_and_managing_it_gives_the_rate_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(ADSL)
    scenario = load_scenario(str(path))
    found, first = explained(run(scenario, tmp_path / "run", "debian-6.12"))
    assert found.goodput_bps < 2e6  # of 7.65 Mbit/s
    assert first.where == "home → isp"
    assert "What fills that queue is upload." in first.says
    waits = {(wait.label, wait.acks): wait.median_s for wait in found.waits}
    assert waits["home → isp", True] > 0.3  # 64 kB at 800 kbit/s are 0.64 s
    assert waits["isp → home", False] < 0.01
    assert first.remedy is not None
    assert first.remedy.overrides == {"link.home-isp.forward.queue": "fq_codel"}
    after = run(spec.with_values(scenario, dict(first.remedy.overrides)), tmp_path / "after", "debian-6.12")
    assert metric(after, "goodput_bps", "flow:bulk") > 7e6


@pytest.mark.parametrize("kernel", ["debian-6.1", "debian-6.12"])
def test_lost_syns_are_the_handshakes_and_no_losses_of_data(kernel: str, tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(CAUSES["handshake"])
    record = run(load_scenario(str(path)), tmp_path / "run", kernel)
    found, first = explained(record)
    # The SYN is sent again after 1 s (RFC 6298), that one after 2 s, by newer kernels (6.5) after 1 s, too.
    assert "its SYN was sent again 2 times" in first.says
    assert found.shares["handshake"] > 0.6
    assert not {"losses", "timeouts"} & {*found.shares}
    assert metric(record, "retransmit_fraction", "flow:bulk") == 0
    assert metric(record, "retransmits", "flow:bulk") == 2


def test_traffic_beside_a_flow_is_named_whatever_limits_it(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(CAUSES["others"].replace('name = "bulk"', 'name = "bulk"\nrcvbuf = "8KiB"'))
    found, first = explained(run(load_scenario(str(path)), tmp_path / "run", "debian-6.12"))
    assert first.cause == "receive_buffer"
    # All that it sends arrives evenly, from before this flow's handshake ends until this flow ends. Over its
    # own two seconds, with the way's 10 ms at their beginning, it would be 30 · (2 - 0.0102) / 2 = 29.85.
    assert ", beside video (udp) with 30 Mbit/s." in first.says
    assert all("nothing else limits" not in finding.says for finding in found.findings)


def test_flows_that_share_a_policer_share_its_rate(tmp_path: Path) -> None:
    """Each paced to the whole rate would be above it together: paced to its part, each has that."""
    path = tmp_path / "cell.toml"
    path.write_text(f'{POLICED}[[flow]]\nname = "second"\ncc = "reno"\nfrom = "s1"\nto = "r1"\n')
    scenario = load_scenario(str(path))
    _, first = explained(run(scenario, tmp_path / "run", "debian-6.12"))
    assert first.cause == "policer"
    assert first.remedy is not None
    assert first.remedy.overrides == {"flow.bulk.pacing": "9500000bit", "flow.second.pacing": "9500000bit"}
    after = run(spec.with_values(scenario, dict(first.remedy.overrides)), tmp_path / "after", "debian-6.12")
    for name in ("bulk", "second"):
        assert metric(after, "goodput_bps", f"flow:{name}") > 0.98 * 9.5e6


def test_a_flow_s_own_wait_is_told_where_packets_were_stamped(tmp_path: Path) -> None:
    """fq_codel lets the ACKs pass the upload's packets: the queue holds 30 ms, they wait for one packet."""
    managed = ADSL.replace('buffer = "64kB"\n[link.reverse]', 'queue = "fq_codel"\n[link.reverse]')
    path = tmp_path / "cell.toml"
    path.write_text(managed.replace("[[link]]", "readings = { sojourn = true }\n[[link]]", 1))
    record = run(load_scenario(str(path)), tmp_path / "run", "debian-6.12")
    found, _ = explained(record)
    acks = next(wait for wait in found.waits if wait.acks)
    assert acks.label == "home → isp"
    backlog = record.series("queue_delay_us", end="home → isp").values
    # At most the packet on its way to the cable, 15 ms at 800 kbit/s.
    assert acks.median_s < 0.0152
    assert float(np.nanmedian(backlog)) > 25e3
