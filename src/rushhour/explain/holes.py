"""Path MTU black holes: a switch on the way passes smaller frames than hosts send, and cannot say so.

A router answers a packet that is too large (RFC 1191, RFC 8201); a bridge drops it in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.context import Flow
    from rushhour.record.plan_file import PlanFile
    from rushhour.record.record import Record

_TAG = 4  # A bridge lets a VLAN tag's bytes pass beyond the MTU (is_skb_forwardable).
_TCP, _STAMPS = 20, 12
_OPTION_STAMPS = 1  # TCPI_OPT_TIMESTAMPS of <linux/tcp.h>


def hole(record: Record, flow: Flow) -> int | None:
    """The MTU of the switch's port that drops the flow's full packets; None where all of them pass."""
    passed = min(_silent(record.plan, flow), default=None)
    _, info = record.tcp_info(flow.id)
    if passed is None or not len(info):
        return None
    stamps = _STAMPS if int(info["options"][-1]) & _OPTION_STAMPS else 0
    full = int(info["snd_mss"].max()) + stamps + _TCP + (40 if ":" in record.asked(flow).dst else 20)
    return passed if full > passed + _TAG else None


def _silent(plan: PlanFile, flow: Flow) -> Iterator[int]:
    """The MTU of each port of a switch that is less than what the hosts before it may send."""
    ends = [end for link in plan.links for end in link.ends]
    switches = {(device.node, device.dev) for device in plan.devices if device.bond is None}
    for way in flow.ways:
        told: int | None = None
        for end in (ends[number] for number in way if number < len(ends)):
            if (end.node, end.master) in switches and told is not None:
                if end.mtu < told:
                    yield end.mtu
            else:
                told = end.mtu if told is None else min(told, end.mtu)
