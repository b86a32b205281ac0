"""Plans for machines: what they need of a kernel, and how they are made fit for one."""

import pytest

from rushhour.errors import UsageError
from rushhour.lab.ability import provider, refusal
from rushhour.lab.pins import chosen, parse, routers
from rushhour.plan import expand, lower, native
from rushhour.plan.needs import needs, setting_of
from rushhour.record.plan_file import PlanFile, planned
from rushhour.spec import parse_scenario

SCENARIO = """
duration = "5s"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "20ms"
queue = "fq_codel"
[sysctl]
"net.ipv4.tcp_ecn" = "1"
[[flow]]
name = "one"
cc = "vegas"
"""


def plan_of(text: str) -> PlanFile:
    return lower(expand(parse_scenario(text))[0].scenario, 1).plan


def test_needs_name_what_a_kernel_may_lack() -> None:
    found = needs(plan_of(SCENARIO))
    assert found.qdiscs == {"tbf", "fq_codel"}
    assert found.congestion_controls == {"vegas"}
    assert found.sysctls == {"net.ipv4.tcp_ecn"}
    assert found.devices == {"veth"}
    assert found.wire
    assert set(found.items()) == {
        "qdisc tbf", "qdisc fq_codel", "device veth", "congestion control vegas", "sysctl net.ipv4.tcp_ecn",
    }  # fmt: skip
    assert found.document()["wire"] is True


def test_a_policer_needs_its_action_and_a_place() -> None:
    text = """
duration = "1s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "ab"
between = ["a", "b"]
rate = "50mbit"
forward = { police = { rate = "10mbit", burst = "20kB" } }
[[flow]]
name = "one"
from = "a"
to = "b"
"""
    found = needs(plan_of(text))
    assert "police" in found.actions
    assert "clsact" in found.qdiscs
    assert found.filters


def test_a_setting_of_a_device_is_asked_for_at_any() -> None:
    assert setting_of("net.ipv6.conf.r1.hop_limit") == "net.ipv6.conf.default.hop_limit"
    assert setting_of("net.ipv4.tcp_ecn") == "net.ipv4.tcp_ecn"


def test_with_a_line_devices_with_a_wire_have_no_queue() -> None:
    plan = plan_of(SCENARIO)
    lined = native.by_line(plan, [1])
    assert lined["line"] == {"cpus": [1]}
    for before, after in zip(plan["links"], lined["links"], strict=True):
        for old, new in zip(before["ends"], after["ends"], strict=True):
            assert new["qdiscs"] == ([] if old["wire"] else old["qdiscs"])
            assert new["wire"] == old["wire"]
    assert "line" not in plan


@pytest.mark.parametrize(
    ("line", "bucket"),
    [
        # One frame and what the link carries in a millisecond …
        ("root handle 1: tbf rate 100000000bit burst 1527b limit 250000b", 1527 + 12_500),
        # … no more than 16 frames …
        ("root handle 1: tbf rate 500000000bit burst 1577b limit 250000b", 1577 + 16 * 1514),
        # … unless these last less than a fifth of a millisecond.
        ("root handle 1: tbf rate 10000000000bit burst 2764b limit 250000b", 2764 + 250_000),
    ],
)
def test_buckets_hold_what_a_late_timer_would_lose(line: str, bucket: int) -> None:
    end = {"node": "a", "qdiscs": [line, "parent 1:1 handle 10: bfifo limit 250000"], "filters": []}
    plan = planned({"links": [{"ends": [end, end]}]})
    made = native.wider(plan)["links"][0]["ends"][0]["qdiscs"]
    assert made[0] == line.replace(line.split("burst ")[1].split("b ", maxsplit=1)[0], str(bucket), 1)
    assert made[1] == "parent 1:1 handle 10: bfifo limit 250000"


def test_settings_that_the_machine_has_already_are_left_out() -> None:
    node = {"name": "a", "sysctl": [["net.core.rmem_max", "4096"], ["net.ipv4.tcp_rmem", "1  2 3"]]}
    plan = planned({"nodes": [node]})
    assert (
        native.without(plan, {"net.core.rmem_max": "4096", "net.ipv4.tcp_rmem": "1 2 3"})["nodes"][0][
            "sysctl"
        ]
        == []
    )
    kept = native.without(plan, {"net.core.rmem_max": "8192"})["nodes"][0]["sysctl"]
    assert len(kept) == 2


def test_a_refusal_names_every_reason_and_who_provides() -> None:
    error = refusal({
        "qdisc netem": "this kernel has no qdisc netem (CONFIG_NET_SCH_NETEM)",
        "congestion control vegas": 'no congestion control "vegas"',
        "sysctl net.core.nothing": "not its own",
    })  # fmt: skip
    assert error is not None
    assert error.message.count(";") == 2
    assert "CONFIG_TCP_CONG_VEGAS" in error.message
    assert "no sysctl net.core.nothing" in error.message
    assert error.hint is not None
    assert "uml" in error.hint
    assert refusal({}) is None
    assert "CONFIG_NET_SCH_NETEM" in provider("CONFIG_NET_SCH_NETEM")


def test_pins_are_what_was_asked_for_or_follow_the_number_of_cpus() -> None:
    plan = plan_of(SCENARIO)
    assert chosen(parse(["s1=0,r1=1", "left=1"]), plan, [0, 1]) == {"s1": [0], "r1": [1], "left": [1]}
    assert chosen(parse([]), plan, [0, 1]) == {}
    assert chosen(parse(["none"]), plan, range(8)) == {}
    own = chosen(parse([]), plan, [0, 1, 2, 3])
    assert own == {"s1": [0], "left": [2, 3], "left-right.1": [2, 3], "right": [2, 3], "r1": [1]}
    assert routers(own, plan) == [2, 3]
    for wrong in (["s1"], ["s1=x"], ["none", "s1=0"]):
        with pytest.raises(UsageError, match="--pin"):
            parse(wrong)
    for wrong in (["s9=0"], ["s1=7"]):
        with pytest.raises(UsageError, match="--pin"):
            chosen(parse(wrong), plan, [0, 1])
