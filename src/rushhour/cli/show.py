"""`rushhour show`: what would be done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rushhour.plan import Cell
    from rushhour.spec import Scenario


@click.command()
@click.argument("scenario")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key of the scenario.")
@click.option("--cells", is_flag=True, help="Every cell of the sweep.")
@click.option("--commands", is_flag=True, help="The ip and tc commands that build the first cell by hand.")
@click.option("--plan", is_flag=True, help="The plan of the first cell, as the agent gets it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def show(
    scenario: str, *, sets: tuple[str, ...], cells: bool, commands: bool, plan: bool, as_json: bool
) -> None:
    """Show what SCENARIO would do: drawing, flows, cells, commands. Nothing runs.

    Example: rushhour show window-scaling --commands
    """
    from rushhour import plan as planning
    from rushhour import spec

    loaded = spec.load_scenario(scenario, sets)
    every = planning.expand(loaded)
    if as_json:
        click.echo(json.dumps(_document(loaded, every), indent=1, ensure_ascii=False))
    elif plan:
        click.echo(json.dumps(planning.lower(every[0].scenario, loaded.seed).plan, indent=1))
    elif commands:
        click.echo("\n".join(planning.commands(planning.lower(every[0].scenario, loaded.seed).plan)))
    else:
        _describe(loaded, every, all_cells=cells)


def _document(scenario: Scenario, cells: list[Cell]) -> dict[str, Any]:
    from rushhour import plan as planning

    return {
        "scenario": scenario.canonical(),
        "cells": [{"index": cell.index, "factors": cell.factors} for cell in cells],
        "plan": planning.lower(cells[0].scenario, scenario.seed).plan,
    }


def _describe(scenario: Scenario, cells: list[Cell], *, all_cells: bool) -> None:
    from rushhour import plan as planning

    head = [text for text in (scenario.title, scenario.question) if text]
    if head:
        click.echo("\n".join(head) + "\n")
    click.echo(planning.drawing(cells[0].scenario))
    click.echo()
    runs = len(cells) * scenario.repeat
    click.echo(f"{_count(len(cells), 'cell')}, {_count(runs, 'run')} of {scenario.span.ns / 1e9:g} s")
    shown = cells if all_cells else cells[:12]
    for cell in shown if len(cells) > 1 else ():
        click.echo(f"{cell.index:>6}  {cell.label}")
    if len(shown) < len(cells):
        click.echo(f"        … {len(cells) - len(shown)} more (--cells)")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
