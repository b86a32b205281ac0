"""Advice, tried: every `--set` that an explanation proposes is applied, and held to its promise.

    python tests/explain/advice.py 0 400      tries the cells 0 to 399 and tells what did not hold

What is asked of the explanation of a faulty cell:

* its numbers do not contradict each other: no flow has more than is said to be possible, nothing that is
  promised is below what there is;
* `expected_bps` is "at least": the cell with the advice's `--set` reaches it;
* `expected_wait_s` is "at most": the queue that is named then makes packets wait no longer;
* advice without a number makes it no worse, nor does what may be set instead;
* a cause without which the same path is a quarter faster is named.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import cpus
from faults import fault
from known_runs import record_of

from rushhour import spec
from rushhour.errors import RushHourError
from rushhour.explain import Remedy, explain
from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.spec.load import load_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults import Fault

    from rushhour.explain import Explanation, Finding
    from rushhour.record.record import Record
    from rushhour.spec.scenario import Scenario

KERNEL = "debian-6.12"
NO_WORSE = 0.9
"""Advice without a number may cost so much: other packets are lost then."""
EXACT = 0.99
"""What is promised as "at least" is held to, but for a packet or two at the ends."""
MATTERS, MATTERS_SHARED = 1.25, 1.5
"""A cause without which the path gives so much more must be named; where others share it, what they leave
changes, too."""
SHORT = {"short", "tail"}
"""Transfers that are over before a limit has held: what these cost is a matter of single packets."""
NAMES = {
    "rcvbuf": {"receive_buffer"},
    "sndbuf": {"send_buffer"},
    "rmem": {"receive_buffer"},
    "wmem": {"send_buffer"},
    "unscaled": {"window_scaling"},
    "writer": {"slow_writer"},
    "reader": {"slow_reader"},
    "pacing": {"pacing"},
    "loss": {"random_loss", "timeouts"},
    "ack_loss": {"ack_loss", "timeouts"},
    "no_sack": {"sack", "random_loss"},
    "shallow": {"shallow_buffer"},
    "bloat": {"bufferbloat", "ack_queue", "path", "others"},  # it costs delay, not the rate of whoever shares
    "policer": {"policer"},
    "rival": {"other_algorithm", "longer_path", "unequal", "path", "others"},
    "rivals": {"other_algorithm", "longer_path", "unequal", "path", "others"},
    "far": {"longer_path", "unequal", "path", "others"},
    "udp": {"others", "path"},
    "short": {"slow_start", "handshake"},
    "syn": {"handshake"},
    "tail": {"timeouts"},
    "marks": {"marks", "impatient_queue"},
    "vegas": {"window", "other_algorithm"},
    "at_sender": {"sender_shaper"},
    "busy_way_back": {"ack_queue"},
    "access_line": {"ack_queue", "shallow_buffer"},  # its own buffer may be short for a long path
}
"""Cause of a cell → the words of `Finding.cause` that name it."""


@dataclass(frozen=True)
class Tried:
    """One run: its record, and what is said of the flow `bulk`."""

    record: Record
    bulk: Explanation


class Trial:
    """Runs cells in a folder."""

    def __init__(self, folder: Path, kernel: str = KERNEL) -> None:
        self.folder, self.kernel, self.count = folder, kernel, 0
        self.said: list[str] = []
        self.best = 0.0

    def load(self, text: str) -> Scenario:
        """The scenario of a cell."""
        path = self.folder / "cell.toml"
        path.write_text(text)
        return load_scenario(str(path))

    def run(self, scenario: Scenario) -> Tried | None:
        """Run it; None where `bulk` did not run, or nothing is known of it."""
        self.count += 1
        lowered = lower(scenario, 1)
        labels = {"scenario": {"resolved": scenario.canonical()}}
        job = Job(lowered.plan, lowered.context, kernels.find(self.kernel), labels)
        record = record_of(UmlLab(), job, self.folder / f"run-{self.count}", cpus.own())
        bulk = next((one for one in explain(record) if one.flow == "bulk"), None)
        return None if bulk is None else Tried(record, bulk)


def wrong(cell: Fault, trial: Trial, *, cures: bool = True) -> Iterator[str]:
    """What does not hold of the explanation of a cell and of its advice; nothing if all does."""
    scenario = trial.load(cell.text)
    before = trial.run(scenario)
    if before is None:
        return
    yield from _contradictions(before.bulk)
    trial.said = [_short(found, before.bulk) for found in before.bulk.findings]
    for found in before.bulk.findings:
        if found.remedy is not None and found.remedy.overrides:
            yield from (f"{found.cause}: {what}" for what in _broken(found, before, scenario, trial))
        if found.remedy is not None and found.remedy.instead:
            other = replace(found, remedy=Remedy(found.remedy.advice, overrides=found.remedy.instead))
            yield from (f"{found.cause}, instead: {what}" for what in _broken(other, before, scenario, trial))
    if cures:
        yield from _unnamed(cell, before, trial)


def _short(found: Finding, bulk: Explanation) -> str:
    """A finding in a word, with how many times the goodput it promises."""
    remedy = found.remedy
    if remedy is None or remedy.expected_bps is None:
        return found.cause + (" (tried)" if remedy is not None and remedy.overrides else "")
    return f"{found.cause} (x {remedy.expected_bps / max(1.0, bulk.goodput_bps):.2g})"


def _contradictions(bulk: Explanation) -> Iterator[str]:
    seconds = 0.0 if bulk.timeline is None else float(bulk.timeline.edges_s[-1] - bulk.timeline.edges_s[0])
    packet = (
        2 * 8 * 1514 / max(seconds, 1e-9)
    )  # the first leaves at once, the last is counted when it arrives
    if bulk.possible_bps is not None and bulk.goodput_bps > 1.01 * bulk.possible_bps + packet:
        yield f"{bulk.goodput_bps:.4g} of a possible {bulk.possible_bps:.4g} bit/s"
    if abs(sum(bulk.shares.values()) - 1) > 1e-6:
        yield f"the shares are {dict(bulk.shares)}"
    for found in bulk.findings:
        expected = None if found.remedy is None else found.remedy.expected_bps
        if expected is not None and expected <= bulk.goodput_bps:
            yield f"{found.cause}: promises {expected:.4g}, there is {bulk.goodput_bps:.4g} bit/s"


def _broken(found: Finding, before: Tried, scenario: Scenario, trial: Trial) -> Iterator[str]:
    assert found.remedy is not None
    sets = " ".join(f"--set {key}={value}" for key, value in found.remedy.overrides.items())
    try:
        after = trial.run(spec.with_values(scenario, dict(found.remedy.overrides)))
    except RushHourError as error:
        yield f"{sets}: {error}"
        return
    if after is None:
        yield f"{sets}: bulk did not run"
        return
    trial.best = max(trial.best, after.bulk.goodput_bps)
    was, got, expected = before.bulk.goodput_bps, after.bulk.goodput_bps, found.remedy.expected_bps
    if expected is not None and got < EXACT * expected:
        yield f"{sets}: {was:.4g} became {got:.4g}, at least {expected:.4g} bit/s was promised"
    if expected is None and got < NO_WORSE * was and found.remedy.expected_wait_s is None:
        yield f"{sets}: {was:.4g} became {got:.4g} bit/s: worse"
    yield from _too_long(found, after, sets)


def _too_long(found: Finding, after: Tried, sets: str) -> Iterator[str]:
    assert found.remedy is not None
    most = found.remedy.expected_wait_s
    waits = {wait.label: wait.median_s for wait in after.bulk.waits}
    if most is not None and waits.get(found.where, 0.0) > most:
        yield f"{sets}: waits {waits[found.where]:.3g} s at {found.where}, at most {most:.3g} s was promised"


def _unnamed(cell: Fault, before: Tried, trial: Trial) -> Iterator[str]:
    named = {found.cause for found in before.bulk.findings}
    if any("video (udp)" in found.says or "share" in found.says for found in before.bulk.findings):
        named.add("others")
    for cause in cell.causes:
        if named & NAMES[cause] or SHORT & {*cell.causes}:
            continue
        cured = trial.run(trial.load(fault(cell.number, without=cause).text))
        if cured is None or cured.bulk.goodput_bps <= trial.best:  # the advice gives as much another way
            continue
        matters = MATTERS_SHARED if "others" in named else MATTERS
        if cured.bulk.goodput_bps > matters * before.bulk.goodput_bps:
            was, got = before.bulk.goodput_bps, cured.bulk.goodput_bps
            yield f"{cause} is not named, without it {was:.4g} becomes {got:.4g}; named: {sorted(named)}"


def main() -> None:
    """Try the cells between two numbers, or those that are named after `--`."""
    words = sys.argv[1:]
    numbers = [int(word) for word in words[1:]] if words[0] == "--" else range(int(words[0]), int(words[1]))
    failed = 0
    for number in numbers:
        cell = fault(number)
        with tempfile.TemporaryDirectory() as folder:
            try:
                trial = Trial(Path(folder))
                found = list(wrong(cell, trial))
            except RushHourError as error:
                found = [f"failed: {error}"]
        failed += bool(found)
        said = f"holds: {', '.join(trial.said)}"
        print(f"{number} {' + '.join(cell.causes)}: {'; '.join(found) or said}", flush=True)
    print(f"{failed} of {len(numbers)} cells have an explanation that does not hold")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
