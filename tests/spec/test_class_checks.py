"""What is wrong with classes and policers is said with its place and the way out."""

from __future__ import annotations

from typing import Any

import pytest

from rushhour.errors import ScenarioError
from rushhour.spec import parse_scenario, with_values

TEXT = """
duration = "5s"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "10ms"
{topology}
[[topology.class]]
name = "small"
rate = "20mbit"
flows = ["mouse"]
{small}
[[topology.class]]
name = "large"
rate = "80mbit"
{large}
[[flow]]
name = "mouse"
[[flow]]
name = "elephant"
"""
FINE = 'flows = ["elephant"]'


def faults(topology: str = "", small: str = "", large: str = FINE, text: str = TEXT) -> list[str]:
    written = text.format(topology=topology, small=small, large=large)
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(written)
    return [f"{fault.key}: {fault.message}; {fault.hint}" for fault in raised.value.faults]


def test_two_classes_that_share_a_link_are_fine() -> None:
    assert len(parse_scenario(TEXT.format(topology="", small="", large=FINE)).topology.classes) == 2  # type: ignore[union-attr, arg-type]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"small": 'ceil = "10mbit"'}, 'topology.class.small.ceil: "10mbit" is less than the class\'s own'),
        ({"small": 'ceil = "200mbit"'}, '"200mbit" is more than there is to borrow from, "100mbit"'),
        ({"large": 'flows = ["elefant"]'}, 'no flow is named "elefant"; did you mean "elephant"?'),
        ({"large": 'flows = ["mouse"]'}, '"mouse" is already in class "small"'),
        ({"small": 'parent = "larger"', "large": FINE}, 'no class is named "larger"; did you mean "large"?'),
        ({"small": 'parent = "small"'}, '"small" would be part of itself'),
        ({"small": 'parent = "large"'}, "other classes are part of this one"),
        ({"small": "weight = 3"}, 'weight: means nothing to "htb"; it belongs to "drr", "qfq", "ets"'),
        ({"small": "prio = 8"}, "topology.class.small.prio: 8"),
        ({"small": 'ciel = "90mbit"'}, 'unknown key; did you mean "ceil"?'),
        ({"topology": 'scheduler = "drr"'}, 'rate: means nothing to "drr"'),
        ({"topology": 'scheduler = "cbq"'}, '"cbq" is not allowed'),
        ({"small": 'curves = "sc rate 1mbit"'}, 'curves: means nothing to "htb"'),
        ({"topology": 'police = { rate = "9mbit", burst = "1kB" }'}, "less than one frame of 1514 bytes"),
        ({"topology": 'police = { rate = "9mbit" }'}, "topology.police.burst: is missing"),
        ({"topology": "police = {}"}, "topology.police.rate: is missing"),
        ({"topology": 'police = { packets = "9/s" }'}, "topology.police.packet_burst: is missing"),
        ({"topology": "police = { packet_burst = 9 }"}, "topology.police.packets: is missing"),
        (
            {"topology": 'police = { packets = "9/s", packet_burst = 9, rate = "9mbit" }'},
            "topology.police.rate: a policer counts bytes or packets, not both",
        ),
        (
            {"topology": 'police = { packets = "9/s", packet_burst = 9, peak = "9mbit" }'},
            "topology.police.peak: a policer counts bytes or packets, not both",
        ),
        (
            {"topology": 'police = { rate = "9mbit", burst = "10kB", peak = "9mbit" }'},
            '"9mbit" is not more than the rate of "9mbit"',
        ),
        ({"topology": 'police = { packets = "9/min", packet_burst = 9 }'}, "lets nothing pass"),
        (
            {"topology": 'police = { packets = "1/s", packet_burst = 300 }'},
            "300 packets take more than 274 s to fill it",
        ),
        ({"topology": 'impair_at = "ingress"'}, "there are no impairments to place"),
        ({"small": 'then = { at = "6s", gone = true }'}, '"6s" is not while the experiment lasts, "5s"'),
        ({"small": 'then = { at = "1s" }'}, "small.then: says nothing of the class"),
        ({"small": 'then = { at = "1s", gone = true, prio = 1 }'}, "is gone, so nothing else becomes of it"),
        ({"small": 'then = { at = "1s", weight = 2 }'}, 'then.weight: means nothing to "htb"'),
        ({"small": 'then = { at = "1s", rate = "40mbit" }'}, "the rates add up to 120 Mbit/s"),
        ({"large": 'then = { at = "1s", gone = true }'}, "what no class names goes there"),
        (
            {"large": FINE + '\nparent = "small"', "small": 'then = { at = "1s", gone = true }'},
            "part of this one",
        ),
    ],
)
def test_a_fault_is_named(keys: dict[str, str], said: str) -> None:
    assert any(said in fault for fault in faults(**keys)), faults(**keys)


def test_rates_that_add_up_to_more_than_the_link_are_refused() -> None:
    text = TEXT.replace("20mbit", "30mbit")
    assert faults(text=text)[0].startswith(
        "topology.class.large.rate: the rates add up to 110 Mbit/s, more than the 100mbit of the link"
    )


def test_only_one_class_may_take_what_nobody_names() -> None:
    assert (
        'names no flows, and "small" already takes'
        in faults(large="", text=TEXT.replace('flows = ["mouse"]\n', ""))[0]
    )


def test_two_classes_of_one_name_are_refused() -> None:
    assert "is already the name of a class" in faults(text=TEXT.replace('"large"', '"small"'))[0]


def varied(key: str, value: Any) -> Any:
    return with_values(parse_scenario(TEXT.format(topology="", small="", large=FINE)), {key: value}).topology


def test_classes_vary_one_key_at_a_time_or_as_a_whole() -> None:
    assert str(varied("topology.class.small.ceil", "50mbit").classes[0].ceil) == "50mbit"
    assert varied("topology.class", []).classes == ()
    police = varied("topology.police", {"rate": "9mbit", "burst": "9kB"}).police
    assert str(police.rate) == "9mbit"


def test_a_factor_that_names_no_class_says_which_there_are() -> None:
    with pytest.raises(ScenarioError, match='did you mean "small"'):
        varied("topology.class.smal.ceil", "50mbit")
