"""The netns lab on this machine's kernel: physics with wide margins, because others use the machine, too."""

import json
import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rushhour.errors import LabError, UnsupportedError
from rushhour.lab.netns import NetnsLab
from rushhour.metrics.surroundings import carried, machines
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.report import html
from rushhour.running import runner

pytestmark = [pytest.mark.host, pytest.mark.alone]

SCENARIO = """
title = "Real"
duration = "1500ms"
[topology]
preset = "dumbbell"
rate = "50mbit"
rtt = "20ms"
buffer = "40p"
[[flow]]
name = "long"
cc = "cubic"
[[flow]]
name = "whole"
cc = "reno"
start = "200ms"
bytes = "300kB"
"""


def outcomes_of(tmp_path: Path, text: str) -> list[runner.Outcome]:
    (tmp_path / "real.toml").write_text(text)
    lab = NetnsLab()
    batches = runner.prepare([tmp_path / "real.toml"], out=tmp_path / "out", lab="netns", tested=lab.tested())
    with closing(runner.carry_out(batches, lab)) as going:
        return list(going)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    folder = tmp_path_factory.mktemp("netns")
    (outcome,) = outcomes_of(folder, SCENARIO)
    assert outcome.error is None, outcome.error
    assert outcome.folder is not None
    return Record.open(outcome.folder)


def test_a_shaper_is_not_exceeded_and_a_path_is_not_shorter(record: Record) -> None:
    long, whole = (flow for flow in record.result["flows"])
    # A bucket of a millisecond on top of the rate; headers come off.
    assert 1e6 < 8 * long["bytes_received"] < 50e6 * (1.5 + 0.01)
    assert whole["bytes_sent"] == whole["bytes_received"] == 300_000
    assert all(rtt >= 20e6 - 2000 for ping in record.result["calibration"]["pings"] for rtt in ping["rtt_ns"])
    _, rows = record.tcp_info("long")
    known = rows["min_rtt"][(rows["min_rtt"] > 0) & (rows["min_rtt"] < 2**31)]
    assert int(known.min()) >= 19_990


def test_packets_are_counted_once_on_their_way(record: Record) -> None:
    # No packet is lost by what stands in for the wire, and both ends of it saw the same.
    assert all(one.lost == 0 for one in carried(record))
    wires = {int(end): record.table("wire", end=int(end)) for end in np.unique(record.table("wire")["end"])}
    assert wires
    assert all(rows["lost"].max() == 0 for rows in wires.values())


def test_the_kernels_own_events_are_those_of_our_flows(record: Record) -> None:
    if not record.has("tcp_probe"):
        assert any("event" in warning for warning in record.manifest["warnings"])
        return
    rows = record.table("tcp_probe", flow="long")
    assert len(rows) > 50
    assert (np.diff(rows["t_ns"]) >= 0).all()
    assert rows["t_ns"].min() > -1e9
    assert rows["t_ns"].max() < 3e9


def test_a_record_of_real_time_says_so(record: Record, tmp_path: Path) -> None:
    manifest = record.manifest
    assert manifest["lab"] == "netns"
    assert manifest["virtual_s"] is None
    assert manifest["kernel"]["source"] == {"kind": "running"}
    (machine,) = machines(record).values()
    shares = machine["cpu_share"]
    assert 0 < shares["experiment"] <= 1
    assert 0.5 < sum(shares.values()) < 1.5
    assert machine["sampling_error_ns"]["max"] > 0
    record.verify()
    page = html.write(ResultSet.open(record.path.parents[1]), tmp_path / "page.html").read_text()
    assert "netns" in page
    assert "virtual time" not in page


def test_senders_are_told_of_receivers_that_left_as_in_virtual_time(tmp_path: Path) -> None:
    datagrams = 'kind = "udp"\nrate = "1mbit"\npacket = "1250B"\nreceiver_leaves = "500ms"\n'
    text = SCENARIO.partition("[[flow]]")[0].replace('rtt = "20ms"', 'rtt = "20ms"\npairs = 3')
    text += "[[node]]\nname = 'r1'\n[node.sysctl]\n'net.ipv4.icmp_ratelimit' = 0\n"
    text += f"[[flow]]\nname = 'alone'\n{datagrams}[[flow]]\nname = 'bulk'\nreceiver_leaves = '500ms'\n"
    text += "[[flow]]\nname = 'late'\nstart = '1s'\nreceiver_leaves = '500ms'\n"
    (outcome,) = outcomes_of(tmp_path, text)
    assert outcome.error is None, outcome.error
    alone, bulk, late = Record.open(outcome.record).result.flows
    # Of 150 datagrams, one each 10 ms, the last 100 find nobody; the answer to each refuses one send. Where a
    # machine stands still meanwhile several leave together, and only one of them is refused.
    assert alone.error == "send: Connection refused (os error 111)"
    assert alone.sends_refused is not None
    assert 20 < alone.sends_refused <= 60
    assert alone.packets_sent == 150 - alone.sends_refused
    assert bulk.error in {"send: Broken pipe (os error 32)", "send: Connection reset by peer (os error 104)"}
    assert "Connection refused" in str(late.error)


def test_what_is_lacking_is_said_before_anything_runs(tmp_path: Path) -> None:
    text = SCENARIO.replace("[topology]", "[sysctl]\n'net.core.netdev_max_backlog' = '1234'\n[topology]")
    (outcome,) = outcomes_of(tmp_path, text)
    assert isinstance(outcome.error, UnsupportedError)
    assert "setting of the whole machine" in outcome.error.message
    assert not (tmp_path / "out/runs").exists()
    assert Path("/proc/sys/net/core/netdev_max_backlog").read_text().strip() != "1234"


def test_an_algorithm_that_no_kernel_has_skips_its_cells(tmp_path: Path) -> None:
    text = (
        SCENARIO.replace('duration = "1500ms"', 'duration = "300ms"')
        + '[sweep]\n"flow.long.cc" = ["none", "reno"]\n'
    )
    outcomes = outcomes_of(tmp_path, text)
    assert [outcome.skipped for outcome in outcomes] == [True, False]
    skipped = outcomes[0].error
    assert skipped is not None
    assert "CONFIG_TCP_CONG_NONE" in skipped.message
    about = json.loads((tmp_path / "out/set.json").read_text())
    assert about["complete"]
    assert len(about["skipped"]) == 1


def test_without_root_the_privilege_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="CAP_NET_ADMIN") as refused:
        NetnsLab()
    assert "--lab uml" in str(refused.value.hint)


@pytest.mark.parametrize("shaper", ["htb", "tbf"])
def test_an_experiment_begins_on_an_idle_network(tmp_path: Path, shaper: str) -> None:
    """Calibration's packets leave no debt in a bucket: a full frame's would be 1.2 s at this rate.

    SYN and SYN-ACK of 74 bytes, their ACK of 66, 200 bytes of data with 66 of headers, and three ways.
    """
    text = f"""
title = "Idle"
duration = "6s"
[topology]
preset = "dumbbell"
rate = "10kbit"
rtt = "20ms"
shaper = "{shaper}"
[[flow]]
name = "first"
bytes = "200B"
[[flow]]
name = "later"
bytes = "200B"
start = "3s"
"""
    (outcome,) = outcomes_of(tmp_path, text)
    assert outcome.error is None, outcome.error
    assert outcome.folder is not None
    for flow in Record.open(outcome.folder).context.flows.values():
        assert flow.outcome.receiver_done_ns is not None
        took = (flow.outcome.receiver_done_ns - flow.start_ns) * 1e-9
        least = 3 * 0.01 + 8 * (74 + 74 + 66 + 266) / 10_000
        assert least - 0.002 < took < least + 0.9  # a machine may be late; the debt is 1.2 s
