"""What a plan means: for each flow its path, its idle RTT and its bottleneck; for each end what it does.

The idle RTT is the sum of the delays there and back, wires' with half their jitter (uniform from 0 to
jitter), netem's with none (it deviates both ways). Shapers add nothing on an idle path (`queues`), except
netem's own `rate`, which delays each packet by its serialisation; there a full frame of the flow is
counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.plan.flows import PlannedFlow, payload_and_frame, stop_ns
from rushhour.spec.workload import DEFAULT_REQUEST, DEFAULT_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.plan.layout import Layout
    from rushhour.plan.routes import Step
    from rushhour.plan.schedule import Scheduled
    from rushhour.plan.stages import Stage
    from rushhour.spec.workload import Flow

NS = 10**9
_SETTINGS = {"rate": "rate_bps", "delay": "delay_ns", "jitter": "jitter_ns", "loss": "loss"}
TIMESTAMPS = "net.ipv4.tcp_timestamps"  # of IPv6, too


def context(layout: Layout, flows: Sequence[Scheduled]) -> dict[str, Any]:
    """Give the context as in docs/overview.md, plain JSON values."""
    steps = {pair: layout.steps(*pair) for pair in layout.hops}
    known = {flow.name: _flow(layout, flow, steps) for flow in layout.flows}
    return {
        "flows": [_one(one, known) for one in flows],
        "ends": _ends(layout),
        "duration_ns": layout.scenario.span.ns,
        "warmup_ns": layout.scenario.warmup.ns,
    }


def bottleneck(layout: Layout, steps: list[Step]) -> Step | None:
    """Give the step with the lowest rate of all times; of equals a router's before a host's, then the first.

    None where nothing limits. Hosts with the line rate of the link between them do not queue there alone.
    """

    def narrowness(step: Step) -> tuple[float, bool]:
        node = layout.graph.by_name.get(layout.cables[step.cable].nodes[step.side])
        rates = [
            change.value for change in layout.stage(step).changes if change.key == "rate" and change.value
        ]
        return min([layout.stage(step).rate_bps or 0, *rates]), node is not None and not node.router

    return min((step for step in steps if layout.stage(step).rate_bps), key=narrowness, default=None)


def courses(stage: Stage) -> dict[str, list[tuple[int, float]]]:
    """The settings of a stage that change, from the start on, by their name in the context."""
    first: dict[str, float | None] = {
        "rate": stage.rate_bps,
        "delay": stage.delay_ns,
        "jitter": stage.jitter_ns,
    }
    first["loss"] = stage.wire.loss if stage.wire else 0.0
    found: dict[str, list[tuple[int, float]]] = {}
    for change in stage.changes:
        found.setdefault(_SETTINGS[change.key], [(0, first[change.key] or 0)]).append(
            (change.t_ns, change.value)
        )
    return found


def settings(layout: Layout, stage: Stage) -> dict[str, Any]:
    """Rate, delay, jitter and loss of a stage; those that change as their mean over the experiment."""
    span = layout.scenario.span.ns
    fixed = {
        "rate_bps": stage.rate_bps,
        "delay_ns": stage.delay_ns,
        "jitter_ns": stage.jitter_ns,
        "loss": stage.wire.loss if stage.wire else 0.0,
    }
    means: dict[str, float] = {}
    for name, course in courses(stage).items():
        ends = [t_ns for t_ns, _ in course[1:]] + [span]
        mean = sum(value * (end - t_ns) for (t_ns, value), end in zip(course, ends, strict=True)) / span
        means[name] = mean if name == "loss" else round(mean)
    return fixed | means


def payload_of(layout: Layout, flow: PlannedFlow) -> tuple[int, int]:
    """Payload of a flow's full packet, and its frame as a qdisc counts it."""
    return payload_and_frame(
        flow.keys,
        layout.scenario.family,
        layout.mtu(flow.sender, flow.receiver),
        timestamps=_timestamps(layout, flow),
    )


def _one(one: Scheduled, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One flow of the run, by what is known of the scenario's flow that it belongs to."""
    flow = one.flow
    name = flow.name.rpartition(".")[0] if one.arrival else flow.name
    entry = known[name] | {"id": flow.id, "name": flow.name, "start_ns": one.start_ns}
    return entry | {"arrival": list(one.arrival)} if one.arrival else entry


def _flow(layout: Layout, flow: PlannedFlow, steps: dict[tuple[str, str], list[Step]]) -> dict[str, Any]:
    there, back = steps[flow.sender, flow.receiver], steps[flow.receiver, flow.sender]
    scenario = layout.scenario
    payload, frame = payload_of(layout, flow)
    narrowest = bottleneck(layout, back if _answers_more(flow.keys) else there)
    own_stop = stop_ns(flow.keys, scenario.span.ns)
    return {
        "id": flow.id,
        "name": flow.name,
        "group": flow.group,
        "kind": flow.keys.kind,
        "start_ns": flow.keys.start.ns,
        "stop_ns": scenario.span.ns if own_stop is None else own_stop,
        "ends": [step.end for step in there],
        "reverse_ends": [step.end for step in back],
        "base_rtt_ns": sum(_idle_ns(layout, layout.stage(step), frame) for step in there)
        + sum(_idle_ns(layout, layout.stage(step), 0) for step in back),
        "bottleneck_end": narrowest.end if narrowest else None,
        "bottleneck_bps": settings(layout, layout.stage(narrowest))["rate_bps"] if narrowest else None,
        "payload_per_packet": payload,
        "frame_bytes": frame,
    }


def _answers_more(keys: Flow) -> bool:
    """Whether the responses are larger than the requests: then they are what a link limits."""
    request, response = keys.request or DEFAULT_REQUEST, keys.response or DEFAULT_RESPONSE
    return keys.kind in ("rr", "crr") and response.bytes > request.bytes


def _idle_ns(layout: Layout, stage: Stage, frame: int) -> int:
    """Mean delay of a lone packet at a stage."""
    if stage.role == "wire":
        now = settings(layout, stage)
        return int(now["delay_ns"] + now["jitter_ns"] // 2)
    if stage.role == "netem" and stage.rate_bps:
        return stage.delay_ns + frame * 8 * NS // stage.rate_bps
    return stage.delay_ns


def _timestamps(layout: Layout, flow: PlannedFlow) -> bool:
    """Whether both hosts let TCP stamp its segments."""
    for name in (flow.sender, flow.receiver):
        own = dict(layout.graph.by_name[name].sysctl)
        if own.get(TIMESTAMPS, layout.scenario.sysctl.get(TIMESTAMPS, "1")) == "0":
            return False
    return True


def _ends(layout: Layout) -> list[dict[str, Any]]:
    labels = _labels(layout)
    ends = []
    for number, cable in enumerate(layout.cables):
        for side in (0, 1):
            stage, end = cable.stages[side], layout.addressing.ends[number][side]
            ends.append(
                {
                    "end": 2 * number + side,
                    "label": labels[2 * number + side],
                    "node": end.node,
                    "dev": end.dev,
                    **settings(layout, stage),
                    "buffer_bytes": stage.limit.bytes,
                    "buffer_packets": stage.limit.packets,
                    "queue": stage.words,
                    "role": stage.role,
                    **({"over_time": over_time} if (over_time := courses(stage)) else {}),
                }
            )
    return ends


def _labels(layout: Layout) -> dict[int, str]:
    """Name each end `a → b` after the link's nodes; where a direction has more stages, those by role."""
    between = [frozenset((link.a, link.b)) for link in layout.graph.links]
    parallel = (
        {pair for pair in between if between.count(pair) > 1} if len(set(between)) < len(between) else set()
    )
    labels: dict[int, str] = {}
    number = 0
    for link, cables in zip(layout.graph.links, layout.links, strict=True):
        first = number
        number += len(cables)
        name = f" ({link.name})" if frozenset((link.a, link.b)) in parallel else ""
        there = [2 * n for n in range(first, number)]
        back = [2 * n + 1 for n in reversed(range(first, number))]
        for ends, label in ((there, f"{link.a} → {link.b}{name}"), (back, f"{link.b} → {link.a}{name}")):
            roles = [layout.cables[end // 2].stages[end % 2].role for end in ends]
            labels |= _labels_of_direction(dict(zip(ends, roles, strict=True)), label)
    return labels


def _labels_of_direction(roles: dict[int, str], label: str) -> dict[int, str]:
    """The first stage of a direction has the plain label; the others add what they are."""
    main = next((end for end, role in roles.items() if role != "plain"), next(iter(roles)))
    labels = {main: label}
    for end, role in roles.items():
        if end != main:
            again = sum(1 for known in labels.values() if known.startswith(f"{label}, {role}"))
            labels[end] = f"{label}, {role}" + (f" {again + 1}" if again else "")
    return labels
