"""Facts of a report about the machines of its runs, and about paths that were used as found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.quantities.words import every, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.record.manifest import Machine, Manifest
    from rushhour.record.record import Record
    from rushhour.report.model import RunView


def as_found(record: Record) -> bool:
    """Whether the path was there before the experiment, and nothing was added to it."""
    return record.manifest.lab == "hosts" and not record.plan.egress


def links_said(runs: Sequence[RunView]) -> str:
    """What is to say of the links of valid runs."""
    if runs and all(run.found for run in runs):
        return "The path was measured as it is: no rate, delay or loss was set."
    who = "The links were" if len(runs) == 1 else f"In {every(len(runs), 'run')} the links were"
    return f"{who} measured and are what was asked."


def distrusted(invalid: int, runs: int) -> str:
    """What is to say of the numbers of invalid runs, in words."""
    if runs == 1:
        return "do not use the numbers of this run"
    which = every(runs, "run") if invalid == runs else f"{invalid} of {runs} runs"
    return f"{which}: do not use {'its' if invalid == 1 else 'their'} numbers"


def lab_said(manifest: Manifest) -> str:
    """The lab in words; of machines, who was where."""
    lab = manifest.lab or "unknown"
    if lab in ("uml", "qemu"):
        return f"{lab}, virtual time"
    places = [f"{name} at {one.place}" for name, one in manifest.hosts.items()]
    return f"{lab}: {', '.join(places)}" if places else lab


def machines(manifest: Manifest) -> list[tuple[str, str]]:
    """A row for each machine: where it is, what it runs, how well its clock is known."""
    return [(f"machine {name}", _said(one)) for name, one in manifest.hosts.items()]


def work_said(runs: Iterable[RunView]) -> str:
    """What machines in real time did during the runs; empty of virtual ones.

    Shares of all CPUs, from the least to the greatest of the runs.
    """
    told = [one for run in runs for one in run.machine.values() if one.get("cpu_share")]
    if not told:
        return ""
    shares = {
        name: [float(one["cpu_share"].get(name) or 0) for one in told]
        for name in ("agent", "experiment", "others")
    }
    parts = [f"{name} {_range(values)}" for name, values in shares.items()]
    late = [float(one["sampling_error_ns"]["p99"]) for one in told if one.get("sampling_error_ns")]
    said = f"CPUs: {', '.join(parts)}"
    return said + (f"; 99 of 100 readings within {quantity(max(late) / 1e3, 'µs')}" if late else "")


def _range(shares: Sequence[float]) -> str:
    low, high = round(100 * min(shares)), round(100 * max(shares))
    return f"{high} %" if low == high else f"{low} to {high} %"


def _said(one: Machine) -> str:
    told = [f"{one.place} ({one.hostname})", f"Linux {one.kernel}"]
    if one.address:
        told.append(f"{one.address} on {one.device}, MTU {one.mtu}")
    if one.forward:
        told.append(f"emulator, {one.forward} to the receivers, {one.backward} to the senders")
    if one.profile is not None:
        told.append(f"profile {one.profile.name}")
    if one.clock is not None:
        error = one.clock.error_ns
        told.append(f"clock known to ± {quantity(error / 1e3, 'µs')}" if error else "one clock")
    return ", ".join(told)
