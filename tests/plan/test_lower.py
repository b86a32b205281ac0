import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import DUMBBELL, Edge, check_plan, graph, scenario

from rushhour.errors import PlanError
from rushhour.plan import lower, netem
from rushhour.spec import Scenario
from rushhour.spec.load import load_scenario

GOLDEN = Path(__file__).parents[1] / "data" / "plan-window-scaling.json"


def ends_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [end for link in plan["links"] for end in link["ends"]]


def test_the_plan_of_window_scaling_is_the_golden_one() -> None:
    lowered = lower(load_scenario("tomasov/window-scaling"), 1)
    assert lowered.plan == json.loads(GOLDEN.read_text())
    check_plan(lowered)


def test_lowering_twice_gives_the_same_bytes() -> None:
    one, two = (json.dumps(lower(scenario(DUMBBELL), 7).plan) for _ in range(2))
    assert one == two


def test_a_seed_changes_the_wires_and_nothing_else() -> None:
    one, two = (lower(scenario(DUMBBELL), seed).plan for seed in (1, 2))
    for plan in (one, two):
        plan.pop("seed")
        for end in ends_of(plan):
            if end["wire"]:
                end["wire"].pop("seed")
    assert one == two


def test_a_dumbbell_needs_no_emulator_and_delays_each_pair_by_its_own_rtt() -> None:
    lowered = lower(
        scenario(
            {"preset": "dumbbell", "rate": "10mbit", "rtts": ["10ms", "31ms"], "jitter": "0us"}, [{}, {}]
        ),
        1,
    )
    check_plan(lowered)
    assert [node["name"] for node in lowered.plan["nodes"]] == ["s1", "s2", "left", "right", "r1", "r2"]
    assert [flow["base_rtt_ns"] for flow in lowered.context["flows"]] == [10_000_000, 31_000_000]
    assert {flow["bottleneck_end"] for flow in lowered.context["flows"]} == {4}
    assert lowered.context["ends"][4]["label"] == "left → right"


def test_every_pair_has_its_own_line_rate() -> None:
    rates = {"pairs": 2, "access_rates": ["1gbit", "999999kbit"]}
    links = lower(scenario(DUMBBELL | rates, [{}, {}]), 1).plan["links"]
    by_ends = {(end["node"], end["dev"]): end["qdiscs"] for link in links for end in link["ends"]}
    assert [by_ends[host, "left"][0].split()[5] for host in ("s1", "s2")] == ["1000000000bit", "999999000bit"]
    assert [by_ends[host, "right"][0].split()[5] for host in ("r1", "r2")] == [
        "1000000000bit",
        "999999000bit",
    ]


def test_mean_jitter_counts_into_the_base_rtt() -> None:
    (flow,) = lower(scenario(DUMBBELL | {"jitter": "40us"}), 1).context["flows"]
    assert flow["base_rtt_ns"] == 20_000_000 + 20_000 + 20_000


def test_a_chain_lets_cross_traffic_share_one_hop_each() -> None:
    lowered = lower(scenario({"preset": "chain", "hops": 3, "rate": "10mbit", "rtt": "20ms"}, [{}] * 4), 1)
    check_plan(lowered)
    long, *cross = lowered.context["flows"]
    assert len(long["ends"]) == 5
    assert [flow["bottleneck_end"] for flow in cross] == long["ends"][1:-1]


def test_a_star_has_one_emulator_and_true_rtts() -> None:
    rtts = ["10ms", "40ms", "20ms"]
    topology = {"preset": "star", "rate": "1gbit", "rtts": rtts, "jitter": "0us"}
    lowered = lower(scenario(topology, [{}] * 3), 1)
    check_plan(lowered)
    assert lowered.plan["nodes"][-1]["name"] == "hub-r1.1"
    assert [flow["base_rtt_ns"] for flow in lowered.context["flows"]] == [10**7, 4 * 10**7, 2 * 10**7]
    assert len({flow["bottleneck_end"] for flow in lowered.context["flows"]}) == 1


def test_shape_at_sender_puts_the_queue_on_the_senders_own_egress() -> None:
    lowered = lower(scenario(DUMBBELL | {"shape_at": "sender"}), 1)
    check_plan(lowered)
    first = ends_of(lowered.plan)[0]
    assert first["node"] == "s1"
    assert first["qdiscs"][0].startswith("root handle 1: tbf")
    assert lowered.context["flows"][0]["bottleneck_end"] == 0


def test_a_line_rate_is_kept_on_the_hosts_egress_and_is_not_the_bottleneck_of_equals() -> None:
    lowered = lower(scenario(DUMBBELL | {"access_rate": "100mbit", "pairs": 2}, [{}, {}]), 1)
    assert "tbf rate 100000000bit" in ends_of(lowered.plan)[0]["qdiscs"][0]
    assert {flow["bottleneck_end"] for flow in lowered.context["flows"]} == {4}


def test_stages_keep_their_order_behind_a_host_and_never_sit_on_it() -> None:
    lowered = lower(
        graph(
            (("a", "b"), {"rate": "10mbit", "delay": "5ms", "netem": "duplicate 1%"}),
            flows=[{"from": "a", "to": "b"}],
        ),
        1,
    )
    check_plan(lowered)
    roles = {end["end"]: end["role"] for end in lowered.context["ends"]}
    (flow,) = lowered.context["flows"]
    for way in (flow["ends"], flow["reverse_ends"]):
        assert [roles[end] for end in way] == ["plain", "queue", "netem", "wire"]
    assert [node["name"] for node in lowered.plan["nodes"]] == ["a", "b", "a-b.1", "a-b.2", "a-b.3"]


def test_netem_always_has_an_explicit_limit_that_holds_twice_what_is_under_way() -> None:
    def line(words: str, **keys: str) -> str:
        lowered = lower(graph((("a", "b"), {"netem": words, **keys}), flows=[{"from": "a", "to": "b"}]), 1)
        lines: list[str] = [q for end in ends_of(lowered.plan) for q in end["qdiscs"] if "netem" in q]
        return lines[0]

    assert line("loss 1%") == "root handle 1: netem limit 1000 loss 1%"
    assert line("delay 1ms limit 7") == "root handle 1: netem delay 1ms limit 7"
    # 1 Gbit/s · 100 ms = 12.5 MB = 8256 full frames under way
    assert line("delay 100ms", rate="1gbit") == f"root handle 1: netem limit {2 * 8256 + 1000} delay 100ms"


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_payload_is_what_tcp_puts_into_a_full_frame(family: str) -> None:
    (flow,) = lower(scenario(DUMBBELL, family=family), 1).context["flows"]
    assert (flow["payload_per_packet"], flow["frame_bytes"]) == ({"ipv4": 1448, "ipv6": 1428}[family], 1514)


def test_without_timestamps_a_segment_carries_twelve_bytes_more() -> None:
    sysctl = {"net.ipv4.tcp_timestamps": 0}
    (flow,) = lower(scenario(DUMBBELL, sysctl=sysctl), 1).context["flows"]
    assert flow["payload_per_packet"] == 1460


def test_ecn_and_sysctls_go_to_the_nodes_that_need_them() -> None:
    flows = [{"from": "a", "to": "b", "ecn": True}]
    nodes = [{"name": "a", "sysctl": {"net.ipv4.tcp_sack": 0}}]
    plan = lower(
        graph(
            (("a", "m"), {}),
            (("m", "b"), {}),
            flows=flows,
            nodes=nodes,
            sysctl={"net.ipv4.tcp_rmem": [4096, 131072, 6291456]},
        ),
        1,
    ).plan
    sysctl = {node["name"]: dict(node["sysctl"]) for node in plan["nodes"]}
    assert sysctl["a"] == {
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
        "net.ipv4.tcp_sack": "0",
        "net.ipv4.tcp_ecn": "1",
    }
    assert sysctl["m"] == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}
    assert sysctl["b"]["net.ipv4.tcp_ecn"] == "1"


def test_copies_of_a_flow_take_the_pairs_in_turn() -> None:
    plan = lower(scenario(DUMBBELL | {"pairs": 2}, [{"name": "x", "count": 3}, {"name": "y"}]), 1).plan
    assert [(f["name"], f["from"]) for f in plan["flows"]] == [
        ("x.1", "s1"),
        ("x.2", "s2"),
        ("x.3", "s1"),
        ("y", "s2"),
    ]
    assert [(f["sport"], f["dport"]) for f in plan["flows"]] == [(33000 + n, 5001 + n) for n in range(4)]


def test_parallel_links_and_long_names_give_distinct_devices_and_labels() -> None:
    long = "a-very-long-name-of-a-router"
    lowered = lower(
        graph(
            (("h", f"{long}-1"), {}),
            ((f"{long}-1", f"{long}-2"), {"name": "one", "rate": "1mbit"}),
            ((f"{long}-1", f"{long}-2"), {"name": "two", "rate": "1mbit"}),
            ((f"{long}-2", "all"), {}),
            flows=[{"from": "h", "to": "all"}],
        ),
        1,
    )
    check_plan(lowered)


def test_a_multihomed_host_does_not_forward() -> None:
    links: list[Edge] = [(("a", "m"), {}), (("m", "b"), {})]
    flows = [{"from": "a", "to": "b"}]
    with pytest.raises(PlanError, match="no path from a to b; m is a host"):
        lower(graph(*links, flows=flows, nodes=[{"name": "m", "role": "host"}]), 1)


def test_no_path_is_an_error() -> None:
    links: list[Edge] = [(("a", "b"), {}), (("c", "d"), {})]
    with pytest.raises(PlanError, match="no path from a to d"):
        lower(graph(*links, flows=[{"from": "a", "to": "d"}]), 1)


DELAYS = st.sampled_from([None, "1ms", "30ms"])
LINK = st.fixed_dictionaries(
    {},
    optional={
        "rate": st.sampled_from(["1mbit", "100mbit"]),
        "delay": st.sampled_from(["1ms", "30ms"]),
        "loss": st.just("1%"),
        "netem": st.just("duplicate 1%"),
        "shape_at": st.just("sender"),
        "queue": st.sampled_from(["fq_codel", "red", "prio"]),
        "forward": st.just({"jitter": "10us"}),
        "reverse": st.just({"rate": "2mbit"}),
    },
)


@st.composite
def graphs(draw: st.DrawFn) -> Scenario:
    """A connected graph of routers with hosts hung on, and flows between any two nodes."""
    routers = draw(st.integers(1, 6))
    hosts = draw(st.integers(2, 6))
    names = [f"n{k}" for k in range(routers)]
    between = [(f"n{draw(st.integers(0, k - 1))}", f"n{k}") for k in range(1, routers)]
    if routers > 1:
        more = draw(st.lists(st.tuples(*[st.sampled_from(names)] * 2), max_size=4))
        between += [pair for pair in more if pair[0] != pair[1]]
    between += [(f"n{draw(st.integers(0, routers - 1))}", f"h{k}") for k in range(hosts)]
    links = [(pair, {"name": f"l{k}", **draw(LINK)}) for k, pair in enumerate(draw(st.permutations(between)))]
    every = names + [f"h{k}" for k in range(hosts)]
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(every)] * 2), min_size=1, max_size=6))
    flows = [{"from": one, "to": other} for one, other in pairs if one != other]
    nodes = [{"name": name, "role": "router"} for name in names]
    family = draw(st.sampled_from(["ipv4", "ipv6"]))
    return graph(*links, flows=flows, nodes=nodes, family=family)


@given(graphs())
@settings(max_examples=150)
def test_every_packet_of_every_graph_arrives_and_meets_the_stages_in_order(asked: Scenario) -> None:
    lowered = lower(asked, 3)
    check_plan(lowered)
    order = {"queue": 0, "netem": 1, "wire": 2}
    roles = [end["role"] for end in lowered.context["ends"]]
    stages = 0
    for name in {link["name"].split(":")[0] for link in lowered.plan["links"]}:
        cables = [n for n, link in enumerate(lowered.plan["links"]) if link["name"].split(":")[0] == name]
        for way in ([2 * n for n in cables], [2 * n + 1 for n in reversed(cables)]):
            met = [order[roles[end]] for end in way if roles[end] != "plain"]
            assert met == sorted(met)
            stages += len(met)
            for before, after in pairwise(way):
                assert roles[after] == "plain" or roles[before] != "plain" or before == way[0]
    assert stages == sum(role != "plain" for role in roles)


PRESET = st.fixed_dictionaries(
    {"preset": st.sampled_from(["dumbbell", "chain", "star"]), "rate": st.sampled_from(["64kbit", "1gbit"])},
    optional={
        "rtt": st.sampled_from(["1us", "20ms", "15s"]),
        "buffer": st.sampled_from(["3kB", "1p", "5ms", "2bdp"]),
        "queue": st.sampled_from(["fifo", "cake", "choke", "netem delay 1ms"]),
        "reverse_rate": st.just("3mbit"),
        "access_rate": st.just("2gbit"),
        "shape_at": st.sampled_from(["path", "sender"]),
        "shaper": st.just("htb"),
        "loss": st.just("1%"),
        "drop": st.just([3, 1, 3]),
        "jitter": st.sampled_from(["0us", "1ms"]),
        "netem": st.just("delay 3ms rate 1gbit"),
        "mtu": st.sampled_from(["576B", "9000B"]),
    },
)


@given(PRESET, st.integers(1, 5), st.integers(1, 7), st.sampled_from(["ipv4", "ipv6"]))
@settings(max_examples=150)
def test_every_preset_works_and_its_rtts_are_what_was_asked(
    keys: dict[str, Any], size: int, flows: int, family: str
) -> None:
    count = {"dumbbell": "pairs", "star": "leaves", "chain": "hops"}[keys["preset"]]
    lowered = lower(scenario(keys | {count: size}, [{"count": flows}], family=family), 5)
    check_plan(lowered)
    asked = {"1us": 1_000, "20ms": 20_000_000, "15s": 15_000_000_000}.get(keys.get("rtt", ""), 0)
    ends = lowered.context["ends"]
    for flow in lowered.context["flows"]:
        way = [*flow["ends"], *flow["reverse_ends"]]
        assert sum(ends[end]["delay_ns"] for end in way if ends[end]["role"] == "wire") == asked
        assert ends[flow["bottleneck_end"]]["rate_bps"] == flow["bottleneck_bps"]
        assert flow["frame_bytes"] == int(keys.get("mtu", "1500B")[:-1]) + 14


def test_parallel_flows_share_one_calibration_and_each_bottleneck_has_a_train() -> None:
    plan = lower(scenario({"preset": "chain", "hops": 3, "rate": "1mbit"}, [{"count": 8}]), 1).plan
    assert [(p["from"], p["to"]) for p in plan["calibration"]["paths"]] == [
        ("s0", "r0"),
        ("s1", "r1"),
        ("s2", "r2"),
        ("s3", "r3"),
    ]
    # The long path and the first cross pair share the first hop; ten frames are its buffer.
    assert [(t["from"], t["packets"]) for t in plan["calibration"]["trains"]] == [
        ("s0", 10),
        ("s2", 10),
        ("s3", 10),
    ]


def test_a_train_is_never_longer_than_the_shortest_queue() -> None:
    plan = lower(scenario(DUMBBELL | {"buffer": "7p"}), 1).plan
    assert plan["calibration"]["trains"][0]["packets"] == 7
    plan = lower(scenario(DUMBBELL | {"buffer": "5000p"}), 1).plan
    assert plan["calibration"]["trains"][0]["packets"] == 200


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("delay 5ms 2ms distribution normal", (5_000_000, 2_000_000)),
        ("slot 800us 1ms", (0, 1_000_000)),
        ("delay 5ms slot 800us", (5_000_000, 800_000)),
        ("slot distribution normal 800us 100us", (0, 900_000)),
        ("loss 1% delay 5ms", (5_000_000, 0)),
    ],
)
def test_netems_delay_and_all_that_may_come_to_it(words: str, expected: tuple[int, int]) -> None:
    assert netem.delay_ns(words) == expected


def line_of(hops: int, **keys: Any) -> Scenario:
    links: list[Edge] = [((f"n{n}", f"n{n + 1}"), {"rate": "10mbit"}) for n in range(hops)]
    return graph(*links, flows=[{"from": "n0", "to": f"n{hops}"}], **keys)


@pytest.mark.parametrize(("hops", "living"), [(30, 0), (70, 2), (120, 2)])
def test_hosts_at_the_ends_of_long_paths_send_packets_that_live_longer(hops: int, living: int) -> None:
    nodes = lower(line_of(hops), 1).plan["nodes"]
    assert [node["sysctl"] for node in nodes].count([["net.ipv4.ip_default_ttl", "255"]]) == living


def test_a_path_that_no_packet_survives_is_refused() -> None:
    with pytest.raises(PlanError, match="hops"):
        lower(line_of(300), 1)
