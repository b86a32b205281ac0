"""The table of causes: every rule names a row of it, every row has a rule, and its page is current."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from pathlib import Path
from string import Formatter

import pytest
from sentences import is_said

from rushhour import causes as room
from rushhour import diagnosis, explain, tune
from rushhour.causes import at_hosts
from rushhour.causes.cause import LAYERS, SEVERITIES, SOURCES
from rushhour.causes.document import page
from rushhour.causes.finding import Finding
from rushhour.causes.table import CAUSES, SECTIONS, WORDS
from rushhour.causes.thresholds import thresholds

TABLES = {"on_flows.py", "on_full_paths.py", "on_paths.py", "at_hosts.py", "on_devices.py", "table.py"}
MADE = {
    "route-window",
    "route-cwnd",
    "rmem-max-small",
    "wmem-max-small",
    "tcp-limit-output-bytes-small",
    "tcp-notsent-lowat-small",
    "tcp-pacing-ca-ratio-small",
}
"""Keys that are put together from the name of what they are about."""


def written() -> dict[str, set[str]]:
    """Room → the whole texts in its modules, the tables left out."""
    found: dict[str, set[str]] = {}
    for place in (room, diagnosis, explain, tune):
        texts = found.setdefault(place.__name__.rpartition(".")[2], set())
        for module in Path(str(place.__file__)).parent.rglob("*.py"):
            if module.name not in TABLES:
                tree = ast.parse(module.read_text(encoding="utf-8"))
                texts |= {
                    node.value
                    for node in ast.walk(tree)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str)
                }
    return found


def test_every_cause_stands_once() -> None:
    rows = [cause for section in SECTIONS.values() for cause in section]
    assert len(rows) == len(CAUSES)
    assert len(WORDS) == sum(bool(cause.word) for cause in rows)


def test_every_cause_has_a_rule() -> None:
    named = set().union(*written().values()) | MADE
    assert {*CAUSES} - named == set()


@pytest.mark.parametrize("key", CAUSES)
def test_a_row_is_whole(key: str) -> None:
    cause = CAUSES[key]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", key)
    assert cause.layer in LAYERS
    assert cause.worst in SEVERITIES
    assert cause.means[0].isupper()
    assert not cause.means.endswith(".")
    assert cause.source
    # What a record shows has a word there, and by what.
    assert bool(cause.word) == bool(cause.known_by) == ("record" in cause.shown_by)
    assert [*cause.shown_by] == [source for source in SOURCES if source in cause.shown_by] != []
    assert {*cause.leads_to} <= {*CAUSES} - {key}
    # What `tune` sets beforehand is no finding.
    assert bool(cause.says) == (cause not in at_hosts.PRECAUTIONS)
    assert not cause.says or cause.says.endswith(".")
    assert all(name != "" for _, name, _, _ in Formatter().parse(cause.says))


def test_a_threshold_is_a_number_with_a_meaning() -> None:
    assert thresholds()["UNSCALED"] + 1 == 1 << 16
    for name, one in thresholds().items():
        assert one.means, name
        assert one.means[-1] != "."
        assert one > 0


def test_a_threshold_can_be_copied_and_written_like_any_number() -> None:
    one = thresholds()["RESENT"]
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one).means == one.means
    assert json.dumps(one) == "0.02"


def test_no_rule_keeps_a_threshold_for_itself_that_the_table_has() -> None:
    """A module that gives a number to one of these names again has a second threshold for one thing."""
    again = {
        (module.name, target.id)
        for place in (room, diagnosis, explain, tune)
        for module in Path(str(place.__file__)).parent.rglob("*.py")
        if module.name != "thresholds.py"
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        for target in ast.walk(node.targets[0])
        if isinstance(target, ast.Name) and target.id in thresholds()
    }
    assert again == set()


def test_the_page_is_of_these_tables() -> None:
    path = Path(__file__).parents[2] / "docs" / "causes.md"
    assert path.read_text(encoding="utf-8") == page(), "python docs/generate.py"


def test_a_title_of_its_own_is_no_sentence_of_the_table() -> None:
    assert not is_said(Finding("policer", "note", "Something drops packets.", "a→b"))
