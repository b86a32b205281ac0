"""`rushhour show`: what would be done."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo, tell_json
from rushhour.quantities.words import least_to_most, plural, singular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.plan import Cell
    from rushhour.plan.lower import Lowered
    from rushhour.record.plan_file import PlanFile
    from rushhour.spec import Published, Scenario

_FEW = 4
"""Levels that a sentence names."""


@click.command(context_settings=SETTINGS, short_help="Show what a scenario would do; nothing runs.")
@click.argument("scenario")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key of the scenario.")
@click.option("--cells", is_flag=True, help="Every cell of the sweep.")
@click.option("--commands", is_flag=True, help="The ip and tc commands that build the first cell by hand.")
@click.option("--plan", is_flag=True, help="The plan of the first cell, as the agent gets it.")
@click.option(
    "--hosts", type=click.Path(path_type=Path), metavar="FILE", help="What is done at each machine."
)
@click.option("--host", "places", multiple=True, metavar="NODE=PLACE", help="One machine, as for `run`.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output: all of these.")
def show(
    scenario: str,
    *,
    sets: tuple[str, ...],
    cells: bool,
    commands: bool,
    plan: bool,
    hosts: Path | None,
    places: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what SCENARIO would do: drawing, flows, cells, commands. Nothing runs, no machine is contacted.

    Example: rushhour show window-scaling --commands
    """
    from rushhour import plan as planning
    from rushhour import spec
    from rushhour.metrics.vocabulary import VOCABULARY

    file = spec.find_scenario(scenario)
    loaded = spec.load_scenario(file, sets, VOCABULARY)
    published = (
        [] if file.published is None else spec.load_published(file.published, spec.load_scenario(file))
    )
    every = planning.expand(loaded)
    lowered = planning.lower(every[0].scenario, loaded.seed)
    first = lowered.plan
    machines = _machines(lowered, hosts, places) if hosts or places else None
    if as_json:
        tell_json(_document(loaded, every, first, machines, published))
    elif machines is not None:
        _tell_machines(machines)
    elif plan:
        echo(json.dumps(first, indent=1))
    elif commands:
        echo("\n".join(planning.commands(first)))
    else:
        _describe(loaded, every, all_cells=cells)
        _judged(loaded)
        _published(published)
        echo(f"\nTo run it: rushhour {shlex.join(['run', scenario, *_given(sets)])}", err=True)


def _document(
    loaded: Scenario,
    every: Sequence[Cell],
    first: PlanFile,
    machines: dict[str, Any] | None,
    published: Sequence[Published],
) -> dict[str, Any]:
    from rushhour import plan as planning

    return {
        "scenario": loaded.canonical(),
        "cells": [{"index": cell.index, "factors": cell.factors} for cell in every],
        "plan": first,
        "commands": planning.commands(first),
        **({} if machines is None else {"hosts": machines}),
        "published": [table.model_dump(mode="json", by_alias=True, exclude_none=True) for table in published],
    }


def _machines(lowered: Lowered, hosts: Path | None, places: tuple[str, ...]) -> dict[str, Any]:
    """What would be done at each machine; addresses that are found only there are told as `ADDRESS OF x`."""
    from rushhour.lab.host.inventory import make_inventory
    from rushhour.plan.at_hosts import at_hosts
    from rushhour.plan.onto import Emulator, Seat, onto, talkers

    inventory = make_inventory(hosts, places)
    named = inventory.seats(talkers(lowered.plan))
    ends = inventory.ends
    seats = {
        node: Seat(name, ends[name].address or f"ADDRESS OF {name}", ends[name].device)
        for node, name in named.items()
    }
    found = inventory.emulator
    middle = Emulator(found[0], str(found[1].forward), str(found[1].backward)) if found else None
    made = onto(lowered, seats, middle)
    lines = at_hosts(made)
    return {
        "left_out": list(made.left_out),
        "machines": {name: {"at": inventory.host[name].at, "does": lines[name]} for name in lines},
    }


def _tell_machines(machines: dict[str, Any]) -> None:
    for name, told in machines["machines"].items():
        echo(f"{name} at {told['at']}")
        for line in told["does"]:
            echo(f"  {line}")
        echo()
    for text in machines["left_out"]:
        echo(text)


def _given(sets: tuple[str, ...]) -> list[str]:
    return [word for value in sets for word in ("--set", value)]


def _describe(scenario: Scenario, cells: list[Cell], *, all_cells: bool) -> None:
    from rushhour import plan as planning

    head = [text for text in (scenario.title, scenario.question) if text]
    if head:
        echo("\n".join(head) + "\n")
    echo(planning.drawing(cells[0].scenario).rstrip() + "\n")
    runs = plural(len(cells) * scenario.repeat, "run")
    lasting = least_to_most((cell.scenario.span.ns / 1e9 for cell in cells), "s")
    drawn = f"; drawn is the first: {cells[0].label}" if len(cells) > 1 else ""
    echo(f"{plural(len(cells), 'cell')}, {runs} of {lasting}{drawn}")
    if all_cells:
        for cell in cells:
            echo(f"{cell.index:>6}  {cell.label}")
    elif len(cells) > 1:
        _factors(scenario)
        echo("Every cell by its number: --cells")


def _judged(scenario: Scenario) -> None:
    """What a comparison of this scenario would say, and by which metrics."""
    if scenario.guards:
        echo(f"\nGuards: {_of_all_cells(' '.join(scenario.guards.split()), scenario)}")
    judges: dict[str, str] = {}
    for judge in scenario.judge:
        least = f" from {singular(str(judge.minimum))} on" if judge.minimum is not None else ""
        least += f" (chaotic: within {judge.within})" if judge.within is not None else ""
        judges.setdefault(judge.metric, f"{judge.metric}{least}")
    if judges:
        echo(f"Judged by: {', '.join(judges.values())}")


def _of_all_cells(text: str, scenario: Scenario) -> str:
    """A sentence about a cell with what its factors are in all of them: `100B / 1000B`."""
    from rushhour.spec.toml import plain_word

    for key, values in scenario.sweep.values.items():
        levels = list(dict.fromkeys(map(plain_word, values)))
        few = levels if len(levels) <= _FEW else [*levels[: _FEW - 1], "…", levels[-1]]
        text = text.replace(f"{{{key}}}", " / ".join(few))
    return text


def _published(tables: Sequence[Published]) -> None:
    if tables:
        echo("\nPublished, to compare with:")
    for table in tables:
        count = plural(len(table.values), "value")
        echo(f"  {table.source}: {table.title}, {count}, as {table.metric}")


def _factors(scenario: Scenario) -> None:
    """What varies, a line for each factor; keys that vary together stand under one another."""
    from rushhour.spec.toml import plain_word

    width = max(len(key) for factor in scenario.sweep.factors for key in factor.keys)
    for factor in scenario.sweep.factors:
        for place, key in enumerate(factor.keys):
            values = ", ".join(plain_word(step[place]) for step in factor.steps)
            note = "  (together with the line above)" if place else ""
            echo(f"  {key:<{width}}  {values}{note}")
