"""The thresholds by which causes are told and weighed: each once, with what it means and its source.

A threshold is a number like any other. Those without a source are of this laboratory: cells that have one
cause each hold them (`tests/truth/test_explain.py`, `tests/diagnose/test_attribution.py`).
"""

from __future__ import annotations

from typing import Self


class Threshold(float):
    """A number that decides.

    Attributes:
        means: What the number is, in a phrase.
        source: The document that gives it; empty where it was found here.
    """

    means: str
    source: str

    def __new__(cls, value: float, means: str = "", source: str = "") -> Self:
        """A threshold of this value."""
        made = super().__new__(cls, value)
        made.means, made.source = means, source
        return made


T = Threshold

# How long a limit held, and what its remedy gains.
WORTH_SAYING = T(0.1, "share of the time from which a limit is spoken of")
MAIN = T(0.3, "share of the time from which a limit is a main one, and a finding of `diagnose`")
MATTERS = T(0.2, "share of the time from which a limit matters though nobody can say what it costs")
WORTH_DOING = T(0.05, "part that an advice brings more, below which it promises no rate")
GRAVE = T(2.0, "factor to be gained from which a measured cause is critical")
WORTH = T(1.15, "factor to be gained from which it is a warning; below, what was measured may be chance")
FAR = T(0.9, "part of what the path has for a flow below which a limit costs something")
HIDDEN = T(0.9, "part of a flow's share of the path below which a hidden limit would hold it next")
AFTERMATH = T(0.01, "share of the time in losses behind an outage from which these are spoken of")
RISKY = T(0.6, "part of the goodput below which the lower bound of an advice makes it no `--set`")

# Windows and buffers.
UNSCALED = T(65535, "bytes of the greatest window without scaling", "RFC 7323, section 2")
MARGIN = T(1.5, "times what the path holds that a proposed buffer has: overhead and auto-tuning vary")
LEAST_RMEM = T(131072, "bytes of the least tcp_rmem proposed: its default", "tcp(7), tcp_rmem")
LEAST_WMEM = T(65536, "bytes of the least tcp_wmem proposed: room for a few super-packets")
WINDOWS = T(2, "windows that a buffer is set to hold: one in flight, one for what arrives behind a hole")
EMPTIED = T(0.5, "part of window / RTT below which a full window was emptied late: the reader's fault")
DELAYED_SEGMENTS = T(8, "segments of a window below which delayed ACKs explain that")
SPACIOUS = T(1.5, "times what the path holds from which a window is no limit while nothing is missing")
HOLE_TRIPS = T(2, "round trips for which a lost segment may keep those behind it from the program")
HOLE_TIMEOUT_S = T(1.0, "seconds for which one that is sent again by a timeout may", "RFC 6298, 2.4")
DAMAGED_BY_ACCIDENT = T(2, "packets with a wrong checksum that may be an accident")
SHALLOW = T(
    0.5,
    "part of a BDP below which a queue runs empty after each reduction: Reno needs one BDP, CUBIC 0.43",
    "Appenzeller et al., SIGCOMM 2004; RFC 9438, 4.6",
)
GROWN = T(0.9, "part of the greatest window from which the receiver's has grown")
GROWN_TRIPS = T(2, "round trips that it stays there where the kernel tunes it: it grows once in each")
GROWING = T(0.5, "part of the time in which it was full before that, from which its growth is what holds")
NEARLY_BDP = T(0.8, "part of a BDP from which a queue outlasts most reductions")

FULL = T(0.9, "part of the most that ever arrived in a direction from which the path counts as full")
LETS_ENOUGH = T(0.95, "part of what the path carries from which what a setting lets through is enough")
LETS_LITTLE = T(0.7, "part of that below which a buffer is a critical limit")

# Processors and programs.
BUSY = T(0.9, "part of one processor from which it is full; the rest are clock ticks")
MUCH_SOFTIRQ = T(0.3, "part of a processor in soft interrupts from which they are named")
QUOTA = T(0.05, "share of the time in which a quota stopped a program, from which it is responsible")
FOREIGN = T(0.5, "part of the processors that other programs must have before they are to blame")
ALL_BUSY = T(0.95, "part of the processors that must be busy before other programs are to blame")
UNREAD = T(16_384, "bytes unread at a look, more than a program that keeps up leaves behind")
NEARLY_BUSY = T(0.8, "part of one processor from which work for each packet may be what limits")
STOLEN = T(0.05, "part of the processors that the hypervisor takes from which that is spoken of")
STOLEN_MUCH = T(0.2, "part of them from which it is critical")
CAPPED = T(0.9, "part of the highest frequency below which processors are kept slow")
SLEEP_NS = T(50_000, "ns to wake from an idle state that are long, with the next")
SLEEP = T(0.25, "part of the round trip, likewise")
SERVED = T(1000, "interrupts since boot from which a queue of a card is in use")
RECEIVING = T(0.7, "part of one processor in soft interrupts from which receiving fills it")
CUT_SHORT = T(50, "turns of receiving cut short while it was measured that are no accident, with the next")
CUT_SHORT_BUSY = T(0.5, "part of one processor in soft interrupts, likewise")
LOW_MEMORY = T(0.03, "part of the memory that is available below which it is short")
STALLED_PCT = T(
    10, "percent of 10 s in which all programs waited for memory", "Documentation/accounting/psi.rst"
)
LITTLE_MEMORY = T(64 << 20, "bytes that a control group allows programs below which buffers may not grow")
TABLE_FILLS = T(0.75, "part of the table of connections from which it is nearly full")
TABLE_FULL = T(0.95, "part of it from which that is critical")
NARROW = T(0.8, "part of a line's rate that its slot carries, below which that is critical")
MACHINE_BUSY = T(0.6, "part of the processors from which a machine is busy")
OTHERS_BUSY = T(0.3, "processors' worth of other programs, likewise while it is measured")
VERY_FAST_BPS = T(
    10e9, "bit/s from which receiving needs several processors, longer turns, and more room for notes"
)
BACKLOG_S = T(0.01, "seconds that packets wait while a processor is busy otherwise: some of its time slices")
RECOVERY_S = T(
    2.0,
    "seconds that Reno needs after a loss to fill the path again, from which another algorithm is named",
    "RFC 5681, 3.1",
)
LONG_RECOVERY_S = T(10, "seconds of such a recovery from which Reno is a warning")
FAST_BPS = T(1e9, "bit/s from which the work for each packet begins to fill a processor")
BURSTY_BPS = T(1e8, "bit/s from which a transmit queue below the default is lengthened")
SHARERS = T(4, "sockets at least that TCP's memory is for: none takes more than its part")

# Losses told apart.
SPURIOUS = T(0.5, "part of the retransmissions not needed, from which it is reordering, not loss", "RFC 2883")
BASE_MSS = T(
    1024,
    "bytes of a segment with which a search for the path's MTU begins by default",
    "RFC 4821, 7.2",
)
LATE = T(0.005, "part of datagrams late from which reordering is spoken of", "RFC 5681, 3.2")
LEAST_EXTENT = T(10, "places at least that a sender is told to wait for packets that are overtaken")
BBR_LOSS = T(0.1, "loss up to which BBR is proposed: it ignores single losses")
BELOW_BOTTLENECK = T(
    0.95,
    "part of a path's rate that a queue of one's own lets through, so that it is the one that stands",
    "tc-cake(8), bandwidth",
)
BELOW_POLICER = T(0.95, "part of a policed rate to send at: what is above, headers among it, is dropped")
LEAST_BURST = T(15_140, "bytes of the least bucket that passes a first window of ten packets", "RFC 6928")
RANDOM = T(0.2, "part of TCP's retransmissions that datagrams must lose, too, to call it chance")
SURELY = T(0.01, "loss of datagrams that is enough by itself")
SOME = T(2, "datagrams lost below the path's rate that are no accident")
ENOUGH = T(
    3,
    "datagrams that would be missing if TCP's losses were chance, to tell that they are not: that none is "
    "missing happens once in twenty times",
    "rule of three",
)
POLICED = T(0.05, "loss of datagrams at the link's rate from which a policer is spoken of")
FELL = T(2.0, "factor by which the rate falls when a policer's bucket is empty")
POLICED_RESENT = T(0.05, "part of the segments sent again then")
NO_QUEUE_NS = T(2_000_000, "ns of RTT above the idle one, with the next, that are no queue")
NO_QUEUE = T(0.1, "part of the idle RTT, likewise")
QUEUE_NS = T(5_000_000, "ns of queue from which it is known how much it holds")
EMPTY = T(0.25, "part of a queue that is nearly empty")
CROWDED = T(0.5, "part of the longest wait from which a queue counts as full: the smoothed RTT follows late")
DAMAGED = T(0.2, "part of the retransmissions that wrong checksums must account for")
SYN_S = T(1.0, "s until a SYN is sent again", "RFC 6298, 2.1; TCP_TIMEOUT_INIT, include/net/tcp.h")
REFUSED_SHARE = T(0.2, "part of the retransmissions that data refused by the receiver must account for")
LOST = T(0.001, "loss of datagrams that is none")
DEAD_NS = T(20_000_000, "ns without a datagram, longer than any queue's overflow")
DEAD_RUN = T(16, "datagrams lost in a row, likewise")
TARDY = T(
    2, "times by which such a time is longer than the sender was late: what it sent at once may be lost"
)
FAR_LESS = T(
    0.25,
    "part of another loss below which a loss is far less: datagrams beside echoes, or below the line's rate "
    "beside at it",
)
CROWD = T(48_000, "bytes at once, 32 full packets, that a short queue does not hold")
CROWD_LOST = T(0.005, "part of the datagrams that one such crowd may lose; from more on it is no crowd's")
CROWD_RUN = T(3, "datagrams lost in a row from which it is")
TRAIN_LOST = T(0.1, "part of the trains' packets that only a queue shorter than a train drops")
USED = T(
    0.85, "part of what the path carries from which losses cost nothing: they are how TCP finds the rate"
)
RESENT = T(0.02, "part of the segments sent again that no busy processor explains")
LOSSES_LIMIT = T(0.2, "share of the time in losses from which datagrams are sent at the line's rate")

# Queues, and who shares them.
ALONE = T(0.9, "share of a flow's time from which on nothing but the path limits it")
CODEL_INTERVAL_S = T(
    0.1, "seconds of CoDel's interval, about the longest RTT of those who share it", "RFC 8289, 4.3"
)
STANDING_S = T(
    0.02, "seconds of median wait from which a queue stands, with the next: four targets", "RFC 8289, 4.3"
)
STANDING_TRIPS = T(1, "idle round trips of median wait, likewise: a loss-based flow needs one BDP, not more")
SPOILS_NS = T(
    100_000_000, "ns of the longest wait from which a standing queue spoils calls and shells", "ITU-T G.114"
)
UNFAIR = T(0.6, "part of an equal share below which a flow is pushed aside")
RTT_BIAS = T(1.5, "ratio of base RTTs from which the longer path explains the smaller share")
ASSUMED = T(0.5, "part of the counted marks that did not arrive from which they are assumed ones")
LOST_ACKS = T(0.05, "loss of ACKs from which they are missed: each tells of all data before it")
TAKEN = T(0.05, "part of the bottleneck from which traffic beside a flow is a cause of its own")
DEAF = T(0.5, "part of the bottleneck that datagrams take from which they are what fills its queue")
WAITED = T(0.3, "part of the idle RTT that ACKs wait, with the next, to hold a flow back")
WAITED_S = T(0.002, "seconds that ACKs wait, likewise")
NOISE_NS = T(200_000, "ns of a longer round trip that late programs explain, with the next")
NOISE = T(2, "times the spread of the idle round trip, likewise")
LASTING = T(0.5, "part of a flow's time for which another has to be there to share with it")
PATIENT = T(1.2, "times CoDel's interval that a round trip may take", "RFC 8289, 4.3")
OFTEN = T(0.5, "part of the time of a limit in which something must have been so to explain it")
LEAVES = T(
    0.95, "part of the ceiling of a class that others at its link leave where they take nothing from it"
)
SPOKEN_OF = T(0.01, "part of the bottleneck below which traffic beside a flow is not spoken of")
LONG_QUEUE_NS = T(
    200e6, "ns from which a device's queue takes too long to drain; CoDel aims at 5 ms", "RFC 8289, 3.2"
)
SLOW_LINE_NS = T(100e6, "ns from which a plain queue of the default length takes too long at a line's rate")
SHAPED = T(0.95, "part of a line's rate below which a shaper on it holds something back")
AT_A_SHAPER = T(0.8, "part of a shaper's rate, which counts headers, that payload reaches when it limits")
SMALL_QUEUE = T(100, "packets of a transmit queue below which one system call overruns it")
MANY_CHANGES = T(10, "times that a link may have come and gone since boot")
LINE_FULL = T(0.85, "part of a line's rate that payload reaches when the line is full")
DAMAGED_FRAMES = T(
    1e-5,
    "part of the frames damaged since boot that Reno notices at 100 Mbit/s and 20 ms",
    "Mathis et al., CCR 27(3), 1997",
)
FRAMES = T(100_000, "frames from which such a part can be told")

# What is set at the hosts.
LEAST_MTU = T(1280, "bytes of an MTU below which headers take a good part", "RFC 8200, section 5")
TINY_MTU = T(1000, "bytes of an MTU below which that is a warning")
LEAST_GSO = T(
    16_384, "bytes below which a device takes too little at once for offloads to help, with the next"
)
LEAST_GSO_SEGMENTS = T(8, "segments, likewise")
TUNNELS = T(80, "bytes of a segment that tunnels on the way may take")
SMALL_SEGMENTS = T(0.5, "part of the segments that would fit below which small ones are a warning")
USUAL_INITCWND = T(10, "segments with which connections begin", "RFC 6928")
LEAST_INITCWND = T(4, "segments below which short transfers take several round trips more")
MOST_HEADERS = T(120, "bytes of headers with all options, of IPv4 and TCP", "RFC 791, 3.1; RFC 9293, 3.1")
LONG_RTO_MS = T(1000, "ms of a route's least timeout from which it is long", "RFC 6298, 2.4")
UNHEEDED = T(
    1.2,
    "times what a route's cwnd lets through from which the kernel does not heed it",
    "tcp_init_metrics(), net/ipv4/tcp_metrics.c",
)
FEW_HOPS = T(32, "routers that packets may pass below which they may die on the way")
LEAST_OUTPUT = T(1 << 17, "bytes that have to fit below TCP for cards not to run dry: two super-packets")
LEAST_NOTSENT = T(1 << 14, "bytes unsent below which programs are woken for every few segments")
LEAST_CA_RATIO = T(100, "percent of the window's rate below which paced flows lose some of it")
SEGMENT_LIFETIME_S = T(
    120, "seconds that a segment may live: sequence numbers must not come round within", "RFC 9293, 3.4.2"
)

# The path between two hosts.
UNEQUAL = T(1.5, "factor between the directions from which a path is asymmetric")
HALF_DUPLEX = T(
    0.65, "part of its rate that a direction keeps beside the other, below which they share a medium"
)
SOME_LOSS = T(0.002, "part of datagrams lost, late or doubled that other traffic notices")
ECHOES_LOST = T(0.15, "part of echoes lost on the idle path that is spoken of")
JITTER_NS = T(5_000_000, "ns of the 95th percentile of the idle RTT above its median, with the next")
JITTER = T(0.2, "part of the median, likewise")
WELL = T(0.8, "part of what the path carries from which jitter, or an odd algorithm, did no harm")
HELD_BACK = T(0.5, "share of the time from which the ends held a measurement back: it shows no path")
MOVED = T(50_000, "bytes below which a connection is no transfer: a shell, a heartbeat, our own session")
UNWELL = T(0.7, "part of the best rate below which one flow is not well, though no finding says why")

del T


def thresholds() -> dict[str, Threshold]:
    """Every threshold by its name, in the order of this file."""
    return {name: value for name, value in globals().items() if isinstance(value, Threshold)}
