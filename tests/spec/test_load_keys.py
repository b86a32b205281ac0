"""Loads and labs in a scenario: what is refused, and where."""

import shlex

import pytest
from scenarios import faults

from rushhour.errors import ScenarioError
from rushhour.spec import parse_scenario

PAIR = """\
duration = "10s"
labs = ["netns", "hosts"]
[[link]]
between = ["a", "b"]
[[flow]]
[[load]]
node = "a"
"""


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        (PAIR.replace('node = "a"', 'node = "c"'), "load.1.node", "no node"),
        (PAIR + "share = 1.5\n", "load.1.share", "less than or equal to 1"),
        (PAIR + 'size = "1GB"\n', "load.1.size", "memory's"),
        (PAIR + 'kind = "memory"\n', "load.1", "of what size"),
        (PAIR + 'kind = "memory"\nsize = "1MB"\nshare = 0.5\n', "load.1.share", "cpu's"),
        (PAIR + 'kind = "memory"\nsize = "1MB"\nlimit = "1MB"\n', "load.1.limit", "nothing is swapped"),
        (PAIR + 'start = "10s"\n', "load.1.start", "after the end"),
        (PAIR + '[[load]]\nnode = "b"\n', "load.2.name", "already the name"),
        (PAIR + "workers = 0\n", "load.1.workers", "greater than or equal to 1"),
        (PAIR.replace('labs = ["netns", "hosts"]\n', ""), "load", "no virtual time"),
        (PAIR.replace('"netns"', '"uml"'), "load", "no virtual time"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(text: str, key: str, says: str) -> None:
    found = faults(text)
    said = {name: f"{fault.message} {fault.hint}" for name, fault in found.items()}
    assert key in said, said
    assert says in said[key]


def test_a_path_without_a_rate_is_for_real_time_only() -> None:
    without = PAIR.partition("[[load]]")[0]
    assert parse_scenario(without).virtual is False
    found = faults(without.replace('labs = ["netns", "hosts"]\n', ""))
    assert "labs" in str(found["link.1"].hint)


@pytest.mark.parametrize(
    "text",
    [
        PAIR.replace('labs = ["netns", "hosts"]\n', ""),
        PAIR.replace('labs = ["netns", "hosts"]\n', "").partition("[[load]]")[0],
    ],
)
def test_what_is_for_real_time_only_is_told_as_that_and_with_an_option_that_works(text: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(text)
    for fault in refused.value.faults:
        assert "virtual time, in which the scenario may run" in fault.message
        option = shlex.split(str(fault.hint).partition("for one command: ")[2])
        assert option[0] == "--set"
        assert parse_scenario(text, sets=option[1:]).virtual is False


def test_a_scenario_without_loads_keeps_its_hash() -> None:
    canonical = parse_scenario(PAIR.partition("[[load]]")[0]).canonical()
    assert "load" not in canonical
    assert "labs" in canonical
