from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st
from networks import DUMBBELL, graph, scenario

from rushhour.plan import drawing


def picture(text: str) -> str:
    return dedent(text).strip("\n")


def test_a_dumbbell() -> None:
    assert picture("""
        s1 ─┐         100mbit · 1bdp fifo          ┌─ r1
            ├─ left ═══════════════════════ right ─┤
        s2 ─┘                                      └─ r2
        """) in drawing(scenario(DUMBBELL | {"pairs": 2}))


def test_of_many_pairs_the_first_and_the_last_are_drawn() -> None:
    assert picture("""
          s1 ─┐                                      ┌─ r1
          s2 ─┤         100mbit · 1bdp fifo          ├─ r2
           ⋮  ├─ left ═══════════════════════ right ─┤  ⋮
         s99 ─┤                                      ├─ r99
        s100 ─┘                                      └─ r100
        """) in drawing(scenario(DUMBBELL | {"pairs": 100}))


def test_directions_that_differ_are_both_told() -> None:
    text = drawing(scenario(DUMBBELL | {"reverse_rate": "1mbit", "reverse_loss": "2%"}))
    assert "→ 100mbit · 1bdp fifo" in text
    assert "← 1mbit · 1bdp fifo" in text
    assert "reverse loss  2 %, seeded" in text


def test_the_moments_of_a_flow_are_told() -> None:
    law = {"distribution": "exponential", "mean": "100ms"}
    flows = (
        {"name": "left", "kind": "udp", "rate": "1mbit", "receiver_leaves": "1s"},
        {"name": "turns", "kind": "udp", "rate": "1mbit", "on": law, "off": "2s", "start": "3s"},
    )
    text = drawing(scenario(DUMBBELL | {"pairs": 2}, flows))
    assert "left   s1 → r1  udp  0s → 10s  at 1mbit, receiver leaves at 1s\n" in text
    assert "turns  s2 → r2  udp  3s → 10s  at 1mbit, on for exponential 100ms, off for 2s" in text


def test_what_a_client_asks_for_is_told() -> None:
    flow = {"name": "asks", "kind": "rr", "request": "300B", "response": "6kB", "in_flight": 8}
    text = drawing(scenario(DUMBBELL, (flow,)))
    assert "asks  s1 → r1  rr  0s → 10s  requests of 300B, responses of 6kB, in flight 8" in text


def test_a_star_and_a_chain() -> None:
    assert picture("""
        s1 ─┐        100mbit · 1bdp fifo
        s2 ─┼─ hub ═══════════════════════ r1
        s3 ─┘
        """) in drawing(scenario(DUMBBELL | {"preset": "star", "leaves": 3}))
    assert picture("""
        s0 ── n1 ══════════ n2 ══════════ n3 ── r0
              │             │             │
              s1          r1 s2           r2
        """) in drawing(scenario(DUMBBELL | {"preset": "chain"}))


def test_free_graphs_are_drawn_as_path_tree_or_list() -> None:
    flows = [{"from": "a", "to": "b", "name": "x", "cc": "bbr", "start": "1s", "bytes": "1MB"}]
    path = drawing(graph((("a", "m"), {"rate": "1mbit"}), (("m", "b"), {"delay": "5ms"}), flows=flows))
    assert path.splitlines()[0] == "a ═══ m ═══ b"
    assert "a  ═══  m  1mbit · 1bdp fifo" in path
    assert path.splitlines()[-1] == "x  a → b  tcp bbr  1s → done  1MB"
    tree = drawing(
        graph((("a", "m"), {}), (("m", "b"), {}), (("m", "n"), {}), (("n", "c"), {"loss": "1%"}), flows=flows)
    )
    assert (
        picture("""
        m
        ├── a
        ├── b
        └── n
            └── c  loss 1 %, seeded
        """)
        in tree
    )
    ring = drawing(graph((("a", "m"), {}), (("m", "b"), {}), (("b", "a"), {"mtu": "9000B"}), flows=flows))
    assert "b  ═══  a  MTU 9000B" in ring


def test_a_policer_is_drawn_where_it_sits() -> None:
    policed = DUMBBELL | {"police": {"rate": "2mbit", "burst": "10kB"}}
    assert ", policed to 2mbit, bucket 10kB" in drawing(scenario(policed))
    peaked = DUMBBELL | {"police": {"rate": "2mbit", "burst": "10kB", "peak": "4mbit"}}
    assert ", policed to 2mbit, bucket 10kB, peak 4mbit" in drawing(scenario(peaked))
    counting = {"rate": "1mbit", "forward": {"police": {"packets": "250/s", "packet_burst": 20}}}
    drawn = drawing(graph((("a", "b"), counting), flows=[{"from": "a", "to": "b", "name": "x"}]))
    assert "policed to 250 packets/s, bucket 20p" in drawn


@given(st.integers(1, 40), st.sampled_from(["dumbbell", "star", "chain"]))
def test_no_picture_is_wider_than_a_terminal_and_the_bar_is_straight(size: int, preset: str) -> None:
    count = {"dumbbell": "pairs", "star": "leaves", "chain": "hops"}[preset]
    lines = drawing(scenario(DUMBBELL | {"preset": preset, count: size})).split("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    if preset == "dumbbell":
        bracket = {position for line in lines for position in map(line.rfind, "┌├└┼") if position > 20}
        assert len(bracket) <= 1
