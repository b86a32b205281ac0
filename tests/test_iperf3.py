"""iperf3's reports: read strictly, refused when damaged."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.errors import RecordError
from rushhour.record import iperf3


def document(side: str = "client", *, udp: bool = False) -> dict[str, Any]:
    """What iperf3 3.12 writes, cut to what is read."""
    sender = side == "client"
    sent = {"seconds": 2.0, "bytes": 3000 if sender else 0}
    received: dict[str, Any] = {"seconds": 2.1, "bytes": 2000}
    if udp:
        sent["packets"] = 3 if sender else 0
        received |= {"packets": 3, "lost_packets": 1, "jitter_ms": 0.25}
    elif sender:
        sent["retransmits"] = 4
    halves = [1000, 2000] if sender else [1500, 500]
    return {
        "start": {
            "connected": [{"socket": 5, "local_port": 33000, "remote_port": 5001}],
            "version": "iperf 3.12",
            "test_start": {"protocol": "UDP" if udp else "TCP", "blksize": 1000},
        },
        "intervals": [
            {"sum": {"start": float(k), "end": k + 1.0, "bytes": halves[k]}, "streams": []} for k in (0, 1)
        ],
        "end": {"sum_sent": sent, "sum_received": received},
    }


def test_a_client_of_tcp() -> None:
    report = iperf3.parse(document(), "client", "here")
    assert (report.protocol, report.local_port, report.remote_port) == ("TCP", 33000, 5001)
    assert (report.bytes_sent, report.bytes_received, report.retransmits) == (3000, 2000, 4)
    assert (report.packets_sent, report.lost, report.jitter_ms) == (None, None, None)
    assert [interval.bytes for interval in report.intervals] == [1000, 2000]


def test_a_server_of_udp() -> None:
    report = iperf3.parse(document("server", udp=True), "server", "here")
    assert (report.lost, report.jitter_ms, report.retransmits) == (1, 0.25, None)
    assert report.intervals[1] == iperf3.Interval(1.0, 2.0, 500)


def test_its_own_error_is_told() -> None:
    with pytest.raises(RecordError, match="unable to connect"):
        iperf3.parse({"start": {}, "error": "unable to connect"}, "client", "here")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("end", "sum_sent", "bytes"), 3001, "the bytes of all intervals"),
        (("end", "sum_sent", "bytes"), -1, "end.sum_sent.bytes"),
        (("end", "sum_received", "bytes"), 3001, "at most 3000"),
        (("end", "sum_received", "seconds"), math.nan, "end.sum_received.seconds"),
        (("end", "sum_sent", "retransmits"), True, "retransmits"),
        (("start", "connected"), [], "start.connected"),
        (("start", "test_start", "protocol"), "SCTP", "TCP or UDP"),
        (("intervals",), None, "intervals"),
        (("start", "version"), 3.12, "start.version"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(path: tuple[str, ...], value: object, said: str) -> None:
    damaged = document()
    table: Any = damaged
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    with pytest.raises(RecordError, match=said):
        iperf3.parse(damaged, "client", "here")


def test_intervals_go_forward() -> None:
    damaged = document()
    damaged["intervals"].reverse()
    with pytest.raises(RecordError, match="intervals"):
        iperf3.parse(damaged, "client", "here")


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in _places(item, (*path, key)))]


PLACES = [place for place in _places(document(udp=True)) if place]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(PLACES), JSON)
def test_damage_anywhere_is_read_or_refused(place: tuple[Any, ...], value: object) -> None:
    damaged = copy.deepcopy(document(udp=True))
    table: Any = damaged
    for key in place[:-1]:
        table = table[key]
    table[place[-1]] = value
    try:
        report = iperf3.parse(damaged, "client", "here")
    except RecordError as error:
        assert error.where == "here"  # noqa: PT017 - either outcome is right
    else:
        told = sum(interval.bytes for interval in report.intervals)
        assert not report.intervals or report.bytes_sent == told


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[]", json.dumps(document())[:-9].encode()])
def test_a_file_that_is_no_report(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "iperf3-0-client.json"
    path.write_bytes(text)
    with pytest.raises(RecordError, match="iperf3"):
        iperf3.read(path, "client")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        iperf3.read(tmp_path / "none.json", "client")
