"""What the words of a link end mean for a train of packets: does it arrive thinner, or slower, than its rate?

Takes an `End`, reads the words of its netem, shaper or policer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.quantities.netem_rate import netem_rate

if TYPE_CHECKING:
    from rushhour.record.context import End

# netem's words after which packets are missing in a train, or late.
_MISSING = frozenset(("loss", "drop", "corrupt", "reorder", "slot"))
# fq's rate of each flow; and what tbf and cake call it when a packet counts for longer than it is.
_SLOWING = frozenset(("maxrate", "overhead", "mpu", "linklayer", "atm", "ptm", "conservative", "ethernet"))


def netem_words(end: End) -> list[str]:
    """The words of a netem at this end; empty without one."""
    return (end.queue or "").split() if end.role == "netem" else []


def thins(end: End) -> bool:
    """Whether a train may be thinner or slower behind this end than the rate there says."""
    words = (end.queue or "").split()
    netem = netem_words(end)
    rate = netem_rate(end.queue)
    longer = rate is not None and not rate.is_plain
    return end.role == "police" or longer or bool(_SLOWING & set(words)) or bool(_MISSING & set(netem))
