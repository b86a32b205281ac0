"""The formulas as figures ask for them: what each says of a flow in a run, in the unit of what is measured.

The formulas are in the modules beside this one; here is what a `Case` gives them, and where they are doubted.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rushhour.models import bdp, cubic, dctcp, fragments, highspeed, mathis, pftk, queueing, red
from rushhour.models.case import Case, Law, Model, Prediction
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

_NO_PATH = Prediction(None, "nothing limits the rate of the path, or it has no base RTT")
_ABOVE = "more than the link carries: there the queue decides, not the loss"


def _of_window(window: Callable[[float, float], float]) -> Callable[[Case], float]:
    """The rate in bit/s of a mean window of segments, given as a function of RTT and loss."""

    def rate(case: Case) -> float:
        assert case.rtt_s is not None and case.mss_bytes is not None  # noqa: PT018 one condition
        return window(case.rtt_s, case.loss) * case.mss_bytes * 8 / case.rtt_s

    return rate


def _under_loss(
    name: str, title: str, rate: Callable[[Case], float], outside: Callable[[float], str | None], meaning: str
) -> Model:
    """A law of the wires' loss and the idle RTT: goodput, and the mean window that carries it."""

    def goodput(case: Case) -> Prediction:
        if case.kind not in kinds.TCP_STREAMS or not case.mss_bytes or not case.rtt_s:
            return Prediction(None, "no TCP flow with a segment size and a base RTT")
        if not case.loss:
            return Prediction(None, outside(0.0) or "nothing is lost")
        value = rate(case)
        above = _ABOVE if case.rate_bps and value > case.rate_bps else ""
        return Prediction(value, above or outside(case.loss) or "")

    def window(case: Case) -> Prediction:
        found = goodput(case)
        if found.value is None:
            return found
        assert case.rtt_s and case.mss_bytes  # noqa: PT018 as goodput has asked
        return Prediction(found.value * case.rtt_s / (8 * case.mss_bytes), found.doubt)

    total = Law(goodput, total="sum")
    laws = {"goodput_bps": total, "goodput_steady_bps": total, "snd_cwnd": Law(window)}
    return Model(name, title, laws, meaning)


MATHIS = _under_loss(
    "mathis",
    "Mathis et al. 1997",
    _of_window(lambda _, loss: mathis.window_segments(loss)),
    mathis.outside,
    "Reno under random loss: MSS/R · √(3/2)/√p",
)
MATHIS_UNIT = _under_loss(
    "mathis-unit",
    "Mathis et al. 1997 with C = 1",
    _of_window(lambda _, loss: mathis.window_segments(loss, mathis.UNIT)),
    mathis.outside,
    "the same law with a constant of 1, as it is often quoted: MSS/R · 1/√p",
)
PFTK = _under_loss(
    "pftk",
    "PFTK, Padhye et al. 1998",
    lambda case: (
        (1 - case.loss)
        * pftk.full_rate_bps(case.mss_bytes or 0, case.rtt_s or 0, case.loss, pftk.timeout_s(case.rtt_s or 0))
    ),
    pftk.outside,
    "Reno under loss with timeouts: the full model's send rate times 1 - p, with Linux's least timeout",
)
CUBIC = _under_loss(
    "cubic",
    "CUBIC, RFC 9438",
    _of_window(cubic.mean_window_segments),
    cubic.outside,
    "CUBIC's response function: the greater of its own mean window and the Reno-friendly region's",
)
HIGHSPEED = _under_loss(
    "highspeed",
    "HighSpeed, RFC 3649",
    _of_window(lambda _, loss: highspeed.window_segments(loss)),
    highspeed.outside,
    "HighSpeed's response function; below a window of 38 segments Reno's",
)
HIGHSPEED_ACKS = _under_loss(
    "highspeed-acks",
    "HighSpeed, growth per ACK",
    _of_window(lambda _, loss: highspeed.window_segments(loss, highspeed.DELAYED)),
    highspeed.outside,
    "The same where growth is counted in ACKs of two segments each, as Linux does: half the pace",
)


def _rate(case: Case) -> Prediction:
    carried = case.link_bytes or case.frame_bytes
    if not case.rate_bps or not case.mss_bytes or not carried:
        return _NO_PATH
    return Prediction(bdp.goodput_bps(case.rate_bps, case.mss_bytes, carried))


def _bytes(case: Case) -> Prediction:
    return Prediction(bdp.bdp_bytes(case.rate_bps, case.rtt_s)) if case.rate_bps and case.rtt_s else _NO_PATH


def _segments(case: Case) -> Prediction:
    whole = _bytes(case)
    if whole.value is None or not case.frame_bytes:
        return _NO_PATH
    return Prediction(whole.value / case.frame_bytes)


BDP = Model(
    "bdp",
    "rate and BDP of the path",
    {
        "goodput_bps": Law(_rate),
        "goodput_steady_bps": Law(_rate),
        "inflight": Law(_bytes),
        "snd_cwnd": Law(_segments),
    },
    "Payload at the rate of the bottleneck; in flight, what just fills the idle path (RFC 6349)",
)


def _queue_us(case: Case) -> Prediction:
    if not case.rate_bps or not case.buffer_bytes:
        return Prediction(None, "the bottleneck has no rate, or no limit in bytes or packets")
    return Prediction(1e6 * queueing.full_queue_delay_s(case.buffer_bytes, case.rate_bps))


def _round_trip_us(case: Case) -> Prediction:
    queue = _queue_us(case)
    if queue.value is None or case.rtt_s is None:
        return Prediction(None, queue.doubt or "the flow has no base RTT")
    return Prediction(1e6 * case.rtt_s + queue.value)


def _buffer(case: Case) -> Prediction:
    return Prediction(case.buffer_bytes, "" if case.buffer_bytes else "the queue has no limit")


QUEUE = Model(
    "queue",
    "full queue, 8B/C",
    {
        **dict.fromkeys(("queue_delay_max_us", "queue_delay_us", "srtt_queue_delay_us"), Law(_queue_us)),
        **dict.fromkeys(("srtt_max_us", "ping_rtt_max_us", "srtt_us", "ping_rtt_us"), Law(_round_trip_us)),
        **dict.fromkeys(("queue_max_bytes", "queue_bytes"), Law(_buffer)),
    },
    "Delay behind a full FIFO, buffer over rate; of a round trip with the idle path's added",
)


def _loss(case: Case) -> Prediction:
    if not case.offered_bps:
        return Prediction(None, "not a UDP flow of given rate")
    return Prediction(1 - case.carried_bps / case.offered_bps)


OVERLOAD = Model(
    "overload",
    "1 - C/offered",
    {"loss": Law(_loss, total="share")},
    "What UDP flows lose that offer more than the rate, in whole frames: 1 - 1/n of n flows at the rate",
)


def _of_fragments(case: Case) -> Prediction:
    if case.kind not in kinds.UDP_STREAMS or not case.loss:
        return Prediction(None, "no UDP flow, or no loss by chance")
    full = "the queue loses, too" if case.carried_bps < case.offered_bps else ""
    return Prediction(fragments.datagram_loss(case.loss, case.fragments), full)


FRAGMENTS = Model(
    "fragments",
    "1 - (1 - p)^n",
    {"loss": Law(_of_fragments, total="share")},
    "What UDP loses whose datagrams travel in n packets, each lost by chance",
)


def _red(case: Case) -> Prediction:
    words = case.queue.split()
    given = dict(pairwise(words))
    try:
        lowest, highest, chance = (float(given[key]) for key in ("min", "max", "probability"))
    except (KeyError, ValueError):
        return Prediction(None, "the queue is no red with min, max (in plain bytes) and probability")
    if words[0] != "red" or not case.rate_bps or not case.offered_bps:
        return Prediction(None, "not a UDP flow of given rate through red")
    loss = 1 - case.carried_bps / case.offered_bps
    queue = red.mean_queue_bytes(loss, lowest, highest, chance) if loss > 0 else 0.0
    doubt = "beyond the upper threshold red is a full queue" if queue >= highest else ""
    return Prediction(8e6 * queue / case.rate_bps, doubt)


RED = Model(
    "red",
    "RED's line",
    {"queue_delay_mean_us": Law(_red)},
    "Where RED's mean queue stands when an unresponsive load's excess must be dropped",
)


def _sawtooth(case: Case) -> Prediction:
    if not case.rate_bps or not case.buffer_bytes or not case.rtt_s:
        return Prediction(None, "the bottleneck has no rate, no buffer or no base RTT")
    buffer_bdp = case.buffer_bytes * 8 / (case.rate_bps * case.rtt_s)
    return Prediction(queueing.reno_utilization(buffer_bdp), "for one flow alone" if case.flows > 1 else "")


SAWTOOTH = Model(
    "sawtooth",
    "AIMD sawtooth",
    {"utilization": Law(_sawtooth)},
    "Utilization by one Reno flow against a FIFO of b BDPs: 0.75 (1 + b)²/(1 + b + b²), 1 from b = 1 on",
)


def _of_marks(value: Callable[[float, float, float, int], float]) -> Law:
    """A law of DCTCP's sawtooth, given the rate in packets a second, the RTT, K in packets and the flows."""

    def law(case: Case) -> Prediction:
        if (
            case.cc != "dctcp"
            or case.marks_s is None
            or not case.rate_bps
            or not case.rtt_s
            or not case.frame_bytes
        ):
            return Prediction(None, "no DCTCP flow, or no queue that marks by a threshold")
        rate = case.rate_bps / (8 * case.frame_bytes)
        path = (rate, case.rtt_s, case.marks_s * rate, case.flows)
        lossy = "packets are lost by chance, too" if case.loss else ""
        return Prediction(value(*path), lossy or dctcp.outside(*path) or "")

    return Law(law)


_FULLEST = _of_marks(lambda rate, rtt, k, flows: 1e6 * dctcp.queue_range(rate, rtt, k, flows)[1] / rate)
DCTCP = Model(
    "dctcp",
    "DCTCP, Alizadeh et al. 2010",
    {
        "dctcp_alpha": _of_marks(lambda *path: dctcp.alpha(dctcp.critical_window(*path))),
        "snd_cwnd": _of_marks(dctcp.critical_window),
        **dict.fromkeys(("queue_delay_us", "queue_delay_max_us", "srtt_queue_delay_us"), _FULLEST),
    },
    "DCTCP's steady state under marks from K packets on: its alpha, its greatest window, its fullest queue",
)
