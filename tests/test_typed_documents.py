"""Documents: typed where the class says so, as they were written otherwise; what is wrong is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

from rushhour.errors import RecordError
from rushhour.record.document import EMPTY, Document, read, write
from rushhour.record.manifest import Manifest
from rushhour.record.plan_file import PlanFile
from rushhour.record.result_file import ResultFile
from rushhour.record.verdict_file import VerdictFile


class Seat(Document):
    node: str
    from_: str | None = None
    share: float = 0


class Table(Document):
    name: str = "nobody"
    count: int | None = None
    open: bool = False
    seats: tuple[Seat, ...] = ()
    named: Mapping[str, Seat] = EMPTY
    sums: Mapping[str, str] = EMPTY
    other: object = None


def test_what_is_there_is_typed_and_what_is_missing_or_null_has_its_default() -> None:
    given = {"name": "n", "count": None, "seats": [{"node": "a", "from": "b"}], "named": {"x": {"node": "c"}}}
    table = read(Table, given, "here")
    assert (table.name, table.count, table.open, table.sums) == ("n", None, False, {})
    assert [(seat.node, seat.from_, seat.share) for seat in table.seats] == [("a", "b", 0)]
    assert table.named["x"].node == "c"


def test_a_document_stays_what_was_written() -> None:
    given = {"name": "n", "newer": {"a": [1, 2.5, None]}, "seats": [{"node": "a", "more": 1}]}
    table = read(Table, given, "here")
    assert table == given
    assert json.dumps(table) == json.dumps(given)
    assert table.seats[0]["more"] == 1
    copy = deepcopy(table)
    assert (copy, copy.name, copy.seats[0].node) == (given, "n", "a")
    with pytest.raises(AttributeError, match="cannot be set"):
        table.name = "m"


def test_numbers_are_not_turned_into_others() -> None:
    assert str(read(Seat, {"node": "a", "share": 3}, "here").share) == "3"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], r"the document is \[\]; expected a table"),
        ({"name": 3}, "name is 3; expected a text"),
        ({"count": True}, "count is True; expected a whole number"),
        ({"count": 1.5}, "count is 1.5; expected a whole number"),
        ({"count": 1 << 64}, "count is 18446744073709551616; expected a whole number"),
        ({"count": 10**5000}, "count is a number beyond all bounds; expected a whole number"),
        ({"open": 1}, "open is 1; expected true or false"),
        ({"seats": {}}, r"seats is \{\}; expected a list"),
        ({"seats": [{"node": "a"}, {}]}, "seats.1.node is None; expected something"),
        ({"seats": [{"node": "a"}, None]}, "seats.1 is None; expected a table"),
        ({"seats": [{"node": "a", "from": 1}]}, "seats.0.from is 1; expected a text"),
        ({"named": {"x": {"node": "a", "share": float("nan")}}}, "named.x.share is nan; expected a number"),
        ({"sums": {"a": "b", "c": None}}, "sums.c is None; expected a text"),
        ({"sums": []}, r"sums is \[\]; expected a table"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(given: Any, says: str) -> None:
    with pytest.raises(RecordError, match=f"^here: {says}") as caught:
        read(Table, given, "here", hint="do this")
    assert (caught.value.where, caught.value.hint) == ("here", "do this")
    with pytest.raises(RecordError, match=r"^here: whole.at\b"):
        read(Table, given, "here", key="whole.at")


def test_a_class_that_no_document_can_be_is_refused_at_once() -> None:
    class Wrong(Document):
        found: set[int]

    with pytest.raises(TypeError, match="cannot hold"):
        read(Wrong, {}, "here")


def test_the_first_manifests_are_still_read() -> None:
    old = {"format": "rushhour-record/1", "key": "k", "files": {}, "context": {}}
    manifest = read(Manifest, old, "here")
    assert (manifest.scenario.resolved.expect, manifest.cell.index, manifest.seed) == ((), 0, None)
    assert (manifest.kernel.name, manifest.agent.sha256, manifest.valid) == ("", None, False)
    for name in ("files", "context"):
        with pytest.raises(RecordError, match=f"^here: {name} is None"):
            read(Manifest, {key: value for key, value in old.items() if key != name}, "here")


def test_the_first_plans_and_results_are_still_read() -> None:
    # As version 0.1 wrote them: no devices, no ingress, no changes, no counters, no machine.
    end: dict[str, Any] = {"node": "a", "dev": "b", "qdiscs": [], "wire": None, "filters": []}
    flow = {"id": 0, "name": "one", "kind": "tcp", "from": "a", "to": "b", "start_ns": 0, "stop_ns": None}
    old = {"format": "rushhour-plan/1", "seed": 1, "nodes": [{"name": "a"}], "flows": [flow]}
    plan = read(PlanFile, {**old, "links": [{"name": "a-b", "ends": [end, {**end, "node": "b"}]}]}, "here")
    assert (plan.devices, plan.ingress, plan.changes, plan.pauses, plan.calibration.paths) == (
        (),
        (),
        (),
        None,
        (),
    )
    assert (plan.flow(0).from_, plan.flow(0).stop_ns, plan.flow(7).to) == ("a", None, "")
    assert [place and place.node for place in map(plan.place, (-1, 0, 1, 2))] == [None, "a", "b", None]
    result = read(ResultFile, {"format": "rushhour-result/1", "flows": [{"id": 0}]}, "here")
    assert (result.counters, result.machine, result.kernel.release, result.flows[0].error) == (
        {},
        {},
        "",
        None,
    )


def test_an_arrival_stands_behind_the_ends_of_links_and_an_emulator_says_its_own_number() -> None:
    link = {"ends": [{"node": "a"}, {"node": "b"}]}
    plan = read(PlanFile, {"links": [link], "ingress": [{"end": 2, "node": "b", "ifb": "ifb2"}]}, "here")
    found = plan.place(2)
    assert found is not None
    assert found.ifb == "ifb2"
    assert plan.place(3) is None
    machines = read(PlanFile, {"egress": [{"end": 5, "node": "mid", "dev": "eth1"}]}, "here")
    assert [place and place.dev for place in map(machines.place, (4, 5))] == [None, "eth1"]


def test_the_first_verdicts_are_still_read() -> None:
    # Without what came later: guards, known changes, changed keys, the number of planned cells.
    metric = {"metric": "loss", "verdict": "worse", "interval": None, "change": None}
    cell = {"scenario": "suite/x", "verdict": "worse", "metrics": [metric], "divergence": None}
    old = {"format": "rushhour-verdict/1", "verdict": "worse", "base": {"name": "one"}, "candidate": {}}
    verdict = read(VerdictFile, {**old, "cells": [cell]}, "here")
    assert [side.name for side in verdict.sides] == ["one", None]
    (found,) = verdict.cells
    assert (found.metrics[0].base.mean, found.metrics[0].interval, found.runs.base, found.broken) == (
        None,
        (),
        (),
        [],
    )
    with pytest.raises(RecordError, match=r"^here: cells.0.metrics.0.metric is None; expected something"):
        read(VerdictFile, {**old, "cells": [{**cell, "metrics": [{}]}]}, "here")


class Written(Document):
    """As a writer makes it."""

    name: str
    values_: tuple[float, ...] = ()


def test_a_document_is_written_as_it_will_be_read() -> None:
    made = write(Written, name="x", values_=(1.0, 2.0))
    assert made == {"name": "x", "values": [1.0, 2.0]}
    assert (made.name, made.values_) == ("x", (1.0, 2.0))
    with pytest.raises(TypeError, match="Written has no nam"):
        write(Written, nam="x")
    with pytest.raises(RecordError, match=r"values\.0 is 'many'; expected a number"):
        write(Written, name="x", values_=["many"])
