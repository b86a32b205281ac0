"""PAUSE of Ethernet: which ports are stopped, and by the queues of which node.

Takes a layout, gives the plan's `pauses`. A port with `pause` is stopped when any queue of the node that it
sends to holds three quarters of its buffer, and goes on when all are below a half. What is under way then,
and what comes until the queues are looked at again, must fit the quarter that is left, or packets would be
lost that PAUSE promises to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.plan.queues import NS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.plan.graph import Link
    from rushhour.plan.layout import Layout
    from rushhour.plan.stages import Stage

PLUG = "qdisc parent 1:1 handle 10: plug"
LEAST_INTERVAL_NS = 1000
STOP, GO = (3, 4), (1, 2)


def pauses(layout: Layout) -> dict[str, object] | None:
    """The plan's entry; None where no link has `pause`.

    Raises:
        PlanError: a port that nothing could stop, or a buffer that does not hold what comes while it stops.
    """
    directions = [
        (number, forward)
        for number, link in enumerate(layout.graph.links)
        for forward in (True, False)
        if (queue := link.direction(forward=forward).queue) is not None and queue.pause
    ]
    if not directions:
        return None
    links = layout.graph.links
    interval_ns = max(
        LEAST_INTERVAL_NS, *(_frame_ns(links[number], forward) for number, forward in directions)
    )
    ports, crowds = [], dict[int, int]()
    for number, forward in directions:
        link = links[number]
        _check(link, forward=forward)
        far = link.b if forward else link.a
        watched = list(_queues_of(layout, far, number))
        if not watched:
            raise PlanError(
                f"{far} has no queue that could fill and stop link {link.name}",
                where=f"link {link.name}",
                hint="pause needs a link to a node that forwards, over links with a rate and a buffer",
            )
        for end, _ in watched:
            crowds[end] = crowds.get(end, 0) + _coming(link, interval_ns, forward=forward)
        watch = [_watched(end, stage, link.frame) for end, stage in watched]
        ports += [
            {"end": end, "line": PLUG, "watch": watch} for end, _ in _queue_ends(layout, number, forward)
        ]
    _check_room(layout, crowds)
    return {"interval_ns": interval_ns, "ports": ports}


def _check(link: Link, *, forward: bool) -> None:
    queue = link.direction(forward=forward).queue
    assert queue is not None
    if queue.rate_bps is None or queue.classes or queue.words != "fifo" or link.bond is not None:
        raise PlanError(
            "a port that can be stopped is a fifo with a rate",
            where=f"link {link.name}",
            hint="give the link a rate, and leave queue, class and bond out",
        )


def _frame_ns(link: Link, forward: bool) -> int:  # noqa: FBT001 as the pairs have it
    queue = link.direction(forward=forward).queue
    return link.frame * 8 * NS // queue.rate_bps if queue is not None and queue.rate_bps else 0


def _queue_ends(layout: Layout, number: int, forward: bool) -> Iterator[tuple[int, Stage]]:  # noqa: FBT001
    """The ends where a direction of a link has its queue: one, of a bond one a cable."""
    side = 0 if forward else 1
    for place, cable in enumerate(layout.cables):
        stage = cable.stages[side]
        if cable.link == number and stage.role == "queue" and stage.rate_bps is not None:
            yield 2 * place + side, stage


def _queues_of(layout: Layout, node: str, but: int) -> Iterator[tuple[int, Stage]]:
    """The queues by which a node sends on, but for those of one link."""
    for number, link in enumerate(layout.graph.links):
        if number != but and node in (link.a, link.b):
            yield from _queue_ends(layout, number, link.a == node)


def _watched(end: int, stage: Stage, frame: int) -> dict[str, object]:
    limit = stage.limit
    size = limit.packets if limit.packets is not None else limit.in_bytes(frame)
    packets = {"packets": True} if limit.packets is not None else {}
    return {"end": end, "stop": max(1, size * STOP[0] // STOP[1]), "go": size * GO[0] // GO[1], **packets}


def _coming(link: Link, interval_ns: int, *, forward: bool) -> int:
    """Bytes that still come when a port shall stop: of one look, of the wire there, and two frames."""
    direction = link.direction(forward=forward)
    wire_ns = direction.wire.longest_ns if direction.wire is not None else 0
    rate_bps = (direction.queue.rate_bps if direction.queue is not None else None) or 0
    return rate_bps * (interval_ns + wire_ns) // (8 * NS) + 2 * link.frame


def _check_room(layout: Layout, crowds: dict[int, int]) -> None:
    for end, coming in crowds.items():
        cable = layout.cables[end // 2]
        frame = layout.graph.links[cable.link].frame
        size = cable.stages[end % 2].limit.in_bytes(frame)
        if size - size * STOP[0] // STOP[1] < coming:
            raise PlanError(
                f"a buffer of {size} bytes does not hold the {coming} that come while its senders stop, "
                "beyond the three quarters at which they are stopped",
                where=f"link {cable.stem}",
                hint=f'buffer = "{-(-4 * coming // 1000)}kB"',
            )
