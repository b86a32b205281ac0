"""Conversations that no flow of the plan names: flows of the record, as soon as the run has found them.

Takes the context that was lowered, whose `pairs` say what a flow between two nodes would be, and the agent's
result; gives the context with a flow for each direction that was found.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rushhour.record.context_file import ContextFile
from rushhour.record.document import EMPTY, read, write
from rushhour.record.plan_file import PlanFlow
from rushhour.record.result_file import FlowResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.context_file import ContextPair
    from rushhour.record.result_file import FoundFlow, ResultFile

FOUND = "found"
"""What is called the generator of a flow that nobody planned."""
BACK = "back"
_OF_PAIRS = ("from", "to", "kind")


def completed(context: ContextFile, result: ResultFile) -> ContextFile:
    """The context with a flow for each that was found, behind those of the plan, in the order of their begin.

    A context that has such flows already gets those of this result in their place. An experiment that ended
    with its programs lasted until then.
    """
    if result.ended_ns is not None:
        context = read(ContextFile, {**context, "duration_ns": max(1, result.ended_ns)}, "the context")
    if not context.pairs:
        return context
    planned = [flow for flow in context.flows if flow.generator != FOUND]
    found = () if result.found is None else result.found.flows
    known = {(pair.from_, pair.to, pair.kind): pair for pair in context.pairs}
    named = names(found, callers(result))
    flows = [
        _flow(one, known[which], *named[one.flow])
        for one in found
        if (which := (one.node, one.peer, one.kind)) in known
    ]
    return read(ContextFile, {**context, "flows": [*planned, *flows]}, "the context")


def callers(result: ResultFile) -> Mapping[str, str]:
    """By node the program that runs there, where it is the only one: it is who connects from there."""
    on: dict[str, list[str]] = {}
    for program in result.programs:
        on.setdefault(program.node, []).append(program.name)
    return {node: names[0] for node, names in on.items() if len(names) == 1}


def group(one: FoundFlow, known: Mapping[str, str] = EMPTY) -> str:
    """What a conversation is called, with `.back` for the answers.

    The program that connected, where its node is among the `known`; else the node and port that were
    connected to.
    """
    caller = known.get(one.peer if one.back else one.node)
    if caller is not None:
        return f"{caller}.{BACK}" if one.back else caller
    return f"{one.node}:{one.sport}.{BACK}" if one.back else f"{one.peer}:{one.dport}"


def names(found: tuple[FoundFlow, ...], known: Mapping[str, str] = EMPTY) -> Mapping[int, tuple[str, str]]:
    """By number the name and the group of each flow: `GROUP.N`, counted in the order of their begin.

    Both directions of a conversation have the same N.
    """
    named: dict[int, tuple[str, str]] = {}
    counted: Counter[str] = Counter()
    talks: dict[tuple[object, ...], int] = {}
    for one in found:
        ends = sorted([(one.src, one.sport), (one.dst, one.dport)])
        talk = (one.kind, one.first_ns, *ends)
        own = group(one, known)
        if talk not in talks:
            service = own.removesuffix(f".{BACK}")
            counted[service] += 1
            talks[talk] = counted[service]
        named[one.flow] = f"{own}.{talks[talk]}", own
    return named


def outcomes(result: ResultFile) -> list[FlowResult]:
    """What became of each flow that was found, as the agent says of those of the plan."""
    found = () if result.found is None else result.found.flows
    return [read(FlowResult, {**one, "id": one.flow}, "a flow that was found") for one in found]


def asked(result: ResultFile) -> Mapping[int, PlanFlow]:
    """By number the flows that were found, as if the plan had them."""
    found = () if result.found is None else result.found.flows
    return {
        one.flow: write(
            PlanFlow,
            id=one.flow,
            kind=one.kind,
            from_=one.node,
            to=one.peer,
            src=one.src,
            dst=one.dst,
            sport=one.sport,
            dport=one.dport,
            start_ns=one.first_ns,
            stop_ns=one.last_ns,
            generator=FOUND,
        )
        for one in found
    }


def _flow(one: FoundFlow, pair: ContextPair, name: str, own: str) -> dict[str, object]:
    path = {key: value for key, value in pair.items() if key not in _OF_PAIRS}
    stop = one.last_ns if one.sender_done_ns is None else one.sender_done_ns
    told = {"id": one.flow, "name": name, "group": own, "kind": one.kind, "generator": FOUND}
    return {**path, **told, "start_ns": one.first_ns, "stop_ns": stop}
