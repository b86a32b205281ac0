"""The table says what can show a cause, and that is so: by what rules ask, and what each source answers."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rushhour.causes import end_rules, loss_rules, path_rules
from rushhour.causes.rules import RULES
from rushhour.causes.table import CAUSES
from rushhour.diagnosis import bottleneck, losses
from rushhour.diagnosis import origins as measured
from rushhour.diagnosis.rules import (
    connections,
    device,
    host,
    link,
    measured_broken,
    measured_path,
    packet_filter,
    queue,
    route,
    sizes,
    socket,
    switches,
    system,
    tcp,
)
from rushhour.explain import origins as recorded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from rushhour.causes.evidence import Evidence, Shown


class Asked:
    """Evidence of which nothing is known, and what was asked of it."""

    sender, receiver, cc = "a", "b", "vegas"
    bdp = window = inflight = rcvbuf = sndbuf = None
    options = syns = damaged = refused = 0
    marked = retransmits = 9
    acks_waited = False
    asked: Mapping[str, float] = {}

    def __init__(self) -> None:
        self.keys: set[str] = set()

    def limited(self, *_limits: str) -> float:
        return 0.5

    def called(self, host: str) -> str:
        return host

    def program(self, host: str) -> str:
        return host

    def pressures(self, _host: str) -> int:
        return 0

    def setting(self, _host: str, _name: str) -> None:
        return None

    def shown(self, key: str, _host: str = "") -> Shown | None:
        self.keys.add(key)
        return None


def asked() -> set[str]:
    """The causes that have to be shown."""
    one = Asked()
    evidence: Evidence = one
    for rules in RULES.values():
        for rule in rules:
            rule(evidence, 0.5)
    return one.keys


def written(*modules: ModuleType) -> set[str]:
    """The causes whose keys stand in modules."""
    trees = [ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")) for module in modules]
    texts = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {key for key in CAUSES if key in texts}


ALWAYS = {"sack-off", "marked"}
"""Causes that the numbers of every flow show, and something besides."""
CONNECTIONS = {"several-paths", "subflow"}
"""What is said of every connection of several paths, whatever held it."""
NO_KEYS = {"timeouts", "jitter"}
"""Words that also stand for a limit of a flow, or for what netem does."""


def told(source: str) -> set[str]:
    """What the table says that a source can show."""
    return {key for key, cause in CAUSES.items() if source in cause.shown_by}


def test_every_rule_asks_for_what_a_source_can_show() -> None:
    known = {*recorded.SHOWN, *measured.KEYS, *losses.SHOWN}
    assert asked() == known


def test_a_record_shows_what_the_table_says() -> None:
    numbers = written(end_rules, loss_rules, path_rules) - asked()
    assert told("record") == {*recorded.SHOWN} | numbers | ALWAYS | CONNECTIONS


def test_measurements_show_what_the_table_says() -> None:
    numbers = written(end_rules, loss_rules, path_rules) - asked()
    found = (written(bottleneck, measured_broken, measured_path) - NO_KEYS) | {"jitter"}
    shown = {*measured.KEYS, *losses.SHOWN} | numbers | ALWAYS | found
    assert told("measurements") == shown - {"no-route"}  # that is no measurement: the kernels know no way


def test_hosts_show_what_the_table_says() -> None:
    found = written(device, host, link, packet_filter, queue, route, sizes, socket, switches, system, tcp)
    named = {"no-route"} | (found - NO_KEYS)
    assert named <= told("hosts")
    # The keys of the others are put together, or only `tune` sets what mends them.
    rest = told("hosts") - named
    assert {key.partition("-")[0] for key in rest} <= {
        *("route", "rmem", "wmem", "tcp"),
        *("bursts", "control", "usual"),
    }


def test_connections_of_programs_show_what_the_table_says() -> None:
    assert told("programs") == written(connections)


@pytest.mark.parametrize("key", ["cpu-busy", "cpu-quota", "cpu-limited", "stolen-time"])
def test_what_only_a_real_host_has_no_record_shows(key: str) -> None:
    assert "record" not in CAUSES[key].shown_by
