"""What chance decides: laws against their closed forms, streams that do not disturb each other."""

import math
from itertools import islice, pairwise
from typing import Any

import pytest
from networks import DUMBBELL, check_plan, scenario

from rushhour.errors import PlanError
from rushhour.plan import lower
from rushhour.plan.arrivals import arrivals, mean_size, periods, size_law, sizes, stream
from rushhour.spec.arrivals import Arrivals, SizeLaw, TimeLaw

NS = 10**9
LAWS: list[dict[str, Any]] = [
    {"distribution": "fixed", "mean": "100kB"},
    {"distribution": "exponential", "mean": "100kB"},
    {"distribution": "exponential", "mean": "100kB", "max": "150kB"},
    {"distribution": "pareto", "mean": "100kB", "shape": 1.2, "max": "10MB"},
    {"distribution": "pareto", "mean": "100kB", "shape": 2.5},
    {"distribution": "lognormal", "mean": "100kB", "sigma": 1.0},
    {"distribution": "lognormal", "mean": "100kB", "sigma": 2.0, "max": "1MB"},
    {"distribution": "table", "table": [["1kB", 0.5], ["10kB", 0.8], ["1MB", 1.0]]},
    {"distribution": "websearch"},
]
MICE = {"name": "mice", "arrivals": {"rate": "100/s"}, "size": "10kB"}


def law(**keys: Any) -> SizeLaw:
    return SizeLaw.model_validate(keys)


@pytest.mark.parametrize("keys", LAWS, ids=lambda keys: "-".join(map(str, keys.values()))[:40])
def test_the_mean_of_what_is_drawn_is_the_laws(keys: dict[str, Any]) -> None:
    # The integral of the inverse distribution function over (0, 1), by the midpoint rule: no chance in it.
    inverse, steps = size_law(law(**keys)), 200_000
    integral = sum(inverse((step + 0.5) / steps) for step in range(steps)) / steps
    assert integral == pytest.approx(mean_size(law(**keys)), rel=0.005)


def test_a_pareto_law_has_its_tail_and_its_cut() -> None:
    # P(X > x) = (least / x)^shape: twice as far out there are 2^-shape as many.
    inverse = size_law(law(distribution="pareto", mean="100kB", shape=1.5))
    assert inverse(0.02) / inverse(0.02 * 2**1.5) == pytest.approx(2)
    cut = law(distribution="pareto", mean="100kB", shape=1.5, max="1MB")
    assert max(islice(sizes(cut, 1, "x"), 20_000)) == 1_000_000


def test_a_measured_law_has_its_shares() -> None:
    # DCTCP's web search: 15 % of 6 packets, the median within the 40 to 53 % of 33 to 53 packets.
    inverse = size_law(law(distribution="websearch"))
    assert (inverse(0.15), inverse(0.53), inverse(1.0)) == (6 * 1460, 53 * 1460, 20_000 * 1460)
    assert inverse(0.465) == pytest.approx(43 * 1460)
    assert mean_size(law(distribution="websearch")) == pytest.approx(1.66e6, rel=0.02)


def test_poisson_arrivals_are_as_many_and_as_far_apart_as_the_law_says() -> None:
    # N has mean and variance 1e5; the gaps' coefficient of variation is 1; a share exp(-1) exceeds the mean.
    times = list(arrivals(Arrivals.model_validate({"rate": "1000/s"}), 1000, (0, 100 * NS), 1, "x"))
    assert len(times) == pytest.approx(100_000, abs=4 * math.sqrt(100_000))
    gaps = [later - early for early, later in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert deviation / mean == pytest.approx(1, abs=0.02)
    assert sum(gap > mean for gap in gaps) / len(gaps) == pytest.approx(math.exp(-1), abs=0.01)


def test_constant_arrivals_do_not_drift() -> None:
    times = list(
        arrivals(Arrivals.model_validate({"process": "constant", "rate": "3/s"}), 3, (NS, 11 * NS), 1, "x")
    )
    assert len(times) == 30
    assert times[:4] == [NS, NS + 333_333_333, NS + 666_666_667, 2 * NS]


def test_bursts_of_arrivals_keep_the_mean_rate_and_stay_inside() -> None:
    words = {"process": "on-off", "rate": "1000/s", "on": "100ms", "off": "300ms"}
    times = list(arrivals(Arrivals.model_validate(words), 1000, (0, 40 * NS), 1, "x"))
    assert all(at % 400_000_000 < 100_000_000 for at in times)
    assert len(times) == pytest.approx(40_000, abs=4 * math.sqrt(40_000))


def test_periods_are_on_first_and_cut_at_the_end() -> None:
    fixed = TimeLaw.model_validate({"distribution": "fixed", "mean": "3s"})
    assert list(periods(fixed, fixed, (NS, 9 * NS), 1, "x")) == [(NS, 4 * NS), (7 * NS, 9 * NS)]
    random = TimeLaw.model_validate({"distribution": "exponential", "mean": "10ms"})
    found = list(periods(random, random, (0, 100 * NS), 1, "x"))
    assert all(early[1] < late[0] for early, late in pairwise(found))
    assert sum(stop - begin for begin, stop in found) == pytest.approx(50 * NS, rel=0.05)


def test_every_flow_draws_from_streams_of_its_own() -> None:
    def drawn(*flows: dict[str, Any], seed: int = 1) -> dict[str, list[tuple[int, int]]]:
        groups: dict[str, list[tuple[int, int]]] = {}
        for flow in lower(scenario(DUMBBELL, flows), seed).plan["flows"]:
            groups.setdefault(flow["name"].split(".")[0], []).append((flow["start_ns"], flow.get("bytes", 0)))
        return groups

    rats = MICE | {"name": "rats"}
    alone, both = drawn(MICE), drawn(rats, MICE)
    assert alone["mice"] == both["mice"] != both["rats"]
    assert alone != drawn(MICE, seed=2)
    large = drawn(MICE | {"size": {"distribution": "exponential", "mean": "1MB"}})["mice"]
    assert [at for at, _ in large] == [at for at, _ in alone["mice"]]


def test_arrivals_become_flows_with_numbers_ports_and_their_process() -> None:
    flows: list[dict[str, Any]] = [{"name": "long"}, MICE | {"start": "2s", "duration": "3s", "count": 2}]
    lowered = lower(scenario(DUMBBELL | {"pairs": 2}, flows), 1)
    check_plan(lowered)
    plan, context = lowered.plan["flows"], lowered.context["flows"]
    assert [flow["id"] for flow in plan] == list(range(len(plan)))
    assert {flow["dport"] - flow["id"] for flow in plan} == {5001}
    mice = [flow for flow in context if flow["group"] == "mice"]
    assert {flow["name"].rsplit(".", 1)[0] for flow in mice} == {"mice.1", "mice.2"}
    assert all(2 * NS <= flow["start_ns"] < 5 * NS for flow in mice)
    assert all(flow["arrival"] == [2 * NS, 5 * NS] for flow in mice)
    assert all(flow["bytes"] == 10_000 and flow["stop_ns"] is None for flow in plan[1:])
    assert "arrival" not in context[0]


def test_a_load_is_a_share_of_the_bottleneck() -> None:
    # 0.6 of 100 Mbit/s in frames of 1514 for 1448 bytes: 0.6e8 / (8 * 1e4 * 1514 / 1448) arrivals a second.
    flow = MICE | {"arrivals": {"process": "constant", "load": 0.6}}
    count = len(lower(scenario(DUMBBELL, [flow]), 1).plan["flows"])
    assert count == pytest.approx(10 * 0.6e8 / (8 * 1e4 * 1514 / 1448), abs=1)


def test_on_off_sources_have_their_periods_in_the_plan() -> None:
    flow = {"kind": "udp", "rate": "1mbit", "on": "1s", "off": "3s", "burst": 5}
    (entry,) = lower(scenario(DUMBBELL, [flow]), 1).plan["flows"]
    assert entry["on"] == [[0, NS], [4 * NS, 5 * NS], [8 * NS, 9 * NS]]
    assert entry["burst"] == 5


@pytest.mark.parametrize(
    ("topology", "flow", "says"),
    [
        ({"preset": "dumbbell", "rtt": "20ms"}, {"arrivals": {"load": 0.5}}, "nothing limits its path"),
        (DUMBBELL | {"rate": "10gbit"}, {"arrivals": {"load": 0.9}, "size": "1kB"}, "more than 20000 flows"),
        (DUMBBELL, {"kind": "udp", "rate": "1mbit", "on": "10us", "off": "10us"}, "more than 20000 times"),
    ],
)
def test_what_only_the_plan_can_refuse(topology: Any, flow: Any, says: str) -> None:
    own = {"size": "10kB"} if "arrivals" in flow else {}
    with pytest.raises(PlanError, match=says):
        lower(scenario(topology, [own | flow]), 1)


def test_a_receiver_of_many_takes_its_partners_in_turn() -> None:
    star = {"preset": "star", "leaves": 3, "rate": "100mbit", "rtt": "2ms"}
    flows = lower(scenario(star, [{"kind": "rr", "from": "r1", "count": 4}]), 1).plan["flows"]
    assert [(flow["from"], flow["to"]) for flow in flows] == [
        ("r1", name) for name in ("s1", "s2", "s3", "s1")
    ]


def test_a_stream_never_gives_what_has_no_logarithm() -> None:
    assert all(0 < number < 1 for number in islice(stream(1, "x", "y"), 100_000))
