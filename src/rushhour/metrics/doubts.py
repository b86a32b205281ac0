"""Doubts: what a run did that its scenario did not ask for or no link can do, though its links are true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.completion import offered_load
from rushhour.metrics.silence import silent_flows
from rushhour.metrics.surroundings import surroundings

if TYPE_CHECKING:
    from rushhour.record import Record

SENDER = 0


def doubts(record: Record) -> list[str]:
    """Sentences for the manifest's warnings: arrivals beyond the rate, what was replaced or borrowed."""
    return [
        *_overloads(record),
        *_replaced(record),
        *_borrowed(record),
        *(f"nothing of {name} arrived" for name in silent_flows(record)),
        *surroundings(record),
    ]


def _overloads(record: Record) -> list[str]:
    """Arrival processes of a load above 1: nothing is steady then, and unfinished flows decide every mean."""
    loads = [found for found in offered_load(record) if (found.value or 0) > 1]
    return [
        f"{found.scope} offers {found.value:.2f} times what the bottleneck carries: flows pile up"
        for found in loads
    ]


def _replaced(record: Record) -> list[str]:
    """Congestion controls that the kernel replaced by another.

    A kernel may do so: `dctcp` becomes `dctcp-reno` on a connection for which ECN was not agreed.
    """
    if not record.has("tcp_info"):
        return []
    rows = record.table("tcp_info")
    rows = rows[rows["side"] == SENDER]
    asked = {flow["id"]: flow.get("cc") for flow in record.plan.get("flows") or []}
    flows, places = np.unique(rows["flow"][::-1], return_index=True)
    found = []
    for flow, place in zip(flows.tolist(), places.tolist(), strict=True):
        used = rows["cc"][::-1][place].decode(errors="replace")
        if asked.get(flow) and used and used != asked[flow]:
            name = record.context.flows[flow].name
            found.append(
                f"flow {name} asked for {asked[flow]}, the kernel used {used}"
                + (": ECN was not agreed; set receiver_cc too" if used == "dctcp-reno" else "")
            )
    return found


def _borrowed(record: Record) -> list[str]:
    """A program of this machine that had a hand in a virtual network."""
    tc = (record.manifest.get("tools") or {}).get("tc")
    if tc is None or record.manifest.get("virtual_s") is None:
        return []
    who = f"this machine's tc ({tc['version']}, sha256 {tc['sha256'][:12]})"
    return [f"{who} set what the agent does not know: the run's bytes, and its key, depend on that program"]
