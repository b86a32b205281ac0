"""Connections of several paths in a real kernel: what RFC 8684 promises, and how Linux keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import found

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record

pytestmark = [pytest.mark.virtual, pytest.mark.parametrize("kernel", ["debian-6.12"], indirect=True)]

GRAPH = """
duration = "8s"
{top}
[readings]
tcp_probe = true
[[node]]
name = "phone"
role = "host"
[[link]]
name = "wifi"
between = ["phone", "ap"]
rate = "20mbit"
delay = "10ms"
[[link]]
name = "lte"
between = ["phone", "mast"]
rate = "10mbit"
delay = "20ms"
[[link]]
between = ["ap", "core"]
[[link]]
between = ["mast", "core"]
[[link]]
between = ["core", "server"]
[[flow]]
name = "bulk"
kind = "mptcp"
from = "phone"
to = "server"
paths = ["wifi", "lte"]
{flow}
"""
OUTAGE = '[[pattern]]\nlink = "wifi"\nkey = "rate"\nsteps = [["0s", "20mbit"], ["3s", "0bit"]]\n'
# A full segment carries 1424 of 1514 bytes: the data sequence signal takes 24 (RFC 8684, section 3.3).
PAYLOAD = 1424 / 1514


def text(top: str = "", flow: str = "") -> str:
    return GRAPH.format(top=top, flow=flow)


def shares(record: Record) -> list[float]:
    return [value or 0.0 for value in found(record, "subflow_share").values()]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_two_paths_add_up(experiment: Experiment, family: str) -> None:
    record = experiment(text(f'warmup = "3s"\nfamily = "{family}"'))
    headers = 0 if family == "ipv4" else 20
    goodput = found(record, "goodput_steady_bps")["flow:bulk"] or 0.0
    assert goodput == pytest.approx(30e6 * (1424 - headers) / 1514, rel=0.02)
    assert shares(record) == pytest.approx([2 / 3, 1 / 3], abs=0.05)
    # What arrived is what was sent, each byte once, whichever way it came.
    outcome = record.context.flow("bulk").outcome
    assert (outcome.bytes_sent or 0) - (outcome.bytes_received or 0) < 2_000_000  # the rest is on its way
    assert outcome.error is None


def test_each_subflow_has_its_own_events_and_goes_its_own_way(experiment: Experiment) -> None:
    record = experiment(text())
    assert record.series("snd_cwnd", flow="bulk.wifi").source == "tcp_probe"
    rtt = {name: record.series("min_rtt_us", flow=f"bulk.{name}").values[-1] for name in ("wifi", "lte")}
    assert 20_000 < rtt["wifi"] < 23_000
    assert 40_000 < rtt["lte"] < 44_000
    info = record.tcp_info("bulk.lte")[1][-1]
    assert info["bytes_sent"] / info["data_segs_out"] == pytest.approx(1424, abs=2)


def test_a_backup_is_used_only_when_the_other_path_is_silent(experiment: Experiment) -> None:
    backup = 'backup = ["lte"]\n'
    spared = experiment(text(flow=backup))
    assert found(spared, "subflows_used") == {"flow:bulk": 1.0}
    assert shares(spared)[1] < 0.001
    used = experiment(text(flow=backup + OUTAGE))
    assert found(used, "subflows_used") == {"flow:bulk": 2.0}
    # One timeout at least, and then the rounds until the kernel takes it (mptcp_subflow_get_retrans).
    silence = found(used, "silence_max_s")["flow:bulk"] or 0.0
    assert 0.2 < silence < 1.5
    assert (found(used, "mptcp_retransmitted_bytes")["flow:bulk"] or 0.0) > 0


def test_the_same_run_has_the_same_bytes(experiment: Experiment) -> None:
    one, two = (experiment(text(flow=OUTAGE), fresh=True) for _ in range(2))
    assert one.manifest.files == two.manifest.files


def test_bytes_that_are_counted_all_arrive(experiment: Experiment) -> None:
    record = experiment(text(flow='bytes = "5MB"'))
    outcome = record.context.flow("bulk").outcome
    assert (outcome.bytes_received, outcome.error) == (5_000_000, None)
    assert (outcome.receiver_done_ns or 0) < 3_000_000_000


def test_where_mptcp_is_switched_off_it_is_said(experiment: Experiment) -> None:
    with pytest.raises(Exception, match="open a socket of MPTCP"):
        experiment(text('sysctl = { "net.mptcp.enabled" = "0" }'))


SECOND = """
duration = "8s"
warmup = "3s"
family = "{family}"
[readings]
tcp_probe = true
[[node]]
name = "server"
role = "host"
[[link]]
name = "access"
between = ["phone", "ap"]
[[link]]
name = "dsl"
between = ["ap", "server"]
rate = "10mbit"
delay = "10ms"
[[link]]
name = "cable"
between = ["ap", "server"]
rate = "20mbit"
delay = "20ms"
[[flow]]
name = "bulk"
kind = "mptcp"
from = "phone"
to = "server"
paths = ["access"]
announced = ["cable"]
{flow}
"""


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_an_announced_address_is_joined_and_adds_its_link(experiment: Experiment, family: str) -> None:
    record = experiment(SECOND.format(family=family, flow=""))
    assert found(record, "subflows_used") == {"flow:bulk": 2.0}
    headers = 0 if family == "ipv4" else 20
    goodput = found(record, "goodput_steady_bps")["flow:bulk"] or 0.0
    assert goodput == pytest.approx(30e6 * (1424 - headers) / 1514, rel=0.03)
    assert record.series("snd_cwnd", flow="bulk.cable").source == "tcp_probe"
    assert 40_000 < record.series("min_rtt_us", flow="bulk.cable").values[-1] < 44_000


def test_an_announced_backup_is_spared(experiment: Experiment) -> None:
    record = experiment(SECOND.format(family="ipv4", flow='backup = ["cable"]'))
    assert found(record, "subflows_used") == {"flow:bulk": 1.0}
