"""Queue disciplines in virtual kernels: set by the agent and by tc, and told by the kernel alike."""

from __future__ import annotations

import re
import shlex
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from guests import shell

from rushhour.errors import UnsupportedError
from rushhour.lab import kernel as kernels

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.lab.kernel import Kernel

pytestmark = pytest.mark.virtual

CASES = tomllib.loads((Path(__file__).parents[1] / "data/queue-dumps.toml").read_text())
DEVICES = """
ip link add one type veth peer name other
ip link add many numtxqueues 4 numrxqueues 4 type veth peer name ends
for dev in one other many ends; do ip link set $dev up; done
"""
DUMP = """
tc -d qdisc show dev $dev
tc -d class show dev $dev
for at in root ingress egress 'parent 2:'; do tc -d filter show dev $dev $at 2> /dev/null; done
tc qdisc del dev $dev root 2> /dev/null
tc qdisc del dev $dev clsact 2> /dev/null
"""


def by_tc(dev: str, lines: list[str]) -> str:
    commands = []
    for line in lines:
        what, _, rest = line.partition(" ") if line.startswith(("class ", "filter ")) else ("qdisc", "", line)
        # A virtual queue is a change of the gred that stands there.
        verb = "change" if "gred vq" in line else "add"
        commands.append(f"tc {what} {verb} dev {dev} {rest}")
    return "\n".join(commands)


def script(dev: str, lines: list[str]) -> str:
    by_agent = f"rushhour-agent queue {dev} {shlex.join(lines)}"
    return f"{DEVICES}\ndev={dev}\n{by_tc(dev, lines)}\n{DUMP}\necho the agent:\n{by_agent}\n{DUMP}"


def plain(text: str) -> str:
    """Without what counts, nor what tc hands on of the kernel's doubts, and words one blank apart."""
    text = re.sub(r"^Warning: .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\bpolice 0x[0-9a-f]+ ", "police ", text)
    text = re.sub(r"\b(installed|used|firstused) \d+ sec\b|\bindex \d+\b|\bref \d+ bind \d+\b", "", text)
    # What has no handle is numbered by the kernel, from the second half of the range on.
    text = re.sub(r"\b80[0-9a-f]{2}:", "8001:", text)
    return " ".join(text.split())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_kernel_tells_the_same_of_the_agents_and_of_tcs(
    case: dict[str, Any], kernel: Kernel, tmp_path: Path
) -> None:
    said = shell(tmp_path, script(case.get("dev", "one"), case["lines"]), ("ip", "tc"), kernel.image)
    tc, agent = map(plain, said.split("the agent:"))
    assert agent == tc
    assert [words for words in case["told"] if words not in agent] == [], agent


def test_a_discipline_that_the_kernel_lacks_is_said_with_its_option(kernel: Kernel, tmp_path: Path) -> None:
    said = shell(tmp_path, f"{DEVICES}\nrushhour-agent queue one 'root dualpi2'", ("ip",), kernel.image)
    assert "this kernel has no qdisc dualpi2 (CONFIG_NET_SCH_DUALPI2)" in said
    assert "It has: pfifo " in said
    assert " taprio " in said


def test_a_device_of_one_queue_is_said_to_be_too_little(kernel: Kernel, tmp_path: Path) -> None:
    said = shell(tmp_path, f"{DEVICES}\nrushhour-agent queue one 'root multiq'", ("ip",), kernel.image)
    assert "multiq needs a device with several queues" in said


@pytest.mark.parametrize(("release", "lacks"), [("6.1", True), ("6.12", False)])
def test_an_option_that_an_older_kernel_takes_and_leaves_out_is_said(
    release: str, lacks: bool, tmp_path: Path
) -> None:
    """fq has weights since 6.7; policers count packets in both kernels."""
    image = kernels.find(f"debian-{release}").image
    lines = (
        "'root fq weights 32768 16384 16384'",
        "clsact 'filter ingress matchall action police pkts_rate 9 pkts_burst 9'",
    )
    commands = "\n".join(f"rushhour-agent queue one {line} && echo done" for line in lines)
    said = shell(tmp_path, f"{DEVICES}\n{commands}", ("ip",), image)
    assert ("this kernel has no weights in fq" in said) == lacks
    assert said.count("done") == 2 - lacks


def test_so_is_one_that_comes_while_packets_pass(experiment: Experiment, kernel: Kernel) -> None:
    scenario = """
    duration = "300ms"
    topology = {{ preset = "dumbbell", rate = "20mbit", rtt = "10ms", queue = "fq then at 100ms fq {}" }}
    [[flow]]
    cc = "cubic"
    """
    lacks = pytest.raises(UnsupportedError, match="no weights in fq")
    with lacks if kernel.name == "debian-6.1" else nullcontext():
        experiment(scenario.format("weights 32768 16384 16384"))
    experiment(scenario.format("limit 50"))
