"""What `--set` is told for a queue: by topology, direction and link; and SYNs where nothing was traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from builders import SECOND, end, flow, outcome, tcp_info
from builders import record as make

from rushhour.record.keys import of_link, own_sysctls
from rushhour.series.handshake import syn_retransmits

if TYPE_CHECKING:
    from pathlib import Path

LINKS = [{"between": ["home", "isp"]}, {"between": ["isp", "far"], "name": "trunk"}]


@pytest.mark.parametrize(
    ("resolved", "label", "key"),
    [
        ({"topology": {"preset": "dumbbell"}}, "left → right", "topology.queue"),
        ({"topology": {"preset": "dumbbell"}}, "right → left", "topology.reverse_queue"),
        ({"topology": {"preset": "dumbbell"}}, "s1 → left", "topology.queue"),
        ({"topology": {"preset": "dumbbell"}}, "r1 → right", "topology.reverse_queue"),
        ({"topology": {"preset": "chain"}}, "n9 → n10", "topology.queue"),
        ({"topology": {"preset": "chain"}}, "n10 → n9", "topology.reverse_queue"),
        ({"topology": {"preset": "star"}}, "hub → r1", "topology.queue"),
        ({"topology": {"preset": "star"}}, "r1 → hub", "topology.reverse_queue"),
        ({"link": LINKS}, "home → isp", "link.home-isp.forward.queue"),
        ({"link": LINKS}, "isp → home", "link.home-isp.reverse.queue"),
        ({"link": LINKS}, "far → isp, queue", "link.trunk.reverse.queue"),
        ({"link": [*LINKS, LINKS[0]]}, "home → isp", ""),
        ({}, "home → isp", ""),
    ],
)
def test_the_key_of_a_queue(resolved: dict[str, Any], label: str, key: str, tmp_path: Path) -> None:
    # A stage behind an emulator has the emulator's node, so the node says nothing.
    record = make(
        tmp_path / "run", ends=[end(label=label, node="x.1")], manifest={"scenario": {"resolved": resolved}}
    )
    assert of_link(record, record.context.ends[2], "queue") == key


def test_what_is_no_queue_has_no_key(tmp_path: Path) -> None:
    record = make(tmp_path / "run", ends=[end(role="wire")])
    assert of_link(record, record.context.ends[2], "queue") == ""
    assert of_link(record, None, "queue") == ""


def test_a_node_keeps_sysctls_of_its_own() -> None:
    table = {"net": {"ipv4": {"tcp_rmem": "1 2 3"}}, "net.ipv4.tcp_sack": 0}
    found = own_sysctls({"node": [{"name": "r1", "sysctl": table}, {"name": "s1"}]})
    assert found == {"r1": {"net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"}, "s1": frozenset()}


@pytest.mark.parametrize(
    ("connected", "again", "syns"), [(SECOND // 50, 3, 0), (2 * SECOND, 3, 2), (7 * SECOND, 3, 3)]
)
def test_lost_syns_without_traced_events(connected: int, again: int, syns: int, tmp_path: Path) -> None:
    record = make(
        tmp_path / "run",
        {"tcp_info": tcp_info([8 * SECOND, 9 * SECOND], total_retrans=[again, again + 5])},
        flows=[flow()],
        outcomes=[outcome(connected_ns=connected)],
    )
    assert syn_retransmits(record, record.flows("tcp")[0]) == syns
