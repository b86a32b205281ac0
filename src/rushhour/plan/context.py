"""What a plan means: for each flow its path, its idle RTT and its bottleneck; for each end what it does.

The idle RTT is the sum of the delays there and back, wires' with half their jitter (uniform from 0 to
jitter), netem's with none (it deviates both ways). Shapers add nothing on an idle path (`queues`), except
netem's own `rate`, which delays each packet by its serialisation; there a full frame of the flow is
counted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rushhour.plan.classes import ceiling
from rushhour.plan.flows import PlannedFlow, payload_and_frame, stop_ns
from rushhour.spec.workload import DEFAULT_REQUEST, DEFAULT_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rushhour.plan.layout import Arrival, Layout
    from rushhour.plan.routes import Step
    from rushhour.plan.schedule import Scheduled
    from rushhour.plan.stages import Stage
    from rushhour.spec.workload import Flow

NS = 10**9
_SETTINGS = {"rate": "rate_bps", "delay": "delay_ns", "jitter": "jitter_ns", "loss": "loss"}
TIMESTAMPS = "net.ipv4.tcp_timestamps"  # of IPv6, too


def context(layout: Layout, flows: Sequence[Scheduled]) -> dict[str, Any]:
    """Give the context as in docs/overview.md, plain JSON values."""
    ends = {pair: layout.ends(*pair) for pair in layout.hops}
    known = {flow.name: _flow(layout, flow, ends) for flow in layout.flows}
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


def _flow(
    layout: Layout, flow: PlannedFlow, ends: dict[tuple[str, str], list[tuple[int, Stage]]]
) -> dict[str, Any]:
    there, back = ends[flow.sender, flow.receiver], ends[flow.receiver, flow.sender]
    scenario = layout.scenario
    payload, frame = payload_of(layout, flow)
    way, pair = there, (flow.sender, flow.receiver)
    if _answers_more(flow.keys):
        way, pair = back, pair[::-1]
    narrowest = bottleneck(layout, layout.steps(*pair))
    own_stop = stop_ns(flow.keys, scenario.span.ns)
    return {
        "id": flow.id,
        "name": flow.name,
        "group": flow.group,
        "kind": flow.keys.kind,
        "start_ns": flow.keys.start.ns,
        "stop_ns": scenario.span.ns if own_stop is None else own_stop,
        "ends": [end for end, _ in there],
        "reverse_ends": [end for end, _ in back],
        "base_rtt_ns": sum(_idle_ns(layout, stage, frame) for _, stage in there)
        + sum(_idle_ns(layout, stage, 0) for _, stage in back),
        "bottleneck_end": narrowest.end if narrowest else None,
        "bottleneck_bps": min(_limits(layout, flow, (stage for _, stage in way)), default=None),
        "payload_per_packet": payload,
        "frame_bytes": frame,
    }


def _answers_more(keys: Flow) -> bool:
    """Whether the responses are larger than the requests: then they are what a link limits."""
    request, response = keys.request or DEFAULT_REQUEST, keys.response or DEFAULT_RESPONSE
    return keys.kind in ("rr", "crr") and response.bytes > request.bytes


def _limits(layout: Layout, flow: PlannedFlow, stages: Iterable[Stage]) -> Iterator[int]:
    """The rates that bound a flow on its way: of shapers, of policers, the ceilings of its classes."""
    for stage in stages:
        if rate := settings(layout, stage)["rate_bps"]:
            yield rate
        if (most := ceiling(stage.classes, flow.group)) is not None:
            yield most


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
            name = {"end": 2 * number + side, "label": labels[2 * number + side]}
            ends.append(name | {"node": end.node, "dev": end.dev} | _end(layout, stage))
    for arrival in layout.arrivals:
        here = layout.addressing.ends[arrival.after.cable][1 - arrival.after.side]
        name = {
            "end": arrival.end,
            "label": f"{_direction(layout, arrival)}, {arrival.stage.role} at ingress",
        }
        ends.append(name | {"node": here.node, "dev": arrival.ifb or here.dev} | _end(layout, arrival.stage))
    return ends


def _end(layout: Layout, stage: Stage) -> dict[str, Any]:
    """What a stage does, as the context has it; `over_time` and `classes` only where there are some."""
    end = settings(layout, stage) | {
        "buffer_bytes": stage.limit.bytes,
        "buffer_packets": stage.limit.packets,
        "queue": stage.words,
        "role": stage.role,
    }
    over_time = courses(stage)
    classes = [
        {
            "name": entry.name,
            "classid": entry.classid,
            "parent": entry.parent,
            "leaf": entry.leaf,
            "rate_bps": entry.rate_bps,
            "ceil_bps": entry.ceil_bps,
            "flows": list(entry.flows),
        }
        for entry in stage.classes
    ]
    more = {"over_time": over_time, "classes": classes}
    return end | {key: value for key, value in more.items() if value}


def _direction(layout: Layout, arrival: Arrival) -> str:
    """`a → b` of the link at whose far end packets arrive."""
    link = layout.graph.links[layout.cables[arrival.after.cable].link]
    forward = arrival.after.side == 0
    name = f"{link.a} → {link.b}" if forward else f"{link.b} → {link.a}"
    return name + _parallel(layout).get(link.name, "")


def _labels(layout: Layout) -> dict[int, str]:
    """Name each end `a → b` after the link's nodes; where a direction has more stages, those by role."""
    parallel = _parallel(layout)
    labels: dict[int, str] = {}
    number = 0
    for link, cables in zip(layout.graph.links, layout.links, strict=True):
        first = number
        number += len(cables)
        name = parallel.get(link.name, "")
        there = [2 * n for n in range(first, number)]
        back = [2 * n + 1 for n in reversed(range(first, number))]
        for ends, label in ((there, f"{link.a} → {link.b}{name}"), (back, f"{link.b} → {link.a}{name}")):
            roles = [layout.cables[end // 2].stages[end % 2].role for end in ends]
            labels |= _labels_of_direction(dict(zip(ends, roles, strict=True)), label)
    return labels


def _parallel(layout: Layout) -> dict[str, str]:
    """Links that join the same nodes as another, by name, and what tells them apart."""
    between = Counter(frozenset((link.a, link.b)) for link in layout.graph.links)
    return {
        link.name: f" ({link.name})"
        for link in layout.graph.links
        if between[frozenset((link.a, link.b))] > 1
    }


def _labels_of_direction(roles: dict[int, str], label: str) -> dict[int, str]:
    """The first stage of a direction has the plain label; the others add what they are."""
    main = next((end for end, role in roles.items() if role != "plain"), next(iter(roles)))
    labels = {main: label}
    for end, role in roles.items():
        if end != main:
            again = sum(1 for known in labels.values() if known.startswith(f"{label}, {role}"))
            labels[end] = f"{label}, {role}" + (f" {again + 1}" if again else "")
    return labels
