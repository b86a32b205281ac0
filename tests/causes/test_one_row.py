"""A new cause is a row and a rule: two files, counted in a copy of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from made_up import Copy

if TYPE_CHECKING:
    from pathlib import Path

ROW = """    Cause(
        "made-up",
        "host",
        "Made up for a test",
        "RFC 2549",
        "warning",
        says="{host} is made up.",
        shown_by=("record", "measurements"),
        word="made_up",
        known_by="nothing",
    ),
"""
OF_EVERY_FLOW = '''def made_up(e: Evidence, share: float) -> Named:
    """Made up."""
    from rushhour.causes.telling import said

    return said("made-up", e.sender, Cure("Wake up."), host=e.called(e.sender))


'''
FILES = {"pacing": "end_rules.py", "losses": "loss_rules.py", "path": "path_rules.py"}
ON_FACTS = '''def made_up(case: Case) -> Iterator[Finding]:
    """Made up."""
    yield finding("made-up", "warning", f"{case.called('a')} is made up.", "a")


'''
ASK = """
from rushhour.causes.document import page
from rushhour.diagnosis import rules
from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.case import Case
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.measured import Measured, Tcp
from rushhour.explain import RecordedFlow, findings

flow = Tcp(goodput_bps=1e6, steady_bps=1e6, shares={"LIMIT": 0.9}, cc="cubic", retransmits=9, segments=99)
m = Measured("a→b", idle_rtt_ns=1000000, single=flow)
case = Case(Facts("alice", {}), Facts("bob", {}), {"a→b": m})
print("measured", [one.key for one in causes(m)])
mine = [one for one in rules.judge(case) if one.key == "made-up"]
print("judged", [(one.key, one.title, one.layer, one.source) for one in mine])
known = RecordedFlow("bulk", "s1", "r1", "cubic", 1.0, 1e6, {"LIMIT": 0.9}, None)
print("explained", [one.explained() for one in findings(known)])
row = "| `made-up` (`made_up`), warning | Made up for a test | record, measurements |"
print("documented", row in page())
"""


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    made = Copy.make(tmp_path / "tree")
    made.add("src/rushhour/causes/on_devices.py", '    Cause(\n        "stolen-time",', ROW)
    return made


def ask(copy: Copy, limit: str = "pacing") -> dict[str, str]:
    """What the copy says of a flow that a limit held: measured, judged, explained, documented."""
    lines = copy.python(ASK.replace("LIMIT", limit)).splitlines()
    return dict(line.split(" ", 1) for line in lines)


@pytest.mark.parametrize("limit", FILES)
def test_a_cause_that_any_flow_may_have_is_two_files_for_run_and_diagnose(copy: Copy, limit: str) -> None:
    place = f"src/rushhour/causes/{FILES[limit]}"
    copy.add(place, "RULES: Mapping[", OF_EVERY_FLOW)
    file = copy.root / place
    file.write_text(
        file.read_text("utf-8").replace(f'    "{limit}": (', f'    "{limit}": (made_up, '), "utf-8"
    )
    said = ask(copy, limit)
    assert said["measured"] == "['made-up']"
    assert "('made-up', 'a (alice) is made up.', 'host', 'RFC 2549')" in said["judged"]
    assert "'cause': 'made_up'" in said["explained"]
    assert "s1 is made up." in said["explained"]
    assert "Wake up." in said["explained"]
    assert said["documented"] == "True"
    assert copy.touched() == sorted(["src/rushhour/causes/on_devices.py", place])


def test_a_rule_of_diagnose_is_two_files(copy: Copy) -> None:
    copy.add("src/rushhour/diagnosis/rules/host.py", "RULES = (\n", ON_FACTS)
    copy.add("src/rushhour/diagnosis/rules/host.py", "    stolen,\n", "    made_up,\n")
    said = ask(copy)
    assert said["judged"] == "[('made-up', 'a (alice) is made up.', 'host', 'RFC 2549')]"
    assert said["documented"] == "True"
    assert copy.touched() == ["src/rushhour/causes/on_devices.py", "src/rushhour/diagnosis/rules/host.py"]
