"""What a flow over several paths may ask for, and how the rest is refused."""

import pytest
from scenarios import faults

GRAPH = """\
duration = "5s"
[[node]]
name = "phone"
role = "host"
[[link]]
name = "wifi"
between = ["phone", "ap"]
rate = "10mbit"
[[link]]
name = "lte"
between = ["phone", "mast"]
rate = "10mbit"
[[link]]
name = "up"
between = ["ap", "server"]
[[link]]
between = ["mast", "ap"]
[[flow]]
kind = "mptcp"
from = "phone"
to = "server"
"""
PATHS = 'paths = ["wifi", "lte"]\n'
SECOND = '[[flow]]\nname = "other"\nkind = "mptcp"\nfrom = "phone"\nto = "server"\n'


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ("", "flow.mptcp1.paths", "needs two paths"),
        ('paths = ["wifi"]', "flow.mptcp1.paths", "needs two paths"),
        ('paths = ["wifi", "wifi"]', "flow.mptcp1.paths", "there twice"),
        ('paths = ["wifi", "up"]', "flow.mptcp1.paths", 'no link of phone is called "up"'),
        (PATHS + 'backup = ["up"]', "flow.mptcp1.backup", "none of its paths"),
        (PATHS + 'backup = ["wifi", "lte"]', "flow.mptcp1.backup", "every path is a backup"),
        (PATHS + 'pacing = "1mbit"', "flow.mptcp1.pacing", "has no pacing"),
        ('announced = ["up"]\npaths = ["up"]', "flow.mptcp1.announced", "there twice"),
        ('announced = ["up", "wifi"]', "flow.mptcp1.paths", "no path by which it begins"),
        (PATHS + 'announced = ["wifi2"]', "flow.mptcp1.announced", 'no link of server is called "wifi2"'),
        (PATHS + 'announced = ["up"]\n' + SECOND + PATHS, "flow.other.announced", "other links than those"),
        (PATHS + SECOND + PATHS + 'backup = ["lte"]', "flow.other.paths", "other paths than those"),
    ],
)
def test_what_makes_no_sense_is_refused(more: str, key: str, words: str) -> None:
    found = faults(GRAPH + more)
    assert words in found[key].message, found


def test_a_preset_has_no_second_link() -> None:
    text = '[topology]\npreset = "dumbbell"\n[[flow]]\nkind = "mptcp"\n'
    assert "draw the network with [[link]]" in (
        faults('duration = "5s"\n' + text)["flow.mptcp1.kind"].hint or ""
    )


def test_no_scenario_asks_for_a_subflow() -> None:
    assert "flow.subflow1.kind" in faults(GRAPH.replace('"mptcp"', '"subflow"') + PATHS)
