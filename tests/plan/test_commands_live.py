"""What the printed commands build and what the agent builds, side by side in one virtual kernel.

The guest's shell runs the commands; then the agent carries out the same plan; iproute2 tells what there is in
both sets of namespaces, and both tell the same, counters and interface numbers apart.
"""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from networks import DUMBBELL, Document, graph, scenario

from rushhour.lab import agent, kernel, tools, uml
from rushhour.lab.confine import Guest, Limits, Sandbox
from rushhour.plan import commands, lower
from rushhour.record.plan_file import planned
from rushhour.spec import Scenario

pytestmark = pytest.mark.virtual

TOOLS = ("dash", "ethtool", "ip", "sysctl", "tc")
INIT = r"""
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int start(const char *program, const char *word, const char *file)
{
    int pid = fork();
    if (pid)
        return pid;
    chdir("/tmp");
    char *words[] = {(char *)program, (char *)word, (char *)file, 0};
    char *environment[] = {"PATH=/tools", 0};
    execve(program, words, environment);
    _exit(127);
}

static void name_namespaces(int pid)
{
    int found = 0;
    for (int fd = 0; fd < 1024; fd++) {
        char path[64], target[64] = "", name[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
        readlink(path, target, sizeof target - 1);
        /* The first is the agent's own, then come the nodes in the plan's order. */
        if (strncmp(target, "net:[", 5) || found++ == 0)
            continue;
        snprintf(name, sizeof name, "/run/netns/agent%d", found - 2);
        close(open(name, O_CREAT | O_WRONLY, 0600));
        mount(path, name, "none", MS_BIND, 0);
    }
}

int main(void)
{
    mount("none", "/out", "hostfs", 0, "out");
    mount("none", "/proc", "proc", 0, "");
    mount("none", "/sys", "sysfs", 0, "");
    mount("none", "/dev", "tmpfs", 0, "");
    mount("none", "/tmp", "tmpfs", 0, "");
    mount("none", "/run", "tmpfs", 0, "");

    mkdir("/run/netns", 0755);
    mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3));
    waitpid(start("/tools/dash", "/out/commands.sh", 0), 0, 0);
    /* Bonds agree with their partners in the meantime. */
    struct timespec rest = {10, 0};
    nanosleep(&rest, 0);
    waitpid(start("/tools/dash", "/out/dump_commands.sh", 0), 0, 0);
    int builder = start("/tools/rushhour-agent", "run", "/out/agent");
    for (int tries = 0; access("/out/agent/progress", F_OK) && tries < 1000; tries++) {
        struct timespec nap = {0, 10000000};
        nanosleep(&nap, 0);
    }
    name_namespaces(builder);
    waitpid(start("/tools/dash", "/out/dump_agent.sh", 0), 0, 0);
    reboot(RB_POWER_OFF);
    return 0;
}
"""
ETHTOOL = 'for dev; do ethtool -k "$dev"; done'


def dump(namespace: str, devices: list[str], prefix: str) -> tuple[dict[str, str], list[str]]:
    """Files of questions, and commands that write all there is in a namespace to `/out/found/PREFIX.WHAT`.

    A program starts slowly in a virtual kernel, so each is asked all it can tell at once: a line an answer.
    """
    of_family = ["route show table all", "neigh", "rule"]
    filters = [f"filter show dev {dev} {at}" for dev in devices for at in ("root", "egress", "ingress")]
    asked = {
        "link": ("ip -d -j", ["link", "address"]),
        "ipv4": ("ip -4 -d -j", of_family),
        "ipv6": ("ip -6 -d -j", of_family),
        "qdisc": ("tc -d -j", ["qdisc", *filters]),
        # Not as JSON, which older ones of tc break; the discipline's line says whose classes follow.
        "class": ("tc -d", [f"{what} show dev {dev}" for dev in devices for what in ("qdisc", "class")]),
    }
    questions = {f"{prefix}.{what}": "\n".join(lines) + "\n" for what, (_, lines) in asked.items()}
    commands = {
        what: f"{program} -n {namespace} -force -batch /out/asked/{prefix}.{what}"
        for what, (program, _) in asked.items()
    }
    inside = f"ip netns exec {namespace}"
    commands["offload"] = f"{inside} dash -c {shlex.quote(ETHTOOL)} dash {shlex.join(devices)}"
    commands["sysctl"] = f"{inside} sysctl -a --pattern ^net"
    return questions, [f"{line} > /out/found/{prefix}.{what} 2>&1" for what, line in commands.items()]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A guest's root with a shell, iproute2, and the agent as a program among them."""
    folder = tmp_path_factory.mktemp("programs")
    root = folder / "root"
    files = {place: path for name in TOOLS for place, path in tools.find(name).files.items()}
    files["tools/rushhour-agent"] = agent.find().binary
    for place, path in files.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / place)
    for name in (*agent.MOUNT_POINTS, "run"):
        (root / name).mkdir(exist_ok=True)
    source = folder / "init.c"
    source.write_text(INIT)
    subprocess.run(["gcc", "-static", "-O1", "-w", "-o", root / "init", source], check=True)
    return root


def both(plan: Document, programs: Path, folder: Path) -> dict[str, dict[str, str]]:
    """What is found after the commands and after the agent: name of the dump → its text."""
    devices = {
        node["name"]: [
            end["dev"] for link in plan["links"] for end in link["ends"] if end["node"] == node["name"]
        ]
        for node in plan["nodes"]
    }
    for arrival in plan.get("ingress", ()):
        devices[arrival["node"]] += [arrival["ifb"]] if arrival["ifb"] else []
    bare = plan | {"flows": [], "calibration": {}, "duration_ns": 10**10, "readings": {}}
    script = ["set -e", "sysctl -qw net.core.fb_tunnels_only_for_init_net=2", *commands(planned(plan))]
    questions: dict[str, str] = {}
    after: dict[str, list[str]] = {"commands": [], "agent": []}
    for number, (name, own) in enumerate(devices.items()):
        for who, namespace in (("commands", shlex.quote(name)), ("agent", f"agent{number}")):
            asked, lines = dump(namespace, own, f"{who}.{number}")
            questions |= asked
            after[who] += lines
    image = kernel.find("debian-6.12").image
    with Sandbox(folder / "runs", image, programs) as box:
        for name in ("agent", "found", "asked"):
            (box.out / name).mkdir()
        for name, text in questions.items():
            (box.out / "asked" / name).write_text(text)
        (box.out / "agent/plan.json").write_text(json.dumps(bare))
        (box.out / "commands.sh").write_text(
            "\n".join(["exec > /out/commands.log 2>&1", *script, "echo end"])
        )
        for who, lines in after.items():
            (box.out / f"dump_{who}.sh").write_text("\n".join(lines))
        words = uml.command(image, 1024, seed=1)
        ending = Guest(agent.find().binary, box, words, limits=Limits(240, 120), cpu=0).wait()
        assert ending.reason == "done", box.console.read_text()[-2000:]
        assert (box.out / "commands.log").read_text() == "end\n"
        found: dict[str, dict[str, str]] = {"commands": {}, "agent": {}}
        for path in (box.out / "found").iterdir():
            who, _, what = path.name.partition(".")
            found[who][what] = path.read_text()
        return found


# What depends on when a thing was made, or counts what happened.
TRANSIENT = {
    *("ifindex", "link_index", "link_netnsid", "expires", "used", "confirmed", "updated", "probes"),
    # Of a bridge's port, by the speed at the moment it joined; no spanning tree asks for it.
    "cost",
    *("valid_life_time", "preferred_life_time", "id", "map_ids", "load_time"),
}
IGNORED_SYSCTL = re.compile(
    # Random keys of this boot, and counters.
    r"stable_secret|\.seed|conntrack|fib_sync_mem|tcp_fastopen_key|dst_entries|flow_limit_cpu|random"
    # The agent's nodes have tables of their own, which are cheaper to read.
    r"|tcp_ehash_entries"
)


def told(what: str, text: str) -> list[Any]:
    """Dumps without what is transient, in an order of their own."""
    lines = text.splitlines()
    if what == "sysctl":
        return sorted(line for line in lines if not IGNORED_SYSCTL.search(line))
    if what == "offload":
        return list(_under(lines, "Features for "))
    if what == "class":
        # Older tc cut the time of htb's bursts to whole µs; the agent does not, as newer ones.
        return sorted(re.sub(r"burst \d+b/\d+", "burst", line) for line in _under(lines, "qdisc "))
    return [{"question": number} | entry for number, line in enumerate(lines) for entry in _answer(line)]


def _answer(line: str) -> list[dict[str, Any]]:
    try:
        entries = strip(json.loads(line))
    except ValueError:  # older tc breaks the JSON of some disciplines
        return [{"text": line}]
    # Who made a route is no matter: `boot` by hand, `static` by the agent.
    return [entry | {"protocol": None} if "dst" in entry else entry for entry in entries]


def _under(lines: list[str], head: str) -> Iterator[str]:
    """Each line with the last one that began so, which is of its device."""
    owner = ""
    for line in lines:
        if line.startswith(head):
            owner = line
        else:
            yield f"{owner} | {line}"


def strip(value: Any) -> Any:
    """Without what is transient."""
    if isinstance(value, dict):
        return {
            key: strip(item)
            for key, item in value.items()
            if key not in TRANSIENT and not key.endswith("_timer")
        }
    if isinstance(value, list):
        return sorted((strip(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def differences(ours: list[Any], theirs: list[Any]) -> list[tuple[Any, Any]]:
    """Entries that only one side has, side by side."""
    only_ours = [entry for entry in ours if entry not in theirs]
    only_theirs = [entry for entry in theirs if entry not in ours]
    pairs: list[tuple[Any, Any]] = list(zip_longest(only_ours, only_theirs, fillvalue={}))
    return [pair if isinstance(pair[0], str) else _apart(*pair) for pair in pairs]


def _apart(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[Any, Any]:
    """What differs of two entries, with their names."""
    keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key) or key == "ifname"]
    return {key: ours.get(key) for key in keys}, {key: theirs.get(key) for key in keys}


WIDE: Document = DUMBBELL | {"loss": "1%"}
CASES: dict[str, Scenario] = {
    "dumbbell": scenario(WIDE | {"pairs": 2}, sysctl={"net.ipv4.tcp_ecn": "1", "net.core.somaxconn": "77"}),
    "chain": scenario({"preset": "chain", "hops": 2, "rate": "10mbit", "rtt": "20ms", "queue": "fq_codel"}),
    "star": scenario(
        {"preset": "star", "leaves": 2, "rate": "10mbit", "rtt": "20ms", "shaper": "htb", "queue": "red"}
    ),
    "ipv6": scenario(DUMBBELL | {"queue": "pie"}, family="ipv6"),
    "netem": scenario(
        DUMBBELL | {"netem": "delay 10ms 1ms loss gemodel 1% 10% duplicate 1%", "queue": "cake"}
    ),
    "classes": graph(
        (
            ("a", "m"),
            {"rate": "9mbit", "class": [{"name": "one", "rate": "4mbit", "ceil": "9mbit", "flows": ["f"]}]},
        ),
        (
            ("m", "b"),
            {
                "rate": "8mbit",
                "scheduler": "drr",
                "class": [{"name": "one", "flows": ["f"], "weight": 3}],
                "reverse": {"scheduler": "hfsc", "class": [{"name": "one", "rate": "1mbit", "flows": ["f"]}]},
            },
        ),
        flows=[{"from": "a", "to": "b", "name": "f", "count": 3}],
    ),
    "ingress": graph(
        (
            ("a", "m"),
            {
                "rate": "9mbit",
                "delay": "5ms",
                "netem": "loss 1%",
                "impair_at": "ingress",
                "shape_at": "sender",
            },
        ),
        (("m", "b"), {"rate": "8mbit", "delay": "5ms", "police": {"rate": "5mbit", "burst": "9kB"}}),
        flows=[{"from": "a", "to": "b"}],
        family="ipv6",
    ),
    "graph": graph(
        (("a", "m"), {"mtu": "1400B", "rate": "9mbit", "queue": "sfq"}),
        (("m", "n"), {"rate": "50mbit", "buffer": "40p", "reverse": {"rate": "2mbit", "queue": "hhf"}}),
        (("n", "b"), {"offload": True, "rate": "7mbit", "queue": "codel ecn"}),
        flows=[{"from": "a", "to": "b"}],
    ),
    "bonds": graph(
        (("a", "s"), {"rate": "9mbit", "delay": "1ms", "bond": {"links": 2, "hash": "layer2+3"}}),
        (("b", "s"), {"rate": "9mbit", "shape_at": "sender"}),
        (("s", "r"), {"bond": {"links": 2, "mode": "balance-xor", "hash": "vlan+srcmac"}}),
        (("r", "c"), {"bond": {"links": 3, "mode": "balance-rr"}}),
        (("r", "d"), {"bond": {"links": 2, "mode": "active-backup"}}),
        nodes=[{"name": "s", "role": "switch"}],
        flows=[{"from": "a", "to": "b"}, {"from": "a", "to": "c"}, {"from": "b", "to": "d"}],
        family="ipv6",
    ),
    "balance": graph(
        (("a", "m"), {"rate": "9mbit"}),
        (("m", "n"), {"name": "upper", "rate": "9mbit", "delay": "2ms"}),
        (("m", "n"), {"name": "lower", "rate": "9mbit", "delay": "4ms"}),
        (("n", "b"), {"rate": "9mbit"}),
        nodes=[{"name": "m", "balance": "packet"}, {"name": "n", "balance": "source"}],
        flows=[{"from": "a", "to": "b"}],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_commands_build_what_the_agent_builds(case: str, programs: Path, tmp_path: Path) -> None:
    plan = lower(CASES[case], 1).plan
    found = both(plan, programs, tmp_path)
    assert set(found["commands"]) == set(found["agent"])
    differing = [
        f"{name}: the commands {ours}, the agent {theirs}"
        for name, text in sorted(found["agent"].items())
        for ours, theirs in differences(
            told(name.split(".")[1], found["commands"][name]), told(name.split(".")[1], text)
        )
    ]
    assert not differing, "\n".join(differing)
