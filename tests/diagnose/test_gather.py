"""Sections of facts from what machines answer; texts as kernels write them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.diagnosis import gather
from rushhour.diagnosis.facts import Facts, Number, Sizes, Text
from rushhour.diagnosis.gather import counters, cpu, link, machine, memory, pcie, sockets, sysctl, text
from rushhour.diagnosis.gather.reading import Reader, Reading, read
from rushhour.errors import HostError, RecordError

SOURCES = Path(__file__).parents[2] / "src" / "rushhour"
# Of a machine with two nodes of two processors each, and a card with two queues.
INTERRUPTS = """\
            CPU0       CPU1       CPU2       CPU3
   8:          0          0          0          1  IR-IO-APIC    8-edge      rtc0
  67:     123456          0          0          0  IR-PCI-MSIX-0000:03:00.0    0-edge      eno1-TxRx-0
  68:          0          0     654321          0  IR-PCI-MSIX-0000:03:00.0    1-edge      eno1-TxRx-1
  69:          7          0          0          0  IR-PCI-MSIX-0000:04:00.0    0-edge      eno10
 NMI:          3          3          3          3   Non-maskable interrupts
"""
STAT = """\
cpu  400 0 200 800 0 0 100 100 0 0
cpu0 300 0 100 200 0 0 100 0 0 0
cpu1 100 0 100 600 0 0 0 100 0 0
intr 5
"""
LATER = """\
cpu  500 0 200 900 0 0 200 200 0 0
cpu0 300 0 100 200 0 0 200 0 0 0
cpu1 200 0 100 700 0 0 0 200 0 0
"""


def card(**more: Any) -> Reading:
    found = Reading(dev="eno1", links={"eno1": {"mtu": 1500, "lower": [], "rx_queues": 64, "tx_queues": 64}})
    found.cards = {"eno1": {"driver": {"name": "ixgbe", "bus": "0000:03:00.0"}, **more}}
    found.files = {"/proc/interrupts": INTERRUPTS, "/proc/irq/67/effective_affinity_list": "0\n",
                   "/proc/irq/68/smp_affinity_list": "2-3\n"}  # fmt: skip
    return found


def test_interrupts_of_a_card_are_its_own_and_no_other() -> None:
    served = link.section(card())["interrupts"]
    assert [(one["irq"], one["cpus"], one["taken"]) for one in served] == [
        (67, "0", {"0": 123456}),
        (68, "2-3", {"2": 654321}),
    ]


def test_queues_are_those_that_are_used() -> None:
    found = card()
    for queue, cpus in (("rx-0", "c"), ("rx-1", "0"), ("tx-0", "1")):
        kind = "rps_cpus" if queue.startswith("rx") else "xps_cpus"
        found.files[f"/sys/class/net/eno1/queues/{queue}/{kind}"] = f"{cpus}\n"
    assert link.section(found)["queues"] == {"rx": 2, "tx": 1, "rps": "2-3", "xps": "0"}


def test_the_line_of_a_card_is_told_with_what_it_could_do() -> None:
    modes = {"supported": ["100baseT/Full", "1000baseT/Full", "Autoneg"], "advertised": ["100baseT/Full"]}
    told = link.section(
        card(link={"speed_mbps": 100, "duplex": "full", "autoneg": True, "port": "tp", **modes})
    )
    assert (told["speed_mbps"], told["supported_mbps"], told["advertised_mbps"]) == (100, 1000, 100)
    assert "partner_mbps" not in told


def test_offloads_by_their_short_words() -> None:
    on, off, fixed = (
        {"on": on, "requested": on, "fixed": fixed}
        for on, fixed in ((True, False), (False, False), (False, True))
    )
    features = {"tx-tcp-segmentation": off, "rx-gro": on, "rx-lro": fixed, "tx-checksum-ipv4": on,
                "tx-checksum-ip-generic": fixed}  # fmt: skip
    known = link.offloads(features)
    assert [word for word in known if known[word]["on"]] == ["gro", "tx"]
    assert known["lro"]["fixed"]
    assert not known["tso"]["fixed"]
    assert "gso" not in known


def test_what_lies_under_a_device_is_told_with_it() -> None:
    links = {"bond0.7": {"mtu": 1500, "lower": ["bond0"], "kind": "vlan", "vlan": 7},
             "bond0": {"mtu": 1500, "lower": ["eno1"], "kind": "bond", "bond": {"mode": "802.3ad"}},
             "eno1": {"mtu": 1500, "lower": [], "master": "bond0"}}  # fmt: skip
    told = link.section(Reading(dev="bond0.7", links=links))
    assert (told["dev"], told["vlan"]) == ("bond0.7", 7)
    assert told["under"]["bond0"]["bond"] == {"mode": "802.3ad"}
    assert told["under"]["eno1"]["master"] == "bond0"


@pytest.mark.parametrize(
    ("speed", "width", "gigabits"),
    # By hand: GT/s x lanes x coding (8/10, or 128/130) x 256/280 x 0.92. Generation 2 x8 suits two ports of
    # 10 Gbit/s, 3 x8 one of 40, 1 x1 not even 2.5.
    [(2.5, 1, 1.68), (2.5, 4, 6.73), (5.0, 8, 26.9), (8.0, 8, 53.0), (16.0, 16, 211.9)],
)
def test_what_a_slot_carries(speed: float, width: int, gigabits: float) -> None:
    found = pcie.carries(speed, width)
    assert found is not None
    assert found / 1e9 == pytest.approx(gigabits, rel=0.01)


def test_a_slot_is_read_from_the_bus() -> None:
    found = card()
    folder = "/sys/bus/pci/devices/0000:03:00.0"
    found.files |= {f"{folder}/current_link_speed": "8.0 GT/s PCIe\n", f"{folder}/current_link_width": "4\n",
                    f"{folder}/max_link_speed": "16.0 GT/s PCIe\n", f"{folder}/max_link_width": "16\n",
                    f"{folder}/numa_node": "1\n", f"{folder}/local_cpulist": "2-3\n"}  # fmt: skip
    told = pcie.section(found)["eno1"]
    assert (told["speed_gts"], told["width"], told["max_width"], told["numa_node"]) == (8.0, 4, 16, 1)
    found.files[f"{folder}/current_link_speed"] = "Unknown\n"
    assert pcie.section(found)["eno1"]["carries_bps"] is None
    found.files[f"{folder}/numa_node"] = "-1\n"
    assert "numa_node" not in pcie.section(found)["eno1"]


def test_processors_busy_between_two_readings() -> None:
    told = cpu.busy(STAT, LATER)
    # cpu0: 100 ticks of soft interrupts; cpu1: 100 user, 100 idle, 100 stolen.
    assert told["busy"] == {"0": 1.0, "1": pytest.approx(2 / 3, abs=1e-3)}
    assert told["mean"]["softirq"] == pytest.approx(0.5)
    assert told["mean"]["steal"] == pytest.approx(1 / 6, abs=1e-3)
    assert cpu.busy(None, LATER)["mean"]["steal"] < 1
    assert cpu.busy(STAT, None) == {}


def test_processors_and_their_frequencies() -> None:
    folder = "/sys/devices/system/cpu"
    files = {
        f"{folder}/online": "0-3\n",
        "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon\n\nprocessor: 1",
    }
    for n, governor in enumerate(("powersave", "powersave", "performance", "powersave")):
        files[f"{folder}/cpu{n}/cpufreq/scaling_governor"] = governor
        files[f"{folder}/cpu{n}/cpufreq/scaling_cur_freq"] = str(1_200_000 + n)
    files |= {
        "/sys/devices/system/node/node0/cpulist": "0-1\n",
        "/sys/devices/system/node/node1/cpulist": "2-3\n",
    }
    told = cpu.section(Reading(files=files))
    assert (told["count"], told["model"], told["khz_now"]) == (4, "Xeon", 1_200_000)
    assert told["governor"] == {"performance": 1, "powersave": 3}
    assert told["nodes"] == {"0": "0-1", "1": "2-3"}


MOUNTS_2 = "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"
MOUNTS_1 = (
    "31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


@pytest.mark.parametrize(
    ("mounts", "groups", "limits"),
    [
        (MOUNTS_2, "0::/user.slice/x.scope\n", {
            "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/user.slice/x.scope/cpu.max": "25000 100000\n",
            "/sys/fs/cgroup/user.slice/memory.max": "1073741824\n",
            "/sys/fs/cgroup/user.slice/x.scope/memory.max": "max\n"}),
        (MOUNTS_1, "4:memory:/lxc/a\n1:cpu,cpuacct:/lxc\n", {
            "/sys/fs/cgroup/cpu,cpuacct/lxc/cpu.cfs_quota_us": "25000\n",
            "/sys/fs/cgroup/cpu,cpuacct/lxc/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/memory/lxc/memory.limit_in_bytes": "1073741824\n",
            "/sys/fs/cgroup/memory/lxc/a/memory.limit_in_bytes": "9223372036854771712\n"}),
    ],
)  # fmt: skip
def test_the_tightest_group_limits(mounts: str, groups: str, limits: dict[str, str]) -> None:
    asked = Host({"/proc/self/mountinfo": mounts, "/proc/self/cgroup": groups, **limits})
    assert memory.cgroup(read(asked, "192.0.2.2")) == {"cpus": 0.25, "throttled": 0, "memory": 1 << 30}


def test_memory_in_bytes() -> None:
    told = memory.section(
        Reading(files={"/proc/meminfo": "MemTotal: 1000 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n"})
    )
    assert told == {"total": 1_024_000, "swap_total": 10_240, "swap_free": 4096, "swap_used": 6144}


def test_a_virtual_machine_and_a_container() -> None:
    files = {
        "/proc/cpuinfo": "processor: 0\nflags : fpu hypervisor sse\n",
        "/proc/1/cgroup": "0::/docker/ab\n",
    }
    assert machine.virtualisation(Reading(files=files)) == {"hypervisor": True, "container": "docker"}
    assert machine.virtualisation(Reading(files={"/proc/cpuinfo": "flags: fpu\n"}))["hypervisor"] is False


def test_counters_are_told_apart_and_their_rise() -> None:
    softnet = "0000000a 00000002 00000001 0 0 0 0 0 0 0 0 0 00000003 0 0\n"
    files = {"/proc/net/snmp": "Tcp: RtoMin RetransSegs\nTcp: 200 5\n", "/proc/net/softnet_stat": softnet,
             "/proc/stat": STAT, "/proc/vmstat": "pswpin 4\nnr_free 9\n"}  # fmt: skip
    queue = {
        "kind": "tbf",
        "parent": "root",
        "bytes": 9,
        "packets": 3,
        "drops": 1,
        "overlimits": 0,
        "requeues": 0,
    }
    found = Reading(
        dev="e", links={"e": {"statistics": {"rx_dropped": 7}, "carrier_changes": 1}}, files=files
    )
    found.qdiscs = {"e": {"qdiscs": [queue]}}
    told = counters.section(found)
    assert told["snmp.Tcp.RetransSegs"] == 5
    assert "snmp.Tcp.RtoMin" not in told
    # The processor's number is in the row (softnet_seq_show), not its place.
    assert (told["softnet.3.dropped"], told["softnet.3.time_squeeze"]) == (2, 1)
    assert (told["qdisc.e.tbf.root.drops"], told["link.e.rx_dropped"], told["vm.pswpin"]) == (1, 7, 4)
    after = told | {"link.e.rx_dropped": 9, "vm.pswpin": 1, "new": 4}
    assert counters.rise(told, after) == {"link.e.rx_dropped": 2}


def test_drops_of_udp_sockets_are_summed() -> None:
    table = "  sl  local_address drops\n 1: 00 5\n 2: 00 7\n"
    assert sockets.udp_drops(table) == 12
    assert sockets.udp_drops(None) is None


def test_settings_by_their_names_and_of_devices_with_dots() -> None:
    name = "net.ipv4.conf.eth0/7.rp_filter"
    assert sysctl.path(name) == "/proc/sys/net/ipv4/conf/eth0.7/rp_filter"
    files = {sysctl.path(name): "1\n", "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
             "/proc/sys/net/ipv4/tcp_congestion_control": "bbr\n"}  # fmt: skip
    assert sysctl.section(files) == {
        name: 1, "net.ipv4.tcp_rmem": [4096, 131072, 6291456], "net.ipv4.tcp_congestion_control": "bbr",
    }  # fmt: skip


@given(st.lists(st.integers(0, 300), max_size=20))
def test_lists_of_processors_come_back(numbers: list[int]) -> None:
    assert text.processors(text.written(numbers)) == (sorted(set(numbers)) if numbers else None)


@given(st.text(max_size=200))
def test_no_text_of_a_kernel_stops_the_reading(anything: str) -> None:
    for parse in (
        text.number,
        text.processors,
        text.mask,
        text.pairs,
        text.doubled,
        text.value,
        cpu.pressures,
    ):
        parse(anything)


class Host:
    """A machine that has these files and nothing else."""

    place: Any = "alice"

    def __init__(self, files: dict[str, str], **answers: Any) -> None:
        self.files, self.answers = files, answers

    def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        if verb == "files":
            known = {path: self.files[path] for path in arguments["paths"] if path in self.files}
            missing = dict.fromkeys(arguments["paths"], "No such file or directory (os error 2)")
            return {
                "files": known,
                "unreadable": {path: why for path, why in missing.items() if path not in known},
            }
        if verb not in self.answers:
            raise HostError(f"this agent has no verb {verb!r}", where="alice")
        return dict(self.answers[verb])


def test_a_machine_that_tells_little_is_told_so_and_nothing_fails() -> None:
    facts = gather.gather(Host({"/proc/stat": STAT}), "192.0.2.2", wait=lambda _: None)
    assert facts.link.mtu is None
    assert facts.cpu.count is None
    assert facts.unknown["route"].startswith("this agent has no verb")
    assert not [what for what in facts.unknown if what.startswith("/")], (
        "what no machine must have is no lack"
    )
    assert Facts.from_document(facts.document()).document() == facts.document()


def test_the_next_hop_is_known_with_the_route() -> None:
    route = {"found": {"dev": "eno1", "gateway": "192.0.2.254"}}
    hop = {"address": "192.0.2.254", "dev": "eno1", "state": "failed"}
    other = hop | {"dev": "eno2", "state": "reachable"}
    host = Host({"/proc/stat": ""}, route=route, neighbours={"neighbours": [other, hop]})
    facts = gather.gather(host, "198.51.100.1", wait=lambda _: None)
    assert facts.route.neighbour.state == "failed"


def test_what_may_not_be_read_is_said() -> None:
    reader = Reader(Host({}))
    reader.session.call = lambda *_, **__: {"files": {}, "unreadable": {"/proc/x": "Permission denied"}}  # type: ignore[method-assign]
    reader.files(["/proc/x"])
    assert reader.found.unknown == {"/proc/x": "Permission denied"}


def test_facts_of_another_format_are_refused() -> None:
    with pytest.raises(RecordError, match="rushhour-facts/1"):
        Facts.from_document({"format": "rushhour-facts/9"})
    with pytest.raises(RecordError, match=r"facts: link is 'eth0'; expected a table"):
        Facts.from_document({"format": "rushhour-facts/1", "link": "eth0"})


def test_facts_of_an_older_version_are_read() -> None:
    """What a section lacks is not known; what no rule asks for stays there."""
    old = {
        "format": "rushhour-facts/1",
        "place": "alice",
        "link": {"dev": "eth0", "rings": {"rx-max": 512}, "fec": 1},
    }
    facts = Facts.from_document(old)
    assert (facts.link.dev, facts.link.mtu, facts.link.rings.rx, facts.link.rings.rx__max) == (
        "eth0",
        None,
        None,
        512,
    )
    assert facts.link.driver.name is None
    assert facts.number("net.ipv4.tcp_sack") is None
    assert facts.document()["link"] == old["link"]
    assert facts.document().keys() == {*old, "unknown"}


@pytest.mark.parametrize(
    ("section", "damaged", "says"),
    [
        ("link", {"mtu": "1500"}, r"link\.mtu is '1500'; expected a whole number"),
        ("link", {"under": {"eth0": {"rings": {"rx-max": []}}}}, r"link\.under\.eth0\.rings\.rx-max is \[\]"),
        ("cpu", {"load": [0.1, "much"]}, r"cpu\.load\.1 is 'much'; expected a number"),
        ("qdisc", {"eth0": {"qdiscs": [{"kind": 7}]}}, r"qdisc\.eth0\.qdiscs\.0\.kind is 7; expected a text"),
    ],
)
def test_damaged_facts_are_refused_by_their_name(section: str, damaged: object, says: str) -> None:
    with pytest.raises(RecordError, match=says):
        Facts.from_document({"format": "rushhour-facts/1", section: damaged})


def test_an_answer_of_another_shape_is_the_agents_fault() -> None:
    host = Host({"/proc/stat": ""}, route={"found": {"mtu": "1500"}})
    with pytest.raises(HostError, match=r"the agent's answer cannot be read: .*route\.found\.mtu is .1500."):
        gather.gather(host, "192.0.2.2", wait=lambda _: None)


def test_idle_states_whose_latency_is_not_known_are_read() -> None:
    document = {"format": "rushhour-facts/1", "cpu": {"idle_states_us": {"C1": 2, "C6": None}}}
    assert Facts.from_document(document).cpu.idle_states_us == {"C1": 2, "C6": None}


def test_every_setting_that_is_asked_for_is_read_and_has_one_shape() -> None:
    names = [name for kind in (Number, Sizes, Text) for name in get_args(kind)]
    assert len(names) == len({*names})
    assert {*names} <= {*sysctl.NAMES}


READERS = [
    *sorted((SOURCES / "diagnosis" / "rules").glob("*.py")),
    *(SOURCES / "diagnosis" / f"{name}.py" for name in ("flow", "shown", "table")),
    *(SOURCES / "tune" / f"{name}.py" for name in ("advice", "plan", "rules")),
]
NO_FACTS = {"one.cure.socket", "cure.socket", "CAUSES", "one.change", "sizes", "gates", "card.errors or {}"}
"""Tables whose keys are no facts: remedies, changes, values by end, counters by the kernel's names."""


def by_text(text: str) -> list[str]:
    """What is read by a text: `known["mtu"]`, `known.get("mtu")`. A misspelt one nobody would find."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript):
            table, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            table, key = node.func.value, node.args[0]
        else:
            continue
        texts = isinstance(key, ast.Constant) and isinstance(key.value, str)
        if (texts or isinstance(key, ast.JoinedStr)) and ast.unparse(table) not in NO_FACTS:
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", READERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_facts_are_read_by_fields_that_the_type_checker_knows(path: Path) -> None:
    assert by_text(path.read_text(encoding="utf-8")) == []


def test_a_fact_that_is_read_by_a_text_is_found() -> None:
    text = 'known.get("link", "mtu"), link["mtu"], rings[f"{side}-max"], known[name], cure.socket["cc"]'
    assert by_text(text) == ["known.get('link', 'mtu')", "link['mtu']", "rings[f'{side}-max']"]
