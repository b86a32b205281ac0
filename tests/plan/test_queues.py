import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.errors import PlanError
from rushhour.plan.graph import Queue
from rushhour.plan.queues import (
    Limit,
    later_lines,
    queue_lines,
    resolve_buffer,
    stated_limit,
    stated_rate,
    value_after,
)
from rushhour.quantities.units import Buffer

FRAME = 1514
RATE = 100_000_000


def lines(words: str, buffer: str = "500kB", shaper: str = "tbf", rate: int | None = RATE) -> list[str]:
    queue = Queue(rate, Buffer.parse(buffer), words, shaper)
    qdiscs, classes = queue_lines(queue, resolve_buffer(queue.buffer, rate, 20_000_000, FRAME), FRAME)
    return [*qdiscs, *classes]


def test_a_bdp_is_rate_times_rtt() -> None:
    assert resolve_buffer(Buffer.parse("1bdp"), RATE, 20_000_000, FRAME) == Limit(250_000, None)
    assert resolve_buffer(Buffer.parse("0.5bdp"), RATE, 20_000_000, FRAME) == Limit(125_000, None)


def test_a_bdp_of_next_to_nothing_still_holds_ten_frames() -> None:
    assert resolve_buffer(Buffer.parse("1bdp"), 10_000, 1_000_000, FRAME) == Limit(15_140, None)


def test_a_time_is_what_the_rate_carries_in_it_and_a_size_is_taken_as_it_is() -> None:
    assert resolve_buffer(Buffer.parse("20ms"), RATE, 0, FRAME) == Limit(250_000, None)
    assert resolve_buffer(Buffer.parse("1ns"), RATE, 0, FRAME) == Limit(FRAME, None)
    assert resolve_buffer(Buffer.parse("3kB"), RATE, 0, FRAME) == Limit(3000, None)
    assert resolve_buffer(Buffer.parse("100p"), RATE, 0, FRAME) == Limit(None, 100)


# 1 µs at 100 Mbit/s is 12.5 bytes, so the bucket is a frame and 13 bytes.
TBF = "root handle 1: tbf rate 100000000bit burst 1527b"


@pytest.mark.parametrize(
    ("words", "buffer", "child"),
    [
        ("fifo", "500kB", []),
        ("fifo", "100p", ["pfifo limit 100"]),
        ("fq_codel target 5ms", "500kB", ["fq_codel target 5ms limit 330"]),
        ("fq_codel limit 77", "500kB", ["fq_codel limit 77"]),
        ("pie", "100p", ["pie limit 100"]),
        ("fq nopacing", "100p", ["fq nopacing limit 100 flow_limit 100"]),
        ("sfq", "100MB", ["sfq limit 16256"]),
        ("cake", "500kB", ["cake memlimit 1000000b"]),
        ("bfifo", "500kB", ["bfifo limit 500000b"]),
        ("prio bands 3", "500kB", ["prio bands 3"]),
    ],
)
def test_the_buffer_is_the_limit_of_the_discipline_unless_its_words_have_one(
    words: str, buffer: str, child: list[str]
) -> None:
    first, *rest = lines(words, buffer)
    assert first.startswith(f"{TBF} limit ")
    assert rest == [f"parent 1:1 handle 10: {words}" for words in child]


def test_tbf_keeps_a_fifo_of_bytes_itself() -> None:
    assert lines("fifo") == [f"{TBF} limit 500000b"]


def test_htb_takes_its_rate_in_a_class_and_a_fifo_under_it() -> None:
    rates = "rate 100000000bit ceil 100000000bit"
    assert lines("fifo", shaper="htb") == [
        "root handle 1: htb default 1",
        "parent 1:1 handle 10: bfifo limit 500000b",
        f"class parent 1: classid 1:1 htb {rates} burst 13b cburst 13b quantum 1514",
    ]


def test_red_gets_the_thresholds_that_tc_would_choose() -> None:
    (_, red) = lines("red ecn", "480kB")
    assert red == (
        "parent 1:1 handle 10: red ecn limit 480000b min 40000b max 120000b avpkt 1000b burst 67 "
        "probability 0.02 bandwidth 100000000bit"
    )
    (_, own) = lines("red limit 60kb min 5kb max 20kb avpkt 1000 burst 20")
    assert own == (
        "parent 1:1 handle 10: red limit 60kb min 5kb max 20kb avpkt 1000 burst 20 "
        "probability 0.02 bandwidth 100000000bit"
    )


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        ("drr", "classes"),
        ("hfsc default 1", "classes"),
        ("plug", "releases"),
        ("etf clockid CLOCK_TAI", "SO_TXTIME"),
        ("multiq", "several queues"),
    ],
)
def test_a_discipline_that_lets_nothing_pass_is_refused(words: str, needs: str) -> None:
    with pytest.raises(PlanError, match=rf"{words.split(maxsplit=1)[0]} needs .*{needs}"):
        lines(words)


def test_every_discipline_with_a_limit_gets_the_buffer() -> None:
    assert lines("skbprio", "15140B")[1] == "parent 1:1 handle 10: skbprio limit 10"
    assert lines("sfb max 7", "15140B")[1] == "parent 1:1 handle 10: sfb max 7 limit 10"
    own = "gred setup vqs 4 default 0"
    assert lines(own, "15140B")[1] == f"parent 1:1 handle 10: {own} limit 15140b"


def test_words_after_then_change_what_the_first_ones_made() -> None:
    own = "gred setup vqs 2 default 0 then gred vq 0 limit 60000 min 10 max 20 avpkt 5 then gred vq 1 limit 9"
    assert lines(own, "15140B")[1:] == [
        "parent 1:1 handle 10: gred setup vqs 2 default 0 limit 15140b",
        "change parent 1:1 handle 10: gred vq 0 limit 60000 min 10 max 20 avpkt 5",
        "change parent 1:1 handle 10: gred vq 1 limit 9",
    ]
    assert lines("fq buckets 2 then fq buckets 8", "1bdp", rate=None) == [
        "root handle 10: fq buckets 2",
        "change root handle 10: fq buckets 8",
    ]


def test_what_was_said_last_holds() -> None:
    words = "tbf rate 1mbit limit 9000 then tbf rate 2mbit limit 20000"
    assert stated_rate(words) == 2_000_000
    queue = Queue(None, Buffer.parse("1bdp"), "fq limit 5 then fq limit 7", "tbf")
    assert stated_limit(queue, Limit(9000, None), FRAME) == Limit(None, 7)


def test_words_after_an_instant_hold_while_packets_pass() -> None:
    words = "fq limit 5 then fq limit 7 then at 500ms fq limit 3 then at 1s fq flow_limit 2"
    assert lines(words, "1bdp", rate=None) == [
        "root handle 10: fq limit 5",
        "change root handle 10: fq limit 7",
    ]
    queue = Queue(None, Buffer.parse("1bdp"), words, "tbf")
    assert later_lines(queue) == [
        (500_000_000, "qdisc root handle 10: fq limit 3"),
        (1_000_000_000, "qdisc root handle 10: fq flow_limit 2"),
    ]
    assert stated_limit(queue, Limit(9000, None), FRAME) == Limit(None, 3)
    shaped = Queue(10**6, Buffer.parse("1bdp"), "prio bands 4 then at 1s prio bands 3", "tbf")
    assert later_lines(shaped) == [(10**9, "qdisc parent 1:1 handle 10: prio bands 3")]


@pytest.mark.parametrize(
    "words", ["tbf rate 1mbit then at 1s tbf rate 2mbit", "fq then at 1s fq maxrate 1mbit"]
)
def test_a_rate_stays_while_packets_pass(words: str) -> None:
    with pytest.raises(PlanError, match="the rate would become another"):
        later_lines(Queue(None, None, words, "tbf"))


@pytest.mark.parametrize("words", ["fq then at fq", "fq then at soon fq limit 3", "fq then at"])
def test_an_instant_is_a_duration(words: str) -> None:
    with pytest.raises(PlanError, match="then at"):
        lines(words)


@pytest.mark.parametrize("words", ["fq then red", "fq then ", "dsmark then dsmark", "fq then fq then"])
def test_what_follows_then_is_the_same_discipline(words: str) -> None:
    with pytest.raises(PlanError, match="other words of the same discipline"):
        lines(words)


def test_without_a_rate_there_is_no_shaper_and_a_fifo_is_nothing() -> None:
    assert lines("fifo", rate=None) == []
    assert lines("fq_codel", "1bdp", rate=None) == ["root handle 10: fq_codel"]
    assert lines("fq_codel", "50p", rate=None) == ["root handle 10: fq_codel limit 50"]


@given(
    st.sampled_from(["fifo", "pfifo", "bfifo", "red", "codel", "fq", "sfq", "choke", "cake", "prio"]),
    st.integers(8, 10**12),
    st.one_of(
        st.integers(1514, 10**12).map(lambda n: Buffer(bytes=n)),
        st.integers(1, 10**7).map(lambda n: Buffer(packets=n)),
        st.floats(0.01, 100).map(lambda n: Buffer(bdp=n)),
    ),
    st.sampled_from(["tbf", "htb"]),
)
def test_every_number_fits_the_kernels_fields(kind: str, rate: int, buffer: Buffer, shaper: str) -> None:
    queue = Queue(rate, buffer, kind, shaper)
    limit = resolve_buffer(buffer, rate, 50_000_000, FRAME)
    qdiscs, classes = queue_lines(queue, limit, FRAME)
    for line in (*qdiscs, *classes):
        words = line.split()
        for key in ("limit", "memlimit", "burst", "min", "max"):
            value = value_after(words, key)
            assert value is None or 0 < int(value.rstrip("b")) < 2**32
    if kind == "red":
        low, high = (int((value_after(qdiscs[-1].split(), key) or "").rstrip("b")) for key in ("min", "max"))
        assert low < high
        # The kernel keeps the average times the weight in 32 bits, and a weight exists.
        packet, burst = (
            int((value_after(qdiscs[-1].split(), key) or "").rstrip("b")) for key in ("avpkt", "burst")
        )
        weights = [log for log in range(1, 32) if burst + 1 - low / packet <= _settled(log, burst)]
        assert weights
        assert high.bit_length() + weights[0] < 32
    stated = stated_limit(queue, limit, FRAME)
    assert (stated.packets or 0) + (stated.bytes or 0) > 0


def _settled(log: int, burst: int) -> float:
    # tc_red_eval_ewma() in iproute2: the bound for a weight of 2^-log.
    return float((1 - (1 - 2.0**-log) ** burst) * 2**log)


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        ("tbf rate 2mbit burst 5000 limit 20000", 2_000_000),
        ("cake bandwidth 10mbit", 10_000_000),
        ("tbf rate 250kbps burst 5000 limit 20000", 2_000_000),
        ("cake", None),
        ("fq_codel", None),
        ("", None),
    ],
)
def test_a_discipline_may_keep_a_rate_by_its_own_words(words: str, rate: int | None) -> None:
    assert stated_rate(words) == rate
