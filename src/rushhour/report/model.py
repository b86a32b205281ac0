"""What a report says, free of how it is drawn: one run as a person wants to see it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.explain import policers
from rushhour.metrics.surroundings import machines
from rushhour.quantities.words import least_to_most, quantity
from rushhour.record import classes, courses
from rushhour.report.machines import as_found
from rushhour.report.panels import Panel, bottlenecks, panels_of
from rushhour.report.programs import ProgramLine, program_lines
from rushhour.report.reproduce import run_command
from rushhour.report.warned import besides
from rushhour.report.why import Why, why
from rushhour.summary.expectations import check
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.metrics.value import MetricValue
    from rushhour.record.context import End, Flow, LinkClass
    from rushhour.record.manifest import Kernel
    from rushhour.record.record import Record
    from rushhour.summary.expectations import Verdict


@dataclass(frozen=True)
class FlowLine:
    """One flow, or an arrival process, in words: `s1 → r1`, `cubic`, `0 to 30 s`; its metrics' scope.

    `when` is the time that the scenario gives it, `active` what it took of that. `group` is the `[[flow]]` it
    is a copy of; of a single flow its own name. `look` is its look in the whole
    report (`report/palette.py`), None where its place among the flows decides. `crossed` are the ends that
    its data may cross, none where they are not known.
    """

    name: str
    kind: str
    path: str
    cc: str
    when: str
    active: str
    scope: str
    group: str
    look: int | None = None
    crossed: frozenset[int] = frozenset()


@dataclass(frozen=True)
class RunView:
    """One run: what was asked, whether it is to be trusted, and what came out.

    `factors` are the run's factors, with `kernel` and `repetition` among them when they vary in the set.
    """

    name: str
    title: str
    factors: dict[str, str]
    kernel: str
    lab: str
    seed: int
    conditions: list[str]
    flows: list[FlowLine]
    valid: bool
    reasons: list[str]
    warnings: list[str]
    metrics: Sequence[MetricValue]
    verdicts: Sequence[Verdict]
    panels: list[Panel]
    duration_s: float
    warmup_s: float
    command: str
    why: tuple[Why, ...] = ()
    found: bool = False
    """Whether the path was there before the experiment, and nothing was added to it."""
    machine: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What each machine in real time did meanwhile."""
    whole: bool = True
    """Whether the tables that it was measured of were kept."""
    programs: tuple[ProgramLine, ...] = ()

    @property
    def label(self) -> str:
        """The factors in one line; the scenario's title where nothing varies."""
        return " · ".join(f"{key} {value}" for key, value in self.factors.items()) or self.title


def view(
    record: Record,
    metrics: Sequence[MetricValue],
    *,
    factors: Mapping[str, Any],
    points: int,
    explained: bool = True,
) -> RunView:
    """A run ready to be drawn, with at most about `points` samples in all its curves.

    Without `explained` nothing is said of why its flows were as fast as they were; nor of a slim record,
    which has no curves either.
    """
    if not record.is_whole:
        points, explained = 0, False
    manifest = record.manifest
    scenario = manifest.scenario
    verdicts = check(record, metrics)
    return RunView(
        name=record.path.name,
        title=scenario.title or scenario.name or record.path.name,
        factors={key: said(value) for key, value in factors.items()},
        kernel=kernel_name(manifest.kernel),
        lab=manifest.lab or "unknown",
        seed=manifest.seed or 0,
        conditions=conditions(record),
        flows=flow_lines(record),
        valid=manifest.valid,
        reasons=list(manifest.invalid_reasons),
        warnings=besides(manifest.warnings, verdicts),
        metrics=metrics,
        verdicts=verdicts,
        panels=panels_of(record, points) if points else [],
        duration_s=record.context.duration_ns / 1e9,
        warmup_s=record.context.warmup_ns / 1e9,
        command=run_command(manifest),
        why=why(record) if explained else (),
        found=as_found(record),
        machine=machines(record),
        whole=record.is_whole,
        programs=program_lines(record),
    )


def kept_said(runs: Sequence[RunView]) -> str:
    """What is to say of runs whose tables were not kept; empty where all were."""
    slim = sum(not run.whole for run in runs)
    which = "this run" if len(runs) == 1 else "all runs"
    which = which if slim == len(runs) else f"{slim} of {len(runs)} runs"
    return f"Of {which} the metrics were kept, not the tables: no curves, no causes." if slim else ""


def lasting(runs: Sequence[RunView]) -> str:
    """How long the experiments last, a range where cells differ."""
    return least_to_most((run.duration_s for run in runs), "s")


def said(value: Any) -> str:
    """A factor's value in words: lists and tables joined, booleans as on and off."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return ", ".join(said(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {said(item)}" for key, item in value.items())
    return str(value)


def kernel_name(kernel: Kernel) -> str:
    """`Linux 6.12.117 (name)`; the name only where it says more than the release."""
    release, name = kernel.release or "unknown", kernel.name
    return f"Linux {release}" if name in ("", release) else f"Linux {release} ({name})"


def conditions(record: Record) -> list[str]:
    """The path in words: rate, RTT, buffer, queue, policers, jitter, loss; ranges where they differ."""
    ends = bottlenecks(record)
    wires = [end for end in record.context.ends.values() if end.role == "wire"]
    held = [one for end in ends for one in classes.queues(end)]
    base = [rtt / 1e3 for flow in record.context.flows.values() for rtt in _base_rtts(record, flow)]
    lines = [
        _range([rate for end in ends if end.rate_bps for rate in courses.extent(end, "rate_bps")], "bit/s"),
        _range(base, "µs", "base RTT "),
        *_buffers(held),
        ", ".join(sorted({*_queues(ends)})),
        *_policers(record),
        _range(
            [jitter / 1e3 for end in wires if end.jitter_ns for jitter in courses.extent(end, "jitter_ns")],
            "µs",
            "jitter ",
        ),
        _range(
            [100 * loss for end in wires if end.loss for loss in courses.extent(end, "loss")], "%", "loss "
        ),
    ]
    return [line for line in lines if line]


def _base_rtts(record: Record, flow: Flow) -> tuple[float, ...]:
    """The least and the greatest RTT of a flow's idle path."""
    ends = record.context.ends
    instants = courses.instants([ends[number] for number in flow.path if number in ends])
    base = courses.base_rtt_ns(flow, ends, instants * 1e-9)
    return () if base is None else (float(base.min()), float(base.max()))


def _range(values: list[float], unit: str, before: str = "") -> str:
    if not values:
        return ""
    low, high = quantity(min(values), unit), quantity(max(values), unit)
    return f"{before}{low}" if low == high else f"{before}{low} … {high}"


def _buffers(held: list[End | LinkClass]) -> Iterator[str]:
    """Those that count bytes; those that count packets, with the bytes that were asked."""
    counting = [one for one in held if one.buffer_packets]
    plain = [float(one.buffer_bytes) for one in held if one.buffer_bytes and not one.buffer_packets]
    yield _range(plain, "bytes", "buffer ")
    asked = _range([float(one.buffer_bytes) for one in counting if one.buffer_bytes], "bytes")
    packets = _range(
        [float(one.buffer_packets) for one in counting if one.buffer_packets], "packets", "buffer "
    )
    yield f"{packets} ({asked})" if asked else packets


def _queues(ends: list[End]) -> Iterator[str]:
    """What each end's discipline is; of one with classes theirs too, where they are not all fifos."""
    for end in ends:
        inside = sorted({one.queue for one in classes.queues(end) if one is not end and one.queue})
        if end.queue:
            yield f"{end.queue} ({', '.join(inside)})" if inside not in ([], ["fifo"]) else end.queue


def _policers(record: Record) -> dict[str, None]:
    """What the policers do that flows come to, each once."""
    crossed = {end for flow in record.context.flows.values() for end in flow.crossed}
    ends = [end for end in record.context.ends.values() if end.role == "police" and end.end in crossed]
    return dict.fromkeys(map(policers.said, ends))


def _unconnected(flow: Flow) -> bool:
    """Whether a TCP flow of ours never had a connection."""
    ours = flow.kind in kinds.TCP_STREAMS and flow.generator == "agent"
    return ours and flow.outcome.connected_ns is None and not flow.outcome.bytes_received


def flow_lines(record: Record) -> list[FlowLine]:
    """The flows in words, in their order; then the arrival processes, a line for each."""

    def line(flow: Flow, name: str, when: str, active: str, scope: str) -> FlowLine:
        asked = record.asked(flow)
        path = f"{asked.from_ or '?'} → {asked.to or '?'}"
        cc, crossed = asked.cc or "", flow.crossed
        return FlowLine(name, flow.kind, path, cc, when, active, scope, flow.group, crossed=crossed)

    lines = []
    for flow in record.flows():
        stop = f"{flow.stop_ns / 1e9:g}" if flow.stop_ns is not None else "end"
        when = f"{flow.start_ns / 1e9:g} \N{EN DASH} {stop} s"
        done_ns = flow.ended_early_ns(record.context.duration_ns)
        active = when if done_ns is None else f"{flow.start_ns / 1e9:g} \N{EN DASH} {done_ns / 1e9:.3g} s"
        lines.append(
            line(flow, flow.name, when, "never" if _unconnected(flow) else active, f"flow:{flow.name}")
        )
    arrived = Counter(flow.group for flow in record.arrivals())
    first = {flow.group: flow for flow in reversed(record.arrivals())}
    for group, number in arrived.items():
        begin, stop_ns = first[group].arrival or (0, 0)
        when = f"{number} in {begin / 1e9:g} \N{EN DASH} {stop_ns / 1e9:g} s"
        lines.append(line(first[group], group, when, when, f"group:{group}"))
    return lines
