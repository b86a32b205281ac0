import json
import shlex
import subprocess
import sys
from typing import Any

import pytest
from networks import DUMBBELL, Edge, graph, scenario

from rushhour.plan import commands, lower
from rushhour.plan.commands import link_local


def test_every_part_of_a_plan_has_its_command() -> None:
    plan = lower(scenario(DUMBBELL | {"loss": "1%", "drop": [3, 5], "queue": "red", "shaper": "htb"}), 1).plan
    lines = commands(plan)
    ends = [end for link in plan["links"] for end in link["ends"]]
    for node in plan["nodes"]:
        assert f"ip netns add {node['name']}" in lines
    for end in ends:
        assert f"ip -n {end['node']} addr add {end['addresses'][0]} dev {end['dev']}" in lines
        for qdisc in end["qdiscs"]:
            assert f"tc -n {end['node']} qdisc add dev {end['dev']} {qdisc}" in lines
        wire = f"ip netns exec {end['node']} rushhour-agent wire {end['dev']} "
        wires = [line for line in lines if line.startswith(wire)]
        assert len(wires) == (end["wire"] is not None)
    assert len([line for line in lines if " route add " in line]) == len(plan["routes"])
    assert len([line for line in lines if " neigh add " in line]) == len(plan["neighbours"])


def test_a_class_comes_after_its_qdisc_and_before_what_is_under_it() -> None:
    lines = commands(lower(scenario(DUMBBELL | {"shaper": "htb"}), 1).plan)
    at = [line.split() for line in lines if line.startswith("tc -n left") and "dev right" in line]
    assert [words[3:5] for words in at] == [["qdisc", "add"], ["class", "add"], ["qdisc", "add"]]


def test_a_change_is_a_command_of_its_own() -> None:
    lines = commands(lower(scenario(DUMBBELL | {"queue": "fq buckets 2 then fq buckets 8"}), 1).plan)
    assert "tc -n left qdisc change dev right parent 1:1 handle 10: fq buckets 8" in lines


def test_the_wires_line_says_what_it_does_and_what_comes_nearest() -> None:
    topology = DUMBBELL | {"jitter": "50us", "loss": "1.5%", "drop": [3, 5], "reorder": True}
    (line,) = (line for line in commands(lower(scenario(topology), 1).plan) if "agent wire r1" in line)
    words, nearly = line.split("  # nearly: ")
    assert " r1 delay 10ms jitter 50us loss 1.5% drop 3,5 reorder seed " in words
    assert nearly == "tc -n right qdisc replace dev r1 root netem limit 1000000 delay 10025us 25us loss 1.5%"


def test_a_link_local_address_comes_from_the_hardware() -> None:
    assert link_local("02:00:00:0a:01:ff") == "fe80::ff:fe0a:1ff"


NETWORK: list[Edge] = [
    (("a", "m"), {"mtu": "1400B"}),
    (("m", "n"), {"rate": "50mbit", "buffer": "40p", "reverse": {"rate": "2mbit", "buffer": "30kB"}}),
    (("n", "b"), {"offload": True}),
    (("n", "c"), {"receive_offload": True}),
]


# Sends a datagram from `a` to `b` and waits for the answer: one process, in one namespace after the other.
ECHO = """
import ctypes, os, socket, sys
def within(node):
    assert ctypes.CDLL(None).setns(os.open(f"/run/netns/{node}", os.O_RDONLY), 0) == 0
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
address = sys.argv[1]
listener, sender = within("b"), within("a")
listener.bind((address, 5001))
listener.settimeout(5), sender.settimeout(5)
sender.sendto(b"there", (address, 5001))
listener.sendto(b"back", listener.recvfrom(9)[1])
print(sender.recv(9).decode())
"""


@pytest.mark.host
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_the_commands_build_the_plans_network_in_the_running_kernel(family: str) -> None:
    plan = lower(graph(*NETWORK, flows=[{"from": "a", "to": "b", "ecn": True}], family=family), 1).plan
    # A mount namespace of its own keeps the names of the network namespaces to this test.
    script = ["set -e", "mkdir -p /run/netns", "mount -t tmpfs none /run/netns", *commands(plan)]
    script += [shlex.join([sys.executable, "-c", ECHO, plan["flows"][0]["dst"]])]
    script += ["ip netns exec a sysctl net.ipv4.tcp_ecn"]
    script += [f"ip -n {node['name']} -j -d addr; echo" for node in plan["nodes"]]
    script += [f"tc -n {node['name']} qdisc" for node in plan["nodes"]]
    done = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-c", "\n".join(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["back", "net.ipv4.tcp_ecn = 1"]
    lists = [line for line in done.stdout.splitlines() if line.startswith("[")]
    devices: dict[tuple[str, str], Any] = {
        (node["name"], device["ifname"]): device
        for node, text in zip(plan["nodes"], lists, strict=True)
        for device in json.loads(text)
    }
    for end in (end for link in plan["links"] for end in link["ends"]):
        _check_device(end, devices[end["node"], end["dev"]])
    assert "tbf 1: dev n root refcnt 2 rate 50Mbit" in done.stdout
    assert "pfifo 10: dev n parent 1:1 limit 40p" in done.stdout
    assert "tbf 1: dev m root refcnt 2 rate 2Mbit" in done.stdout


def _check_device(end: Any, device: Any) -> None:
    assert device["address"] == end["mac"]
    assert device["mtu"] == end["mtu"]
    assert device["operstate"] == "UP"
    assert device["gso_max_segs"] == 1 or end["offload"]
    own = {f"{link_local(end['mac'])}/64"} if ":" in end["addresses"][0] else set()
    assert {f"{a['local']}/{a['prefixlen']}" for a in device["addr_info"]} == {*end["addresses"], *own}
