"""Repetitions of a cell are lowered one after the other: what that saves changes no plan."""

import pytest

from rushhour.lab.base import canonical
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.plan import expand, lower
from rushhour.plan.lower import Lowering
from rushhour.spec import catalogue, load_scenario

# All that is published: what one folder alone has (names of programs' nodes) is lowered there alone.
NAMES = [*catalogue()]
FOLDERS = sorted({name.partition("/")[0] for name in NAMES})
SEEDS = (1, 7, 7, 4503599627370495, 1)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_plan_is_the_same_whatever_was_lowered_before(folder: str) -> None:
    reused = 0
    for name in NAMES:
        if name.partition("/")[0] != folder:
            continue
        cell = expand(load_scenario(catalogue()[name], [], VOCABULARY))[0].scenario
        lowering = Lowering(cell)
        for seed in SEEDS:
            before = lowering._last
            made, alone = lowering.of(seed), lower(cell, seed)
            reused += before is not None and lowering._last is before
            for one, other in ((made.plan, alone.plan), (made.context, alone.context)):
                assert canonical(one) == canonical(other), (name, seed)
                assert [*one] == [*other]
                assert vars(one) == vars(other)
    assert reused


def test_dice_of_a_wire_are_its_seeds() -> None:
    (cell, *_) = expand(load_scenario(catalogue()["suite/random-loss"], [], VOCABULARY))
    lowering = Lowering(cell.scenario)
    seeds = [
        [end.wire.seed for link in lowering.of(seed).plan.links for end in link.ends if end.wire]
        for seed in (1, 2, 1)
    ]
    assert seeds[0] == seeds[2]
    assert seeds[0] != seeds[1]
    assert lower(cell.scenario, 2).plan.seed == lowering.of(2).plan.seed == 2


def test_each_repetition_draws_netem_s_losses_anew() -> None:
    """The first as its words say, and the same whatever was lowered before; a plan without a seed stays."""
    scenario = load_scenario(catalogue()["suite/netem-loss"], [], VOCABULARY)
    (cell, *_) = expand(scenario)
    lowering = Lowering(cell.scenario)
    lines = [
        [line for link in lowering.of(seed).plan.links for end in link.ends for line in end.qdiscs]
        for seed in (1, 2, 3, 1)
    ]
    assert any(line.endswith("netem limit 1000 loss 1% seed 21") for line in lines[0])
    assert lines[0] == lines[3]
    drawn = [int(line.split()[-1]) for some in lines[:3] for line in some if "seed" in line]
    assert len({*drawn}) == 3
    assert all(0 <= seed < 2**52 for seed in drawn)
