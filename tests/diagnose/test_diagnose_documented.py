"""Every finding that a rule can make is listed in docs/diagnose.md, and nothing else is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from rushhour.diagnosis import rules
from rushhour.diagnosis.fold import EXPLAINS
from rushhour.diagnosis.rules.measured_limits import MAKERS

PAGE = Path(__file__).parents[2] / "docs" / "diagnose.md"
WORD = re.compile(r"[a-z]+(-[a-z]+)+")
NO_FINDINGS = {"path-rate"}
OTHERS = {"refined-jiffies", "amd-pstate-epp", "combined-max", "rx-max"}
"""Words of that form that are names of other things."""
SINGLE = {"bufferbloat", "collisions", "duplicates", "jitter", "outages", "reordering"}
"""Keys of one word, which look like any text."""
MADE = {
    "route-window",
    "tcp-limit-output-bytes-small",
    "tcp-notsent-lowat-small",
    "tcp-pacing-ca-ratio-small",
}
"""Keys made of a setting's name."""

MADE = {
    "route-window",
    "tcp-limit-output-bytes-small",
    "tcp-notsent-lowat-small",
    "tcp-pacing-ca-ratio-small",
}
"""Keys that are put together from the name of what they are about."""


def keys() -> set[str]:
    """The words of the form of a key that the rules' modules hold as whole texts."""
    found = set(MAKERS)
    for module in Path(str(rules.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and WORD.fullmatch(node.value):
                found.add(node.value)
    return found - NO_FINDINGS


def listed() -> set[str]:
    section = PAGE.read_text(encoding="utf-8").partition("## All findings")[2].partition("\n## ")[0]
    return set(re.findall(r"`([a-z-]+)`", section))


def test_the_list_is_whole_and_holds_nothing_else() -> None:
    assert keys() - OTHERS <= listed()
    assert listed() - keys() <= SINGLE | MADE
    followed = {key for many in EXPLAINS.values() for key in many}
    assert {*EXPLAINS, *followed} - NO_FINDINGS <= listed()
