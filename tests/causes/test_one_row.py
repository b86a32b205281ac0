"""A new cause is a row and a rule: two files, counted in a copy of the program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rushhour

ROW = """    Cause(
        "made-up",
        "host",
        "Made up for a test",
        "RFC 2549",
        "warning",
        says="{host} is made up.",
        word="made_up",
        known_by="nothing",
    ),
"""
OF_EVERY_FLOW = '''

def made_up(e: RecordedFlow, share: float) -> Named:
    """Made up."""
    return said("made-up", e.sender, Cure("Wake up."), host=e.called(e.sender))


RULES = {**RULES, "pacing": (made_up,)}
'''
ON_FACTS = '''

def made_up(case: Case) -> Iterator[Finding]:
    """Made up."""
    yield finding("made-up", "warning", f"{case.called('a')} is made up.", "a")


RULES = (*RULES, made_up)
'''
ASK = """
from rushhour.causes.document import page
from rushhour.diagnosis import rules
from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.case import Case
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.measured import Measured, Tcp
from rushhour.explain import RecordedFlow, findings

flow = Tcp(goodput_bps=1e6, steady_bps=1e6, shares={"pacing": 0.9}, cc="cubic")
m = Measured("a→b", idle_rtt_ns=1000000, single=flow)
case = Case(Facts("alice", {}), Facts("bob", {}), {"a→b": m})
print("measured", [one.key for one in causes(m)])
mine = [one for one in rules.judge(case) if one.key == "made-up"]
print("judged", [(one.key, one.title, one.layer, one.source) for one in mine])
known = RecordedFlow("bulk", "s1", "r1", "cubic", 1.0, 1e6, {"pacing": 0.9}, None)
print("explained", [one.explained() for one in findings(known)])
print("documented", "| `made-up` (`made_up`), warning |" in page())
"""


class House:
    """A copy of the package; `touched` are its files that were changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder, set[str]()
        kept = shutil.ignore_patterns("__pycache__", "_agent")
        shutil.copytree(Path(rushhour.__file__).parent, folder / "rushhour", ignore=kept)

    def change(self, name: str, before: str, after: str) -> None:
        """Put something before a text of a file, or, where that is empty, at its end."""
        path = self.folder / "rushhour" / name
        text = path.read_text("utf-8")
        assert text.count(before) == 1 or not before
        path.write_text(text.replace(before, after + before) if before else text + after, "utf-8")
        self.touched.add(name)

    def ask(self) -> dict[str, str]:
        """What the copy says: measured, judged, explained, documented."""
        told = os.environ | {"PYTHONPATH": str(self.folder)}
        words = [sys.executable, "-c", ASK]
        lines = subprocess.run(words, env=told, capture_output=True, text=True, check=True).stdout
        return dict(line.split(" ", 1) for line in lines.splitlines())


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    first = '    Cause("stolen-time",'
    made.change("causes/at_hosts.py", first, ROW)
    return made


def test_a_cause_that_any_flow_may_have_is_named_by_run_and_diagnose_with_two_files(house: House) -> None:
    house.change("causes/rules.py", "\n\ndef named(", OF_EVERY_FLOW)
    said = house.ask()
    assert said["measured"] == "['made-up']"
    assert "('made-up', 'a (alice) is made up.', 'host', 'RFC 2549')" in said["judged"]
    assert "'cause': 'made_up'" in said["explained"]
    assert "s1 is made up." in said["explained"]
    assert "Wake up." in said["explained"]
    assert said["documented"] == "True"
    assert len(house.touched) == 2


def test_a_rule_of_diagnose_is_two_files(house: House) -> None:
    house.change("diagnosis/rules/host.py", "", ON_FACTS)
    said = house.ask()
    assert said["judged"] == "[('made-up', 'a (alice) is made up.', 'host', 'RFC 2549')]"
    assert said["documented"] == "True"
    assert len(house.touched) == 2
