"""Queues in tc's own words: shaper, limit, queue discipline.

Takes a `Queue` and what its buffer is in bytes, gives the lines that follow `tc qdisc add dev DEV`.

The shaper is tbf (or htb) with a bucket of one full frame and of what the link carries in 1 µs. One frame
is the least that lets a full frame through at all; the microsecond keeps the mean rate exact although a
timer comes up to 0.75 µs late in virtual time, because tokens of that time are not lost at the bucket's
rim. A bucket that holds a frame lets a frame go at once on an idle link. (htb allows one frame of debt, so
its bucket is the microsecond alone.) So a shaper says when a packet may begin to be sent; the wire behind it
adds the time that this takes, bytes / rate, one packet after the other (`stages`).

The buffer is the limit of the queue discipline under the shaper, unless its words give one: in bytes for
fifo, red and cake (cake counts memory, about twice the bytes of the frames), in packets for the others.
What red and choke cannot do without is filled in as tc would (Floyd's recommendations): max = limit/4, min
= max/3, burst = (2 min + max)/3 packets.

Words after `then` change what stands there: `gred setup vqs 2 default 0 then gred vq 0 limit …`; after
`then at 500ms` while packets pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.quantities.tc_units import RATES, scaled
from rushhour.quantities.units import Duration, UnitError
from rushhour.tc import kinds

if TYPE_CHECKING:
    from rushhour.plan.graph import Queue
    from rushhour.quantities.units import Buffer

MIN_FRAMES = 10  # least a buffer in BDPs comes to: below, not even an initial window fits
U32 = 2**32 - 1
NS = 10**9
LONGEST_WAIT_NS = 60 * NS  # htb's mbuffer: it forgets what is owed beyond a minute
MOST_COUNTED = 2**16 - 2
THEN = " then "  # between the words of a queue and those that change it
_AT = "at"  # before an instant and words that hold from then on
CHANGE = "change"  # first word of a line of the plan that changes what is there
RED_PACKET = 1000  # avpkt as in tc-red(8)
RED_HIGHEST = 2_000_000  # of max: with the weight that goes with it the average must fit 32 bits


@dataclass(frozen=True, slots=True)
class Limit:
    """A buffer resolved: bytes, or packets if that is how it was given."""

    bytes: int | None
    packets: int | None

    def in_packets(self, frame: int) -> int:
        """Full frames that fit; at least one."""
        return self.packets if self.packets is not None else max(1, (self.bytes or 0) // frame)

    def in_bytes(self, frame: int) -> int:
        """Bytes that fit, a packet counted as a full frame."""
        return min(U32, self.bytes if self.bytes is not None else (self.packets or 0) * frame)


def resolve_buffer(buffer: Buffer | None, rate_bps: int | None, rtt_ns: int, frame: int) -> Limit:
    """Resolve a buffer at a rate: BDP = rate · base RTT / 8, never below ten frames; a time holds a frame."""
    if buffer is None or buffer.bdp is not None:
        bdp = (
            (rate_bps or 0)
            * rtt_ns
            / (8 * NS)
            * (1.0 if buffer is None or buffer.bdp is None else buffer.bdp)
        )
        return Limit(max(MIN_FRAMES * frame, round(bdp)), None)
    if buffer.packets is not None:
        return Limit(None, buffer.packets)
    if buffer.time is not None:
        return Limit(max(frame, (rate_bps or 0) * buffer.time.ns // (8 * NS)), None)
    return Limit(buffer.bytes, None)


def value_after(words: list[str], key: str) -> str | None:
    """Give the word after `key`, if both are there."""
    return words[words.index(key) + 1] if key in words[:-1] else None


def queue_lines(queue: Queue, limit: Limit, frame: int) -> tuple[list[str], list[str]]:
    """Give the qdisc lines and the class lines of a queue."""
    if queue.rate_bps is None:
        return discipline_lines("root handle 10:", queue, limit, frame), []
    place = "parent 1:1 handle 10:"
    held = [f"{place} plug limit {limit.in_bytes(frame)}b"] if queue.pause else None
    child = discipline_lines(place, queue, limit, frame) if held is None else held
    if queue.shaper == "htb":
        return ["root handle 1: htb default 1", *child], [_htb_class(queue.rate_bps, frame)]
    return [tbf(queue.rate_bps, limit, frame), *child], []


def change_lines(queue: Queue, limit: Limit, frame: int, until_ns: int) -> list[str]:
    """Give the lines that make a queue's shaper keep `queue.rate_bps`, after `tc`'s word `change`.

    No rate is an outage until `until_ns` from now: one frame takes all of it, whatever its size.
    """
    rate = queue.rate_bps or 0
    if queue.shaper == "htb":
        return [_htb_class(rate, frame) if rate else _outage(frame, until_ns)]
    lines = [f"qdisc {tbf(rate, limit, frame)}"]
    if limit.packets is not None and not queue.pause and queue.words.split()[:1] in ([], ["fifo"]):
        # tbf hands its limit on to a fifo below it, and means bytes.
        lines.append(f"qdisc parent 1:1 handle 10: pfifo limit {limit.packets}")
    return lines


def microsecond(rate_bps: int) -> int:
    """Bytes that a rate carries in 1 µs, rounded up."""
    return -(-rate_bps // (8 * 10**6))


def tbf(rate_bps: int, limit: Limit, frame: int) -> str:
    """The line of a token bucket filter whose bucket holds one full frame and a microsecond."""
    burst = f"burst {frame + microsecond(rate_bps)}b limit {max(frame, limit.in_bytes(frame))}b"
    return f"root handle 1: tbf rate {rate_bps}bit {burst}"


def _htb_class(rate_bps: int, frame: int) -> str:
    burst = microsecond(rate_bps)
    rate = f"rate {rate_bps}bit ceil {rate_bps}bit"
    return f"class parent 1: classid 1:1 htb {rate} burst {burst}b cburst {burst}b quantum {frame}"


def _outage(frame: int, length_ns: int) -> str:
    """A class that lets one frame pass and then waits: every frame counts as the same many bytes.

    Their number is the largest of tc's 16 bits, so that the rate, in whole bytes per second, meets the end
    of the outage to 1/65535 of its length. Kernels before 5.13 know no `mpu`: there `overhead` alone does it.
    """
    length_ns = min(length_ns, LONGEST_WAIT_NS)
    rate = max(1, MOST_COUNTED * NS // length_ns)  # bytes/s
    counted = -(-rate * length_ns // NS)
    words = f"rate {8 * rate}bit ceil {8 * rate}bit burst 1b cburst 1b quantum {frame}"
    return f"class parent 1: classid 1:1 htb {words} mpu {counted} overhead {max(0, counted - frame)}"


def below_control(line: str) -> str:
    """A line of the queue that stands beside LACP's: in the second band."""
    return line.replace("root ", "parent 7:2 ", 1)


def beside_control(qdiscs: list[str], classes: list[str]) -> tuple[list[str], list[str]]:
    """Put a queue beside one for LACP, as switches have it: a full queue must not part the bond.

    LACP's frames (Ethernet type 0x8809, "slow protocols"), 124 bytes a second, pass by the shaper.
    """
    root = "root handle 7: prio bands 2 priomap " + " ".join(["1"] * 16)
    under = [below_control(line) for line in qdiscs]
    control = "filter parent 7: protocol 0x8809 prio 1 matchall classid 7:1"
    return ([root, *under], [*classes, control]) if qdiscs else (qdiscs, classes)


def discipline_lines(place: str, queue: Queue, limit: Limit, frame: int) -> list[str]:
    """The lines of a queue discipline at its place: what makes it, then what changes it."""
    words = _discipline(queue, limit, frame)
    before = [more for at_ns, more in _changes(queue.words) if at_ns is None]
    return [f"{place} {words}", *(f"{CHANGE} {place} {more}" for more in before)] if words else []


def later_lines(queue: Queue) -> list[tuple[int, str]]:
    """When a queue discipline becomes another while packets pass, in ns, and by which line of a plan.

    Raises:
        PlanError: its rate would become another: what depends on the rate is told by patterns.
    """
    place = "root handle 10:" if queue.rate_bps is None else "parent 1:1 handle 10:"
    found = [(at_ns, f"qdisc {place} {more}") for at_ns, more in _changes(queue.words) if at_ns is not None]
    start = THEN.join(" ".join(own) for at, own in _parts(queue.words) if at is None)
    if any(of(start) != of(queue.words) for of in (stated_rate, stated_flow_rate)):
        raise PlanError(
            f'queue = "{queue.words}": the rate would become another while packets pass',
            where="topology",
            hint='a pattern with key = "rate" changes a rate over time',
        )
    return found


def _changes(words: str) -> list[tuple[int | None, str]]:
    """What is said after each `then`: when it holds (ns; None: before packets pass), and the words."""
    (_, first), *parts = _parts(words)
    found: list[tuple[int | None, str]] = []
    for at, own in parts:
        at_ns = None if at is None else _instant(words, at)
        if own[:1] != first[:1] or own[0] not in kinds.QDISCS:
            raise PlanError(
                f'queue = "{words}": "then" is followed by other words of the same discipline',
                where="topology",
                hint="for example fq maxrate 8mbit then fq maxrate 3mbit",
            )
        found.append((at_ns, " ".join(own)))
    return found


def _parts(words: str) -> list[tuple[str | None, list[str]]]:
    """The words of a queue and those after each `then`, with what stands behind its `at`, if it has one."""
    parts = (part.split() for part in f"{words} ".split(THEN))
    return [("".join(part[1:2]), part[2:]) if part[:1] == [_AT] else (None, part) for part in parts]


def _instant(words: str, said: str) -> int:
    try:
        return Duration.parse(said).ns
    except UnitError as error:
        raise PlanError(f'queue = "{words}": then at {error}', where="topology") from error


def _discipline(queue: Queue, limit: Limit, frame: int) -> str:
    """The words of the queue discipline with our limit in them; empty where the shaper's own fifo does it."""
    words = queue.words.split(THEN)[0].split() or ["fifo"]
    kind = words[0]
    if kind in kinds.NEEDS:
        raise PlanError(
            f'queue = "{queue.words}": {kind} needs {kinds.NEEDS[kind]}; with its words alone it is no queue',
            where="topology",
            hint="take a discipline that works alone: fifo, fq_codel, prio, sfq, cake, …",
        )
    if kind == "fifo":
        if queue.rate_bps is None:
            return ""  # nothing ever waits in front of a link without a rate
        if limit.packets is not None:
            return f"pfifo limit {limit.packets}"
        return "" if queue.shaper == "tbf" else f"bfifo limit {limit.in_bytes(frame)}b"
    if _by_itself(queue):
        return _complete(words, {})
    return _complete(words, _own_limit(queue, kind, words, limit, frame))


def _by_itself(queue: Queue) -> bool:
    """Whether a discipline keeps its own default: without a rate there is no BDP."""
    return queue.rate_bps is None and queue.buffer is not None and queue.buffer.bdp is not None


def _own_limit(queue: Queue, kind: str, words: list[str], limit: Limit, frame: int) -> dict[str, str]:
    """What a discipline needs beside its words, by key."""
    packets = min(limit.in_packets(frame), kinds.MOST.get(kind, U32))
    size = limit.in_bytes(frame)
    if kind == "red":
        size = _bytes(value_after(words, "limit")) or size
        highest = _bytes(value_after(words, "max")) or max(frame, min(size // 4, RED_HIGHEST))
        # No weight fits thresholds that are not well above the average packet.
        packet = _bytes(value_after(words, "avpkt")) or min(RED_PACKET, max(1, highest // 3))
        lowest = _bytes(value_after(words, "min")) or max(packet * 3 // 2, highest // 3)
        burst = -(-(2 * lowest + highest) // (3 * packet))
        more = {"limit": f"{size}b", "min": f"{lowest}b", "max": f"{highest}b"}
        more |= {"avpkt": f"{packet}b", "burst": str(burst), "probability": "0.02"}
        return more | ({"bandwidth": f"{queue.rate_bps}bit"} if queue.rate_bps else {})
    if kind == "choke":
        packets = int(value_after(words, "limit") or packets)
        highest = max(2, packets // 4)
        lowest = max(1, highest // 3)
        more = {"limit": str(packets), "min": str(lowest), "max": str(highest)}
        more |= {"burst": str(max(1, (2 * lowest + highest) // 3))}
        return more | {"bandwidth": f"{queue.rate_bps or NS}bit"}
    if kind in kinds.BYTE_LIMITED:
        return {kinds.BYTE_LIMITED[kind]: f"{min(U32, kinds.TIMES.get(kind, 1) * size)}b"}
    # A flow's own limit (100 packets in fq) would otherwise be the true buffer.
    keys = [words[kind] for words in (kinds.PACKET_LIMITED, kinds.PER_FLOW) if kind in words]
    return dict.fromkeys(keys, str(packets))


def _complete(words: list[str], more: dict[str, str]) -> str:
    """Append the keys that the words do not have yet."""
    return " ".join([*words, *(f"{key} {value}" for key, value in more.items() if key not in words)])


def _bytes(word: str | None) -> int | None:
    """Read a size as tc does: b, k, kb, m, mb, g, gb are bytes in powers of 1024, kbit and so on are bits."""
    if word is None:
        return None
    number = word.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = word[len(number) :].lower()
    factor = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2, "g": 1024**3, "gb": 1024**3}
    bits = {"kbit": 1024 / 8, "mbit": 1024**2 / 8, "gbit": 1024**3 / 8}
    try:
        return int(float(number) * (factor | bits)[unit])
    except (KeyError, ValueError):
        return None  # tc, or the agent in its place, says what is wrong with it


def in_the_end(words: str) -> list[str]:
    """The words of a queue as they hold in the end: what was said last comes first."""
    first, *more = (own for _, own in _parts(words))
    return [*first[:1], *(word for part in reversed(more) for word in part[1:]), *first[1:]]


def stated_rate(words: str) -> int | None:
    """The rate that a discipline keeps by its own words (`tbf rate …`), in bit/s; None without one."""
    split = in_the_end(words)
    key = kinds.RATE.get(split[0]) if split else None
    return scaled(value_after(split, key), RATES) or None if key else None


def stated_flow_rate(words: str) -> int | None:
    """The rate that a discipline allows each flow by its own words (fq's `maxrate`), in bit/s."""
    split = in_the_end(words)
    key = kinds.FLOW_RATE.get(split[0]) if split else None
    if key is None or kinds.UNPACED.get(split[0]) in split:
        return None
    return scaled(value_after(split, key), RATES) or None


def stated_limit(queue: Queue, limit: Limit, frame: int) -> Limit:
    """The limit that holds in the end: the one in the discipline's words, where they give one."""
    words = in_the_end(queue.words) or ["fifo"]
    kind = words[0]
    if kind in kinds.PACKET_LIMITED:
        own = value_after(words, kinds.PACKET_LIMITED[kind])
        if own is not None and own.isdigit():
            return Limit(None, int(own))
        return Limit(limit.bytes, min(limit.in_packets(frame), kinds.MOST.get(kind, U32)))
    if kind in kinds.BYTE_LIMITED:
        return Limit(_bytes(value_after(words, kinds.BYTE_LIMITED[kind])) or limit.in_bytes(frame), None)
    return limit


def known_limit(queue: Queue, stated: Limit) -> Limit:
    """The limit as far as it is known: a default that a discipline keeps is not, tbf's words give its own."""
    words = in_the_end(queue.words) or ["fifo"]
    kind = words[0]
    if kind == "fifo" or not _by_itself(queue):
        return stated
    key = "limit" if kind == "tbf" else kinds.PACKET_LIMITED.get(kind) or kinds.BYTE_LIMITED.get(kind, "")
    own = value_after(words, key)
    if own is None:
        return Limit(None, None)
    return Limit(_bytes(own), None) if kind == "tbf" else stated
