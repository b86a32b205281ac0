"""Which queue of a link end holds a packet: the end's own, or where it has classes that of one of them.

By what a record says of its links alone; what readings of classes tell is in `rushhour.series.class_queue`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushhour.record.context import End, Flow, LinkClass


def class_of(end: End, flow: Flow) -> LinkClass | None:
    """The class of an end whose queue holds a flow's packets, data or ACKs; None where there are none."""
    leaves = [entry for entry in end.classes if entry.leaf]
    mine = next((entry for entry in leaves if flow.group in entry.flows), None)
    return mine or next((entry for entry in leaves if not entry.flows), None)


def held(end: End, entry: LinkClass | None) -> End | LinkClass:
    """What has the discipline and the limit of a queue: the class whose it is, or the end itself.

    Older versions wrote of an end with classes what the link's keys say, and nothing of the classes.
    """
    return end if entry is None or entry.queue is None else entry


def queues(end: End) -> tuple[End | LinkClass, ...]:
    """Where packets wait at an end, each with its discipline and limit: in its classes, if it has some."""
    return tuple(one for one in end.classes if one.leaf and one.queue is not None) or (end,)


def place(end: End, entry: LinkClass | None) -> str:
    """What a queue is called: by the end's label, and its class if it is of one."""
    return end.label if entry is None else f"{end.label} (class {entry.name})"
