"""iperf3 as a cross-check: the law is the kernel's, whoever generates the flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

from rushhour.errors import AgentError
from rushhour.files.regular import checksum

if TYPE_CHECKING:
    from experiments import Experiment


pytestmark = pytest.mark.virtual

TCP = """
duration = "8s"
warmup = "2s"
sample = "100ms"
topology = {{ preset = "dumbbell", rate = "50mbit", rtt = "20ms", buffer = "1bdp" }}
flow = [{{ name = "one", cc = "cubic"{more} }}]
"""
UDP = """
duration = "4s"
warmup = "1s"
topology = {{ preset = "dumbbell", rate = "10mbit", rtt = "20ms" }}
flow = [{{ name = "one", kind = "udp", rate = "20mbit"{more} }}]
"""
BY_IPERF3 = ', generator = "iperf3"'


def test_tcp_is_the_same_from_both(experiment: Experiment) -> None:
    """Goodput of a CUBIC flow over 1 BDP of buffer agrees within 1 %."""
    ours, theirs = (experiment(TCP.format(more=more)) for more in ("", BY_IPERF3))
    assert theirs.context.flows[0].outcome.error is None
    mine, other = (metric(record, "goodput_steady_bps") for record in (ours, theirs))
    assert other == pytest.approx(mine, rel=0.01)
    assert theirs.manifest["tools"]["iperf3"]["version"].startswith("iperf 3")


def test_the_flow_is_the_data_connection_alone(experiment: Experiment) -> None:
    """What the kernel tells of the flow is what iperf3 tells of its data, without the control connection."""
    record = experiment(TCP.format(more=BY_IPERF3))
    client, server = record.iperf3("one", "client"), record.iperf3("one", "server")
    rows = record.table("tcp_probe", flow="one")
    assert set(rows["sport"]) == {client.local_port} == {33000}
    assert np.all(np.diff(rows["t_ns"]) >= 0)
    _, info = record.tcp_info("one", side=0)
    assert int(info["total_retrans"][-1]) == pytest.approx(client.retransmits or 0, abs=2)
    # iperf3 hands over whole buffers and does not count what came after it had stopped.
    acked = int(info["bytes_acked"][-1])
    assert server.bytes_received * 0.95 < acked <= client.bytes_sent + 40
    assert client.bytes_received == server.bytes_received


def test_udp_loss_in_overload_is_the_same_from_both(experiment: Experiment) -> None:
    """Twice what the link carries: half is lost, whoever sends it (1 - C/offered, less the headers)."""
    ours, theirs = (experiment(UDP.format(more=more)) for more in ("", BY_IPERF3))
    assert metric(theirs, "goodput_steady_bps") == pytest.approx(metric(ours, "goodput_steady_bps"), rel=0.01)
    # The full queue at the end is lost to neither alike: 17 packets of 6800.
    assert metric(theirs, "loss") == pytest.approx(metric(ours, "loss"), abs=0.01)
    expected = 1 - 10 * 1472 / 1514 / 20
    assert metric(theirs, "loss") == pytest.approx(expected, abs=0.01)


def test_iperf3_runs_are_repeatable_to_the_byte(experiment: Experiment) -> None:
    """Its cookie, its clock and its processes come from the guest alone."""
    text = TCP.format(more=BY_IPERF3).replace('"8s"', '"3s"')
    first, second = (experiment(text, fresh=True) for _ in range(2))
    names = sorted(path.name for path in (first.path / "raw").iterdir())
    assert "iperf3-0-client.json" in names
    for name in names:
        assert checksum(first.path / "raw" / name) == checksum(second.path / "raw" / name), name


def test_a_flow_that_ends_by_its_size(experiment: Experiment) -> None:
    """All bytes arrive, and the experiment's end does not cut the report off."""
    record = experiment("""
        duration = "3s"
        topology = { preset = "dumbbell", rate = "20mbit", rtt = "10ms" }
        flow = [
            { name = "one", generator = "iperf3", bytes = "1MB", start = "200ms" },
            { name = "two", generator = "iperf3", duration = "1s", start = "2s" },
        ]
    """)
    assert [flow.outcome.error for flow in record.context.flows.values()] == [None, None]
    sent = record.iperf3("one", "client").bytes_sent
    assert sent >= 1_000_000
    assert record.iperf3("two", "client").sent_s == pytest.approx(1, abs=0.01)


def test_what_the_kernel_lacks_is_said_before_the_experiment(experiment: Experiment) -> None:
    """As for the agent's own flows."""
    with pytest.raises(AgentError, match="nosuch"):
        experiment(TCP.format(more=BY_IPERF3).replace("cubic", "nosuch"))


def test_a_path_that_carries_nothing_is_the_flows_own_error(experiment: Experiment) -> None:
    """The run goes on and says of the flow that its client never finished."""
    record = experiment(TCP.format(more=BY_IPERF3).replace('"1bdp"', '"1bdp", loss = "100%"'))
    assert "client did not end" in str(record.context.flows[0].outcome.error)
