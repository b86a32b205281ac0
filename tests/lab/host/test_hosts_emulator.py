"""An emulator on a machine in the middle: queues on its devices for the time of a run, then as before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from beds.path import Path as BuiltPath
from beds.path import path

from rushhour.errors import HostError, LabError, UnsupportedError
from rushhour.lab.host.inventory import Inventory
from rushhour.lab.hosts import HostsLab
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.spec.load import parse_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.host, pytest.mark.alone]

SCENARIO = """\
title = "In the middle"
duration = "1s"
sample = "20ms"
[topology]
preset = "dumbbell"
rate = "8mbit"
rtt = "{rtt}"
jitter = "0us"
buffer = "30kB"
[[flow]]
name = "stream"
cc = "cubic"
"""


@pytest.fixture(scope="module")
def bed() -> Iterator[BuiltPath]:
    """A path with 10 ms of its own and no bottleneck of its own; `left` becomes the emulator."""
    with path(rate=None, rtt="10ms") as laid:
        yield laid


def lab(bed: BuiltPath, **middle: Any) -> HostsLab:
    hosts = {
        "s1": {"at": bed.a},
        "r1": {"at": bed.b},
        "left": {"at": bed.nodes["left"].place, "forward": "right", "backward": "a", **middle},
    }
    return HostsLab(Inventory.model_validate({"host": hosts}))


def lowered(rtt: str = "0ms") -> Any:
    return lower(parse_scenario(SCENARIO.format(rtt=rtt)), 1)


def state(bed: BuiltPath) -> str:
    """What stands on the emulator's devices, without the carriers, which take a moment to be there."""
    left = bed.nodes["left"]
    names = sorted(line.split()[1] for line in left.run("ip", "-o", "link").splitlines())
    features = "".join(left.run("ethtool", "-k", dev) for dev in ("a", "right"))
    return left.run("tc", "qdisc", "show") + " ".join(names) + features


def test_the_bottleneck_is_on_the_emulator_and_goes_with_the_run(bed: BuiltPath, tmp_path: Path) -> None:
    before = state(bed)
    with lab(bed) as found:
        record = Record.open(found.measure(lowered(), tmp_path / "run"))
        assert state(bed) == before
    assert state(bed) == before
    assert record.valid, record.manifest["invalid_reasons"]
    record.verify()
    stream = record.context.flow("stream")
    assert stream.bottleneck_bps == 8_000_000
    assert stream.base_rtt_ns is not None
    assert stream.base_rtt_ns >= 10_000_000
    # The queue's own counters say that it was the one that limited.
    assert stream.bottleneck_end is not None
    queue = record.root_qdisc(stream.bottleneck_end)
    assert queue["kind"][-1] == b"tbf"
    sent = int(queue["bytes"][-1] - queue["bytes"][0])
    assert 0 < sent * 8 <= 1.1 * 8_000_000
    received = stream.outcome.bytes_received
    assert received is not None
    assert sent >= 0.9 * received
    assert record.context.end(stream.bottleneck_end).label == "left → right"
    assert record.manifest["hosts"]["left"]["forward"] == "right"


@pytest.mark.skipif(os.path.exists("/sys/module/sch_fq"), reason="this kernel has fq")  # noqa: PTH110
def test_a_delay_that_the_kernel_cannot_make_is_said_before_the_start(bed: BuiltPath, tmp_path: Path) -> None:
    before = state(bed)
    with lab(bed) as found, pytest.raises(UnsupportedError) as caught:
        found.measure(lowered("4ms"), tmp_path / "run")
    assert "fq" in str(caught.value)
    assert "left" in str(caught.value.where)
    assert state(bed) == before
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_is_not_there_is_named_with_those_that_are(bed: BuiltPath, tmp_path: Path) -> None:
    with lab(bed, forward="eth7") as found, pytest.raises(HostError) as caught:
        found.measure(lowered(), tmp_path / "run")
    assert "no device eth7" in caught.value.message
    assert "right" in str(caught.value.hint)


def test_an_emulator_that_does_not_forward_is_told_so(bed: BuiltPath, tmp_path: Path) -> None:
    bed.nodes["left"].sysctl("net.ipv4.ip_forward", 0)
    try:
        with lab(bed) as found, pytest.raises(LabError, match="does not forward"):
            found.measure(lowered(), tmp_path / "run")
    finally:
        bed.nodes["left"].sysctl("net.ipv4.ip_forward", 1)


def test_sysctls_are_set_where_the_inventory_allows_it_and_put_back(bed: BuiltPath, tmp_path: Path) -> None:
    name = "net.ipv4.tcp_sack"
    text = SCENARIO.format(rtt="0ms").replace("[topology]", f"[sysctl]\n{name} = 0\n[topology]")
    wanted = lower(parse_scenario(text), 1)
    hosts = {"s1": {"at": bed.a, "sysctl": True}, "r1": {"at": bed.b, "sysctl": True}}
    with HostsLab(Inventory.model_validate({"host": hosts})) as found:
        record = Record.open(found.measure(wanted, tmp_path / "run"))
        assert bed.nodes["a"].read(name) == "0"
    assert [bed.nodes[node].read(name) for node in "ab"] == ["1", "1"]
    (change,) = record.manifest["hosts"]["s1"]["settings"]
    assert change["change"]["name"] == name
    # TCPI_OPT_SACK is the second bit.
    _, info = record.tcp_info("stream")
    assert not (info["options"] & 2).any()
