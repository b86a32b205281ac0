"""What a plan means: for each flow its path, its idle RTT and its bottleneck; for each end what it does.

The idle RTT is the sum of the delays there and back, wires' with half their jitter (uniform from 0 to
jitter), netem's with none (it deviates both ways), and of the times that a full frame of the flow there and
its answer back take to be sent: bytes / rate of every link that serialises, and of netem's own `rate`.
"""

from __future__ import annotations

from itertools import groupby, permutations
from typing import TYPE_CHECKING, Any

from rushhour.plan import labels
from rushhour.plan.classes import Course, ceilings, ceilings_of
from rushhour.plan.flows import PlannedFlow, header_bytes, payload_and_frame, stop_ns
from rushhour.quantities.netem_rate import counts_otherwise, netem_rate
from rushhour.quantities.ways import shares
from rushhour.spec.workload import DEFAULT_REQUEST, DEFAULT_RESPONSE, Flow
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.plan.classes import PlannedClass
    from rushhour.plan.layout import Layout
    from rushhour.plan.routes import Step
    from rushhour.plan.schedule import Scheduled
    from rushhour.plan.stages import Stage

Ways = dict[tuple[str, str], list[list["Step"]]]  # by sender and receiver
NS = 10**9
FOUND_KINDS = ("tcp", "udp")
_OWN = ("id", "name", "group", "kind", "start_ns", "stop_ns")
_SETTINGS = {
    "rate": "rate_bps",
    "delay": "delay_ns",
    "jitter": "jitter_ns",
    "loss": "loss",
    "serial": "serial_bps",
}
TIMESTAMPS = "net.ipv4.tcp_timestamps"  # of IPv6, too


def context(layout: Layout, flows: Sequence[Scheduled]) -> dict[str, object]:
    """Give the context as in docs/overview.md, plain JSON values."""
    ways = {pair: layout.step_ways(*pair) for pair in layout.ways}
    known = {flow.name: _flow(layout, flow, ways) for flow in (*layout.flows, *layout.subflows)}
    return {
        "flows": [_one(one, known) for one in flows],
        "ends": _ends(layout),
        "duration_ns": layout.scenario.span.ns,
        "warmup_ns": layout.scenario.warmup.ns,
    } | ({"pairs": _pairs(layout, ways)} if layout.found else {})


def bottleneck(layout: Layout, steps: list[Step], flow: str | None = None, frame: int = 0) -> Step | None:
    """Give the step with the lowest rate of all times; of equals a router's before a host's, then the first.

    None where nothing limits. Hosts with the line rate of the link between them do not queue there alone.
    What a step allows one flow (a class's ceiling, fq's `maxrate`, netem's `rate` with an overhead for each
    `frame`) counts for `flow`, a group's name.
    """

    def narrowness(step: Step) -> tuple[float, bool]:
        node = layout.graph.by_name.get(layout.cables[step.cable].nodes[step.side])
        stage = layout.stage(step)
        rates = [value for _, value in courses(stage).get("rate_bps", ()) if value]
        own = (most for course in _of_flow(stage, flow, frame) for _, most in course)
        known = [*rates, *own, stage.rate_bps or 0]
        return min(known), node is not None and not node.router

    return min((step for step in steps if layout.stage(step).rate_bps), key=narrowness, default=None)


def _of_flow(stage: Stage, flow: str | None, frame: int) -> Iterator[Course]:
    """What a stage allows one flow, whatever else is there, from when on."""
    counts = netem_rate(stage.words)
    if frame and counts is not None and not counts.is_plain:
        yield ((0, round(counts.bps * frame / counts.counted(frame))),)
    if flow is not None and (course := ceilings(stage.classes, flow, stage.rate_bps)):
        yield course
    if stage.flow_bps:
        yield ((0, stage.flow_bps),)


def _in_turn(layout: Layout, steps: list[Step]) -> list[int]:
    """The ends that are the narrowest at some time, where patterns move the bottleneck; else none."""
    stages = {step.end: layout.stage(step) for step in steps if layout.stage(step).rate_bps}
    rates = {end: courses(stage).get("rate_bps", [(0, stage.rate_bps or 0)]) for end, stage in stages.items()}
    changes = sorted(((t_ns, end, rate) for end, course in rates.items() for t_ns, rate in course), key=_time)
    now: dict[int, float] = {}
    found: set[int] = set()
    for _, together in groupby(changes, key=_time):
        now |= {end: rate for _, end, rate in together}
        if not found & {end for end, rate in now.items() if rate == min(now.values())}:
            found.add(min(now, key=lambda end: now[end]))
    return sorted(found) if len(found) > 1 else []


def _time(change: tuple[int, int, float]) -> int:
    return change[0]


def courses(stage: Stage) -> dict[str, list[tuple[int, float]]]:
    """The settings of a stage that change, from the start on, by their name in the context."""
    first: dict[str, float | None] = {
        "rate": stage.rate_bps,
        "delay": stage.delay_ns,
        "jitter": stage.jitter_ns,
    }
    first["loss"] = stage.wire.loss if stage.wire else 0.0
    first["serial"] = stage.serial_bps
    found: dict[str, list[tuple[int, float]]] = {}
    for change in (change for change in stage.changes if change.key in _SETTINGS):
        # A shaper that is opened wide leaves what the discipline under it keeps by itself.
        inner = stage.inner_bps if change.key == "rate" else None
        value = min(change.value, inner) if inner else change.value
        found.setdefault(_SETTINGS[change.key], [(0, first[change.key] or 0)]).append((change.t_ns, value))
    return found


def settings(layout: Layout, stage: Stage) -> dict[str, Any]:
    """Rate, delay, jitter and loss of a stage; those that change as their mean over the experiment."""
    span = layout.scenario.span.ns
    fixed = {
        "rate_bps": stage.rate_bps,
        "delay_ns": stage.delay_ns,
        "jitter_ns": stage.jitter_ns,
        "loss": stage.wire.loss if stage.wire else stage.loss,
    } | ({"serial_bps": stage.serial_bps} if stage.serial_bps else {})
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


def _one(one: Scheduled, known: dict[str, dict[str, object]]) -> dict[str, object]:
    """One flow of the run, by what is known of the scenario's flow that it belongs to."""
    flow = one.flow
    name = flow.name.rpartition(".")[0] if one.arrival else flow.name
    entry = known[name] | {"id": flow.id, "name": flow.name, "start_ns": one.start_ns}
    return entry | {"arrival": list(one.arrival)} if one.arrival else entry


def _pairs(layout: Layout, ways: Ways) -> list[dict[str, object]]:
    """What flows would be that are found between nodes, of either kind: nobody knows yet which there are."""
    found = []
    for kind in FOUND_KINDS:
        for sender, receiver in permutations(layout.found, 2):
            flow = PlannedFlow(-1, "", "", Flow(kind=kind), sender, receiver)
            entry = _flow(layout, flow, ways)
            path = {key: value for key, value in entry.items() if key not in _OWN}
            found.append({"from": sender, "to": receiver, "kind": kind} | path)
    return found


def _flow(layout: Layout, flow: PlannedFlow, ways: Ways) -> dict[str, object]:
    there, back = layout.own_ways(flow) or (
        ways[flow.sender, flow.receiver],
        ways[flow.receiver, flow.sender],
    )
    scenario = layout.scenario
    payload, frame = payload_of(layout, flow)
    headers = header_bytes(flow.keys, scenario.family, payload, frame)
    request, answer = _round_trip(flow.keys, payload, frame, headers)
    heavy = back[0] if _answers_more(flow.keys) else there[0]
    narrowest = bottleneck(layout, heavy, flow.group, frame)
    taken = _taken(layout, flow, there, back)
    own_stop = stop_ns(flow.keys, scenario.span.ns)
    return (
        {
            "id": flow.id,
            "name": flow.name,
            "group": flow.group,
            "kind": flow.keys.kind,
            "start_ns": flow.keys.start.ns,
            "stop_ns": scenario.span.ns if own_stop is None else own_stop,
            "ends": _numbers(layout, there[0]),
            "reverse_ends": _numbers(layout, back[0]),
            "base_rtt_ns": min(_idle_way_ns(layout, way, request) for way in there)
            + min(_idle_way_ns(layout, way, answer) for way in back),
            "bottleneck_end": narrowest.end if narrowest else None,
            "bottleneck_bps": min(_limits(layout, flow, taken, frame), default=None),
            "payload_per_packet": payload,
            "frame_bytes": frame,
            "request_frame_bytes": request,
            "answer_frame_bytes": answer,
        }
        | _more(layout, flow, heavy, taken, frame)
        | _alternatives(layout, flow, there, back)
    )


def _taken(
    layout: Layout, flow: PlannedFlow, there: list[list[Step]], back: list[list[Step]]
) -> list[list[Step]]:
    """The ways over which the packets that a link may limit go in turn; the first where each flow has one."""
    heavy, pair = there, (flow.sender, flow.receiver)
    if _answers_more(flow.keys):
        heavy, pair = back, pair[::-1]
    limited = all(bottleneck(layout, way, flow.group) is not None for way in heavy)
    return heavy if limited and len(heavy) > 1 and layout.takes_turns(*pair) else heavy[:1]


def _more(
    layout: Layout, flow: PlannedFlow, way: list[Step], taken: list[list[Step]], frame: int
) -> dict[str, object]:
    """What is to say of a flow with a limit of its own, or whose bottleneck moves."""
    own = [
        tuple((t_ns, round(most / share)) for t_ns, most in course)
        for stage, share in _stages(layout, taken)
        for course in _own(stage, flow.group, frame)
    ]
    moved, least = _in_turn(layout, way), _least(own)
    told: dict[str, object] = {"ceiling_bps": _mean(least, layout.scenario.span.ns)} if own else {}
    if len(least) > 1:
        told["over_time"] = {"ceiling_bps": [list(step) for step in least]}
    return told | ({"bottleneck_ends": moved} if moved else {})


def _least(courses: Sequence[Course]) -> Course:
    """The least of several courses; empty of none."""
    edges = sorted({t_ns for course in courses for t_ns, _ in course})
    return tuple(
        (t_ns, min([value for since, value in course if since <= t_ns][-1] for course in courses))
        for t_ns in edges
    )


def _mean(course: Course, span_ns: int) -> int:
    """The mean of a course over the experiment."""
    ends = [min(t_ns, span_ns) for t_ns, _ in course[1:]] + [span_ns]
    return round(sum(value * (end - t_ns) for (t_ns, value), end in zip(course, ends, strict=True)) / span_ns)


def _own(stage: Stage, flow: str, frame: int) -> Iterator[Course]:
    """What a stage allows one flow whatever its rate is: a class, fq, netem, a policer."""
    yield from _of_flow(stage, flow, frame)
    if stage.role == "police" and stage.rate_bps:
        yield ((0, stage.rate_bps),)


def _stages(layout: Layout, ways: list[list[Step]]) -> Iterator[tuple[Stage, float]]:
    """The stages of ways that are taken in turn, each with the share of the packets that cross it."""
    crossed = {end: stage for way in ways for end, stage in layout.ends(way)}
    for end, share in shares([_numbers(layout, way) for way in ways]).items():
        yield crossed[end], share


def _alternatives(
    layout: Layout, flow: PlannedFlow, there: list[list[Step]], back: list[list[Step]]
) -> dict[str, object]:
    """What is to say of a flow whose packets may take several ways, if they may.

    One whose packets take them in turn may use the rates of all; any other is on one of them.
    """
    ways = {"ways": there, "reverse_ways": back}
    told: dict[str, object] = {
        key: [_numbers(layout, way) for way in several] for key, several in ways.items() if len(several) > 1
    }
    heavy = back if _answers_more(flow.keys) else there
    if len(heavy) == 1:
        return told
    narrowest = [step for way in heavy if (step := bottleneck(layout, way, flow.group)) is not None]
    told["bottleneck_ends"] = sorted({step.end for step in narrowest})
    # In turn: the slowest way holds back its share, and with it all others.
    return told | ({"in_turn": True} if len(_taken(layout, flow, there, back)) > 1 else {})


def _answers_more(keys: Flow) -> bool:
    """Whether the responses are larger than the requests: then they are what a link limits."""
    request, response = keys.request or DEFAULT_REQUEST, keys.response or DEFAULT_RESPONSE
    return keys.kind in kinds.CALLS and response.bytes > request.bytes


def _limits(layout: Layout, flow: PlannedFlow, ways: list[list[Step]], frame: int) -> Iterator[int]:
    """The rates that bound a flow on ways taken in turn: of shapers, policers, ceilings of its classes."""
    for stage, share in _stages(layout, ways):
        # Where netem counts packets for more or less than they are, that is the flow's own, below.
        if (rate := settings(layout, stage)["rate_bps"]) and not counts_otherwise(stage.words, rate):
            yield round(rate / share)
        span_ns = layout.scenario.span.ns
        yield from (round(_mean(course, span_ns) / share) for course in _of_flow(stage, flow.group, frame))


def _numbers(layout: Layout, way: list[Step]) -> list[int]:
    return [end for end, _ in layout.ends(way)]


def _round_trip(keys: Flow, payload: int, frame: int, headers: int) -> tuple[int, int]:
    """Frames that make a round trip: a full one and its answer, or those of a request and its response."""
    if keys.kind in kinds.ECHOES:
        return frame, frame
    if keys.kind not in kinds.CALLS:
        return frame, headers
    request, response = keys.request or DEFAULT_REQUEST, keys.response or DEFAULT_RESPONSE
    return headers + min(request.bytes, payload), headers + min(response.bytes, payload)


def _idle_way_ns(layout: Layout, way: list[Step], frame: int) -> int:
    """Mean delay of a lone packet on a way."""
    return sum(_idle_ns(layout, stage, frame) for _, stage in layout.ends(way))


def _idle_ns(layout: Layout, stage: Stage, frame: int) -> int:
    """Mean delay of a lone packet at a stage."""
    if stage.role == "wire":
        now = settings(layout, stage)
        sent = frame * 8 * NS // now["serial_bps"] if stage.serial_bps else 0
        return int(now["delay_ns"] + now["jitter_ns"] // 2 + sent)
    if stage.role == "netem" and (rate := netem_rate(stage.words)) is not None:
        return stage.delay_ns + rate.sent_ns(frame)
    return stage.delay_ns


def _timestamps(layout: Layout, flow: PlannedFlow) -> bool:
    """Whether both hosts let TCP stamp its segments."""
    for name in (flow.sender, flow.receiver):
        own = dict(layout.graph.by_name[name].sysctl)
        if own.get(TIMESTAMPS, layout.scenario.sysctl.get(TIMESTAMPS, "1")) == "0":
            return False
    return True


def _ends(layout: Layout) -> list[dict[str, object]]:
    names, bundled = labels.of_ends(layout), labels.bundles(layout)
    ends = []
    for number, cable in enumerate(layout.cables):
        for side in (0, 1):
            stage, end = cable.stages[side], layout.addressing.ends[number][side]
            index = 2 * number + side
            name = {"end": index, "label": names[index], "node": end.node, "dev": end.dev}
            bundle = {"bundle": bundled[index]} if index in bundled else {}
            ends.append(name | _end(layout, stage) | bundle)
    for arrival in layout.arrivals:
        here = layout.addressing.ends[arrival.after.cable][1 - arrival.after.side]
        name = {
            "end": arrival.end,
            "label": f"{labels.of_direction(layout, arrival.after)}, {arrival.stage.role} at ingress",
        }
        ends.append(name | {"node": here.node, "dev": arrival.ifb or here.dev} | _end(layout, arrival.stage))
    return ends


def _changing(course: Course) -> dict[str, object]:
    return {"over_time": {"ceil_bps": [list(step) for step in course]}} if course else {}


def _held(entry: PlannedClass) -> dict[str, object]:
    """The queue of a class that has one."""
    if entry.known is None:
        return {}
    return {
        "queue": entry.words,
        "buffer_bytes": entry.known.bytes,
        "buffer_packets": entry.known.packets,
    }


def _end(layout: Layout, stage: Stage) -> dict[str, object]:
    """What a stage does, as the context has it; `over_time` and `classes` only where there are some."""
    limit = stage.known or stage.limit
    end = settings(layout, stage) | {
        "buffer_bytes": limit.bytes,
        "buffer_packets": limit.packets,
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
        | _held(entry)
        | _changing(ceilings_of(entry, stage.rate_bps))
        for entry in stage.classes
    ]
    more = {"over_time": over_time, "classes": classes}
    return end | {key: value for key, value in more.items() if value}
