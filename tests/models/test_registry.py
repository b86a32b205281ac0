"""Models as figures ask for them: answers worked out by hand, and the doubts beside them."""

import dataclasses
import math
from typing import Any

import pytest

from rushhour.metrics.catalog import METRICS
from rushhour.models.case import Case, marks_s
from rushhour.models.fluid import carried_bps
from rushhour.models.registry import MODELS, predict
from rushhour.series.series import SERIES

RED = "red limit 530000 min 50000 max 250000 avpkt 1490 burst 79 probability 0.1"
CASE = Case("tcp", "reno", 1448, 1514, 0.1, 0.001, 10e6, 125_000, 1, 0.0, 0.0)


def test_every_law_is_about_something_that_is_measured() -> None:
    named = {name for model in MODELS.values() for name in model.laws}
    assert named <= set(METRICS) | set(SERIES)
    assert all(name == model.name and model.title and model.meaning for name, model in MODELS.items())


@pytest.mark.parametrize(
    ("model", "quantity", "value"),
    [
        ("mathis", "goodput_bps", 1448 * 8 / 0.1 * math.sqrt(1.5 / 0.001)),
        ("mathis", "snd_cwnd", math.sqrt(1.5 / 0.001)),
        ("mathis-unit", "goodput_bps", 1448 * 8 / 0.1 / math.sqrt(0.001)),
        ("mathis-unit", "snd_cwnd", 1 / math.sqrt(0.001)),
        ("cubic", "snd_cwnd", math.sqrt(1.5 / 0.001)),
        ("highspeed", "snd_cwnd", 1.2 / math.sqrt(0.001)),
        ("highspeed-acks", "snd_cwnd", 1.2 / math.sqrt(0.002)),
        ("bdp", "goodput_bps", 10e6 * 1448 / 1514),
        ("bdp", "inflight", 125_000),
        ("bdp", "snd_cwnd", 125_000 / 1514),
        ("queue", "queue_delay_max_us", 100_000),
        ("queue", "srtt_us", 200_000),
        ("queue", "queue_bytes", 125_000),
        ("sawtooth", "utilization", 1.0),
    ],
)
def test_known_answers(model: str, quantity: str, value: float) -> None:
    found = predict(MODELS[model], quantity, [CASE])
    assert found.value == pytest.approx(value)
    assert not found.doubt


@pytest.mark.parametrize(("load", "queue"), [(0.9, 0), (1.1, 50_000 + 200_000 / 21 / 0.1), (2.0, 250_000)])
def test_red_stands_where_its_line_has_the_drops_of_an_overload(load: float, queue: float) -> None:
    # 1/11 must go: 2p/(1 + p) = 1/11 is p = 1/21.
    stream = dataclasses.replace(
        CASE, kind="udp", offered_bps=load * 10e6, carried_bps=min(1.0, load) * 10e6, queue=RED
    )
    found = predict(MODELS["red"], "queue_delay_mean_us", [stream])
    assert found.value == pytest.approx(queue * 8 / 10)
    assert bool(found.doubt) == (load == 2.0)
    assert predict(MODELS["red"], "queue_delay_mean_us", [CASE]).value is None


def test_overload_of_several_flows_counts_each_by_what_it_offers() -> None:
    light = dataclasses.replace(CASE, kind="udp", offered_bps=10e6, carried_bps=10e6)
    heavy = dataclasses.replace(CASE, kind="udp", offered_bps=30e6, carried_bps=10e6)
    assert predict(MODELS["overload"], "loss", [CASE, light, heavy]).value == pytest.approx(0.5)


def test_what_arrives_of_an_overload() -> None:
    # Three flows over one end, then one of them over a narrower one; a fourth meets no limit.
    rates = {0: 10.0, 1: 2.0, 2: 100.0}
    offered = [(10.0, (0,)), (10.0, (2, 0)), (20.0, (0, 1)), (5.0, (2, 7))]
    assert carried_bps(offered, rates) == pytest.approx([2.5, 2.5, 2.0, 5.0])
    assert carried_bps([], rates) == []


def test_rates_of_several_flows_add_up_and_the_rate_of_the_path_does_not() -> None:
    one = predict(MODELS["mathis"], "goodput_bps", [CASE]).value
    assert one is not None
    assert predict(MODELS["mathis"], "goodput_bps", [CASE, CASE]).value == pytest.approx(2 * one)
    rate = predict(MODELS["bdp"], "goodput_bps", [CASE]).value
    assert predict(MODELS["bdp"], "goodput_bps", [CASE, CASE]).value == rate


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"loss": 0.0}, "without loss"),
        ({"loss": 0.05}, "timeouts rule"),
        ({"loss": 0.0001, "rtt_s": 0.01}, "more than the link carries"),
        ({"rtt_s": None}, "a base RTT"),
    ],
)
def test_doubts(change: dict[str, Any], said: str) -> None:
    assert said in predict(MODELS["mathis"], "goodput_bps", [dataclasses.replace(CASE, **change)]).doubt


def test_no_flow_is_no_prediction() -> None:
    assert predict(MODELS["mathis"], "goodput_bps", []).value is None


def test_dctcp_under_marks() -> None:
    # 10 Mbit/s of 1514 bytes are 825.6 a second: 82.6 on the path, 19.8 in the queue at 24 ms.
    case = dataclasses.replace(CASE, cc="dctcp", loss=0.0, marks_s=0.024)
    window = predict(MODELS["dctcp"], "snd_cwnd", [case])
    assert window.value == pytest.approx(102.4, abs=0.1)
    assert not window.doubt
    assert predict(MODELS["dctcp"], "dctcp_alpha", [case]).value == pytest.approx(
        math.sqrt(2 / 102.4), rel=0.05
    )
    # K + 1 packets: 24 ms and a frame of 1.2 ms.
    assert predict(MODELS["dctcp"], "queue_delay_max_us", [case]).value == pytest.approx(25_211, abs=1)
    assert "by chance" in predict(MODELS["dctcp"], "snd_cwnd", [dataclasses.replace(case, loss=0.01)]).doubt
    for change in ({"cc": "reno"}, {"marks_s": None}):
        assert predict(MODELS["dctcp"], "snd_cwnd", [dataclasses.replace(case, **change)]).value is None


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("codel target 10s interval 10s ce_threshold 24ms ecn", 0.024),
        ("fq_codel ce_threshold 500us", 0.0005),
        ("red min 30000 max 30001 limit 400000 avpkt 1000 burst 31 probability 1 ecn", 0.024),
        ("red min 30000 max 90000 limit 400000 ecn", None),
        ("red min 30000 max 30001", None),
        ("red min 30kb max 31kb ecn", None),
        ("fq_codel ce_threshold", None),
        ("fifo", None),
        ("", None),
    ],
)
def test_where_a_queue_marks(words: str, seconds: float | None) -> None:
    assert marks_s(words, 10e6) == (None if seconds is None else pytest.approx(seconds))
