"""Plans put onto machines: what is kept of a drawing, what goes to the emulator, what is refused."""

import json
from typing import Any

import pytest
from networks import DUMBBELL, graph, scenario

from rushhour.errors import PlanError, RushHourError
from rushhour.plan import expand, lower
from rushhour.plan.at_hosts import at_hosts
from rushhour.plan.onto import Emulator, Onto, Seat, onto, talkers
from rushhour.record.plan_file import PlanFile
from rushhour.spec.catalog import catalogue
from rushhour.spec.load import load_scenario

MIDDLE = Emulator("mid", "eth2", "eth1")
PATH = {"preset": "dumbbell", "rate": "10mbit", "rtt": "20ms", "buffer": "50kB", "jitter": "0us"}


def seats(plan: PlanFile, **more: Any) -> dict[str, Seat]:
    return {
        node: Seat(node, f"192.0.2.{number + 1}", "eth0", more.get("mtu", 1500))
        for number, node in enumerate(talkers(plan))
    }


def put(topology: dict[str, Any], flows: list[dict[str, Any]], emulator: Emulator | None = MIDDLE) -> Onto:
    lowered = lower(scenario(topology, flows), 1)
    return onto(lowered, seats(lowered.plan), emulator)


def test_nothing_of_the_drawing_is_made_on_a_path_as_found() -> None:
    one = put(PATH, [{}], None)
    assert [node["name"] for node in one.plan["nodes"]] == ["s1", "r1"]
    assert (one.plan["links"], one.plan["routes"], one.plan["neighbours"]) == ([], [], [])
    assert "egress" not in one.plan
    flow = one.plan["flows"][0]
    assert (flow["src"], flow["dst"]) == ("192.0.2.1", "192.0.2.2")
    meaning = one.context["flows"][0]
    assert (meaning["base_rtt_ns"], meaning["bottleneck_bps"], meaning["bottleneck_end"]) == (
        None,
        None,
        None,
    )
    assert one.plan["watch"] == [
        {"node": "s1", "dev": "eth0", "end": 0},
        {"node": "r1", "dev": "eth0", "end": 1},
    ]
    assert (meaning["ends"], meaning["reverse_ends"]) == ([0], [1])
    (sentence,) = one.left_out
    assert "rate 10 Mbit/s" in sentence
    assert "delay 10 ms" in sentence
    assert "50000 B" in sentence


def test_an_emulator_gets_the_queues_and_the_delays_of_both_directions() -> None:
    one = put(PATH, [{}])
    delay, queue, back_delay, back_queue = one.plan["egress"]
    assert (queue["dev"], back_queue["dev"]) == ("eth2", "eth1")
    assert queue["qdiscs"][0].startswith("root handle 1: tbf rate 10000000bit")
    assert (queue["wire"], "ifb" in queue) == (None, False)
    # Delay is met on arrival, for the queue has the device.
    assert (delay["dev"], back_delay["dev"]) == ("eth1", "eth2")
    assert delay["wire"]["delay_ns"] == back_delay["wire"]["delay_ns"] == 10_000_000
    assert delay["ifb"] != back_delay["ifb"]
    assert delay["wire"]["seed"] != back_delay["wire"]["seed"]
    meaning = one.context["flows"][0]
    assert meaning["ends"] == [0, delay["end"], queue["end"]]
    assert meaning["reverse_ends"] == [1, back_delay["end"], back_queue["end"]]
    assert meaning["bottleneck_end"] == queue["end"]
    assert one.context["ends"][queue["end"]]["label"] == "left → right"
    assert [end["end"] for end in one.context["ends"]] == list(range(6))
    assert one.left_out == ()
    assert json.loads(json.dumps(one.plan)) == one.plan


def test_flows_of_both_directions_meet_the_queue_of_theirs() -> None:
    topology = PATH | {"reverse_rate": "2mbit"}
    one = put(topology, [{"from": "s1", "to": "r1"}, {"name": "up", "from": "r1", "to": "s1"}])
    there, back = one.context["flows"]
    devices = {end["end"]: end["dev"] for end in one.context["ends"]}
    assert [devices[there["bottleneck_end"]], devices[back["bottleneck_end"]]] == ["eth2", "eth1"]
    assert [there["bottleneck_bps"], back["bottleneck_bps"]] == [10_000_000, 2_000_000]


def test_delays_in_a_row_add_up_and_losses_multiply() -> None:
    first = {"delay": "3ms", "loss": "10%", "jitter": "0us"}
    drawn = graph(
        (("a", "m"), first),
        (("m", "b"), first | {"delay": "4ms", "rate": "5mbit"}),
        flows=[{"from": "a", "to": "b"}],
    )
    lowered = lower(drawn, 1)
    one = onto(lowered, seats(lowered.plan), MIDDLE)
    wire = next(entry["wire"] for entry in one.plan["egress"] if entry["wire"])
    assert wire["delay_ns"] == 7_000_000
    assert wire["loss"] == pytest.approx(0.19)


def test_a_jumbo_path_has_jumbo_segments() -> None:
    lowered = lower(scenario(PATH, [{}]), 1)
    one = onto(lowered, seats(lowered.plan, mtu=9000))
    meaning = one.context["flows"][0]
    assert (meaning["payload_per_packet"], meaning["frame_bytes"]) == (8948, 9014)


def test_sysctls_are_handed_over_and_not_in_the_plan() -> None:
    lowered = lower(scenario(PATH, [{}], sysctl={"net.ipv4.tcp_sack": 0}), 1)
    one = onto(lowered, seats(lowered.plan))
    assert one.sysctls == {name: {"net.ipv4.tcp_sack": "0"} for name in ("s1", "r1")}
    assert all(node["sysctl"] == [] for node in one.plan["nodes"])


def test_one_machine_may_take_the_part_of_many_nodes() -> None:
    lowered = lower(scenario(PATH | {"pairs": 3}, [{}, {}, {}]), 1)
    two = {"s": Seat("s*", "192.0.2.1", "eth0"), "r": Seat("r*", "192.0.2.2", "eth0")}
    one = onto(lowered, {node: two[node[0]] for node in talkers(lowered.plan)}, MIDDLE)
    assert [node["name"] for node in one.plan["nodes"]] == ["s*", "r*", "mid"]
    assert {(flow["from"], flow["to"]) for flow in one.plan["flows"]} == {("s*", "r*")}
    assert len(one.plan["calibration"]["paths"]) == 1
    assert len({(flow["sport"], flow["dport"]) for flow in one.plan["flows"]}) == 3


@pytest.mark.parametrize(
    ("name", "emulator", "words"),
    [
        ("suite/bond", None, "the bond"),
        ("suite/input-drops", None, "drop_input of node r1"),
        ("suite/rate-change", MIDDLE, "[[pattern]]"),
        ("suite/police", MIDDLE, "a policer"),
        ("suite/precise-timestamps", None, "timestamps"),
        ("suite/route-windows", None, "initcwnd or initrwnd of node s1"),
        ("suite/several-paths", MIDDLE, "several ways"),
        ("giurgiu/devices-in-between", MIDDLE, "another bottleneck or another delay"),
    ],
)
def test_what_machines_cannot_do_is_refused_by_name(name: str, emulator: Emulator | None, words: str) -> None:
    lowered = lower(expand(load_scenario(name))[0].scenario, 1)
    with pytest.raises(PlanError) as caught:
        onto(lowered, seats(lowered.plan), emulator)
    assert words in str(caught.value)
    assert "uml" in str(caught.value.hint)


def test_pairs_with_rtts_of_their_own_need_the_whole_drawing() -> None:
    with pytest.raises(PlanError, match="another delay"):
        put(DUMBBELL | {"rtts": ["10ms", "30ms"], "pairs": 2}, [{}, {}])


def test_two_nodes_that_talk_are_not_one_machine() -> None:
    lowered = lower(scenario(PATH, [{}]), 1)
    seat = Seat("one", "192.0.2.1")
    with pytest.raises(PlanError, match="from one to one"):
        onto(lowered, {"s1": seat, "r1": seat})


def test_addresses_of_two_families_are_refused() -> None:
    lowered = lower(scenario(PATH, [{}]), 1)
    with pytest.raises(PlanError, match="IPv6"):
        onto(lowered, {"s1": Seat("s1", "192.0.2.1"), "r1": Seat("r1", "2001:db8::1")})


@pytest.mark.parametrize("emulator", [None, MIDDLE])
def test_every_scenario_of_the_catalogue_is_put_or_refused_in_words(emulator: Emulator | None) -> None:
    made: list[Onto] = []
    refused: list[RushHourError] = []
    for file in catalogue().values():
        lowered = lower(expand(load_scenario(file))[0].scenario, 1)
        try:
            made.append(onto(lowered, seats(lowered.plan), emulator))
        except PlanError as error:
            refused.append(error)
    assert all(error.hint for error in refused)
    assert len(made) > 100
    for one in made:
        known = {end["end"] for end in one.context["ends"]}
        for flow in one.context["flows"]:
            assert {*flow["ends"], *flow["reverse_ends"]} <= known
            assert flow["bottleneck_end"] is None or flow["bottleneck_end"] in known


def test_what_is_done_at_a_machine_is_told_in_commands_without_namespaces() -> None:
    lines = at_hosts(put(PATH, [{"cc": "cubic"}]))
    assert lines["s1"] == ["# flow tcp1: tcp by cubic from 192.0.2.1 to 192.0.2.2 port 5001"]
    assert lines["r1"] == ["# flow tcp1: listens on 192.0.2.2 port 5001/tcp"]
    middle = lines["mid"]
    queue = "tc qdisc add dev eth2 root handle 1: tbf rate 10000000bit"
    assert sum(line.startswith(queue) for line in middle) == 1
    assert sum(line.startswith("ethtool -K eth1") for line in middle) == 1
    redirected = [line.split()[-1] for line in middle if "mirred" in line]
    made = [line.split()[4] for line in middle if line.startswith("ip link add")]
    assert redirected == made
    assert not any("HERE" in line or "netns" in line for line in middle)
