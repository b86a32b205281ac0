"""What has landed is given out when nobody has to measure it again."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from rushhour.files import remembered
from rushhour.fleet.landing import Runway
from rushhour.fleet.members import Item, Landed, Member

if TYPE_CHECKING:
    from pathlib import Path


def _landed(runway: Runway, place: Path, *, measures: bool) -> Landed:
    nothing: Any = None
    item = Item(nothing, place.name, place, {"image": ""}, frozenset(), Future())
    folder = runway._room(place.parent) / f"{place.name}-landed"
    folder.mkdir()
    return Landed("digest", b"values", item, Member("tcp://one", 1, measures=measures), folder, place.name)


def test_metrics_are_known_when_a_run_is_given_out(tmp_path: Path) -> None:
    runway = Runway()
    known: list[tuple[bytes | None, bool]] = []
    for number in range(3):
        landed = _landed(runway, tmp_path / "runs" / f"settled-{number}", measures=number != 1)
        landed.item.place.add_done_callback(
            lambda done: known.append((remembered.recall(done.result().name), done.result().is_dir()))
        )
        runway.take_place(landed)
    assert not known
    runway.settle()
    assert known == [(b"values", True), (None, True), (b"values", True)]
    runway.close()
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [f"settled-{n}" for n in range(3)]


def test_one_that_was_stopped_meanwhile_hinders_no_other(tmp_path: Path) -> None:
    runway = Runway()
    first, second = (_landed(runway, tmp_path / f"stopped-{number}", measures=False) for number in range(2))
    for landed in (first, second):
        runway.take_place(landed)
    first.item.place.set_exception(InterruptedError())
    runway.settle()
    assert second.item.place.result() == tmp_path / "stopped-1"
    runway.close()
