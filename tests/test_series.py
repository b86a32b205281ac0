"""Series: raw samples by name, with what is unknown as nan and what was not read as empty."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import builders as make
import numpy as np
import pytest
from builders import SECOND

from rushhour.series.readings import is_one_of
from rushhour.series.series import SERIES

if TYPE_CHECKING:
    from pathlib import Path


def test_what_the_probe_saw(tmp_path: Path) -> None:
    rows = make.rows(
        make.TCP_PROBE, t_ns=[SECOND, 2 * SECOND], snd_cwnd=[10, 20], ssthresh=[0x7FFFFFFF, 15],
        snd_wnd=65_535, snd_nxt=[5, 2_000], snd_una=[2**32 - 95, 1_000],
    )  # fmt: skip
    record = make.record(tmp_path / "run", {"tcp_probe": rows})

    def values(name: str) -> list[float]:
        return list(record.series(name, flow="long").values)

    assert record.series("snd_cwnd", flow="long").t_s.tolist() == [1, 2]
    assert values("snd_cwnd") == [10, 20]
    assert values("ssthresh") == [pytest.approx(np.nan, nan_ok=True), 15]
    assert values("snd_wnd") == [65_535, 65_535]
    # Over the wrap of sequence numbers: 5 - (2³² - 95) = 100.
    assert values("inflight") == [100, 1_000]
    # From the first byte without an ACK on: 100 further, then 2095.
    assert values("snd_nxt") == [100, 2_095]
    assert values("snd_una") == [0, 1_095]


def test_rates_and_windows_of_tcp_info(tmp_path: Path) -> None:
    info = np.concatenate(
        [
            make.tcp_info(
                [SECOND, 2 * SECOND], pacing_rate=[2**64 - 1, 1_250_000], delivery_rate=1_000_000,
                bytes_sent=[1_000_000, 3_000_000], total_retrans=[0, 3],
            ),
            make.tcp_info([SECOND], side=1, rcv_wnd=70_000),
        ]
    )  # fmt: skip
    record = make.record(tmp_path / "run", {"tcp_info": info}, sample_ns=SECOND)

    assert np.isnan(record.series("pacing_rate_bps", flow=0).values[0])
    assert record.series("pacing_rate_bps", flow=0).values[1] == 10e6
    assert record.series("delivery_rate_bps", flow=0).values.tolist() == [8e6, 8e6]
    assert record.series("send_rate_bps", flow=0).values.tolist() == [8e6, 16e6]
    assert record.series("retransmits", flow=0).values.tolist() == [0, 3]
    assert record.series("rcv_wnd", flow=0).values.tolist() == [70_000]


def test_what_congestion_controls_tell_of_themselves(tmp_path: Path) -> None:
    bbr, dctcp = make.tcp_info([SECOND], 0, cc=b"bbr"), make.tcp_info([SECOND], 1, cc=b"dctcp")
    bbr["ccinfo"] = struct.pack("<5I", 1_250_000, 0, 20_000, 739, 512)
    dctcp["ccinfo"] = struct.pack("<2H3I", 1, 0, 512, 0, 0).ljust(20, b"\0")
    record = make.record(
        tmp_path / "run",
        {"tcp_info": np.concatenate([bbr, dctcp])},
        flows=[make.flow(0, "b"), make.flow(1, "d")],
    )

    assert record.series("bbr_bandwidth_bps", flow="b").values.tolist() == [10e6]
    assert record.series("dctcp_alpha", flow="d").values.tolist() == [0.5]
    assert len(record.series("dctcp_alpha", flow="b")) == 0


def test_sockets_without_tcp_info_are_left_out(tmp_path: Path) -> None:
    info = make.tcp_info([1, 2, 3], snd_cwnd=[1, 2, 3])
    info["state"] = [10, 1, 6]
    record = make.record(tmp_path / "run", {"tcp_info": info})

    assert record.series("snd_cwnd", flow=0).values.tolist() == [2]


def test_congestion_events(tmp_path: Path) -> None:
    # Open → Disorder → Recovery → Open → Recovery → Loss → Open.
    rows = make.rows(make.CONG_STATE, t_ns=np.arange(7) * SECOND, cong_state=[0, 1, 3, 0, 3, 4, 0])
    again = make.rows(make.TCP_RETRANSMIT, t_ns=np.array([2, 4, 5]) * SECOND)
    record = make.record(tmp_path / "run", {"tcp_cong_state_set": rows, "tcp_retransmit_skb": again})

    assert record.series("cong_state", flow=0).values.tolist() == [0, 1, 3, 0, 3, 4, 0]
    assert record.series("loss_events", flow=0).t_s.tolist() == [2, 4, 5]
    assert record.series("retransmits", flow=0).values.tolist() == [1, 2, 3]


def test_what_links_did(tmp_path: Path) -> None:
    t_ns = np.array([0, 1, 2]) * SECOND
    sent = make.rows(make.INTERFACE, t_ns=t_ns, end=2, tx_bytes=[0, 1_000_000, 1_500_000])
    lost = make.rows(make.WIRE, t_ns=t_ns, end=2, packets=[0, 10, 20], lost=[0, 1, 1])
    record = make.record(tmp_path / "run", {"interface": sent, "wire": lost})

    assert record.series("tx_rate_bps", end=2).values.tolist() == [8e6, 4e6]
    assert record.series("wire_lost", end="left → right").values.tolist() == [0, 1, 1]


@pytest.mark.parametrize("name", sorted(SERIES))
def test_what_was_not_read_is_empty(tmp_path: Path, name: str) -> None:
    series = make.record(tmp_path / "run").series(name, flow="long", end=2)

    assert (len(series), series.unit, series.source) == (0, SERIES[name].unit, "")


def test_a_tcp_flow_beside_datagrams_keeps_its_goodput(tmp_path: Path) -> None:
    times = np.arange(11) * SECOND
    record = make.record(
        tmp_path / "run",
        {
            "udp": make.rows(make.UDP, flow=1, seq=range(3), tx_ns=0, rx_ns=SECOND),
            "tcp_info": make.tcp_info(times, side=1, bytes_received=times // 100),
        },
        flows=[make.flow(), make.flow(1, "call", "udp")],
    )

    series = record.series("goodput_bps", flow="long")

    assert series.source == "tcp_info"
    assert series.values.tolist() == [80e6] * 10


def test_a_series_is_made_once_as_long_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {"tcp_info": make.tcp_info([SECOND, 2 * SECOND], bytes_sent=[1, 2], total_retrans=[0, 3])}
    record = make.record(tmp_path / "run", tables, sample_ns=SECOND)
    assert record.series("retransmits", flow=0) is record.series("retransmits", flow=0)

    monkeypatch.setattr("rushhour.record.record._KEPT", 3)
    short = make.record(tmp_path / "short", tables, sample_ns=SECOND)
    assert short.series("retransmits", flow=0) is short.series("retransmits", flow=0)
    assert short.series("rttvar_us", flow=0) is not short.series("rttvar_us", flow=0)
    assert (
        short.series("rttvar_us", flow=0).values.tolist()
        == record.series("rttvar_us", flow=0).values.tolist()
    )


@pytest.mark.parametrize("kind", ["<u4", "<u8"])
def test_a_few_values_are_found_in_either_width(kind: str) -> None:
    values = np.array([0, 1, 2**32 - 1], kind)
    few = (2**64 - 1, 2**32 - 1, 0)
    assert is_one_of(values, few).tolist() == [True, False, True]
    assert not is_one_of(values, ()).any()
