"""Kernel structures: golden bytes as the kernel lays them out, for short and long kernels."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.record import decode


def raw(content: bytes, stride: int | None = None) -> decode.Rows:
    return np.frombuffer(content.ljust(stride or len(content), b"\0"), f"V{stride or len(content)}")


# Offsets of struct tcp_info in <linux/tcp.h> as the compiler gives them; it has 232 bytes in Linux 6.1, 248
# in 6.12, 280 in 7.3.
OFFSETS = {
    "state": 0, "rto": 8, "rtt": 68, "snd_ssthresh": 76, "snd_cwnd": 80, "total_retrans": 100,
    "pacing_rate": 104, "bytes_received": 128, "segs_out": 136, "min_rtt": 148, "delivery_rate": 160,
    "busy_time": 168, "sndbuf_limited": 184, "delivered": 192, "bytes_sent": 200, "dsack_dups": 216,
    "snd_wnd": 228, "rcv_wnd": 232, "rehash": 236, "total_rto": 240, "total_rto_time": 244,
    "received_ce": 248, "ecn_bits": 276,
}  # fmt: skip


def test_tcp_info_has_the_kernels_offsets() -> None:
    layout = decode.layout(decode.TCP_INFO, 280)
    fields: Any = layout.fields

    assert {name: fields[name][1] for name in OFFSETS} == OFFSETS
    assert layout.itemsize == 280
    assert all(offset % dtype.alignment == 0 for dtype, offset in fields.values())


@pytest.mark.parametrize(
    ("size", "last", "absent"), [(232, "snd_wnd", "rcv_wnd"), (248, "total_rto_time", "received_ce")]
)
def test_a_shorter_tcp_info_has_fewer_fields(size: int, last: str, absent: str) -> None:
    info = decode.tcp_info(raw(bytes(range(256))[:size]))

    names = info.dtype.names or ()
    assert names[-1] == last
    assert absent not in names
    assert info["snd_cwnd"][0] == int.from_bytes(bytes([80, 81, 82, 83]), "little")


def test_a_field_of_which_only_half_came_is_absent() -> None:
    assert (decode.tcp_info(raw(bytes(230))).dtype.names or ())[-1] == "rcv_ooopack"


def test_skmem_is_in_the_order_of_sock_diag() -> None:
    memory = decode.skmem(raw(struct.pack("<9I", *range(1, 10))))

    assert (memory["rmem_alloc"][0], memory["sndbuf"][0], memory["drops"][0]) == (1, 4, 9)


def test_cc_info_of_each_algorithm() -> None:
    bbr = decode.cc_info(raw(struct.pack("<5I", 1, 2, 30, 739, 512)), b"bbr")
    dctcp = decode.cc_info(raw(struct.pack("<2H3I", 1, 0, 512, 7, 9), 20), b"dctcp")
    vegas = decode.cc_info(raw(struct.pack("<4I", 1, 5, 21000, 20000), 20), b"vegas")

    assert bbr is not None
    assert decode.bbr_bandwidth_bps(bbr)[0] == (2 * 2**32 + 1) * 8
    assert dctcp is not None
    assert (dctcp["dctcp_alpha"][0], dctcp["dctcp_ab_tot"][0]) == (512, 9)
    assert vegas is not None
    assert vegas["vegas_minrtt"][0] == 20000
    assert decode.cc_info(raw(bytes(20)), b"cubic") is None


class PieXstats(ctypes.LittleEndianStructure):
    _fields_ = (
        ("prob", ctypes.c_uint64), ("delay", ctypes.c_uint32), ("avg_dq_rate", ctypes.c_uint32),
        ("dq_rate_estimating", ctypes.c_uint32), ("packets_in", ctypes.c_uint32),
        ("dropped", ctypes.c_uint32),
        ("overlimit", ctypes.c_uint32), ("maxq", ctypes.c_uint32), ("ecn_mark", ctypes.c_uint32),
    )  # fmt: skip


def test_xstats_of_pie_agree_with_the_compilers_layout() -> None:
    content = bytes(PieXstats(prob=2**40, delay=15, dropped=3, ecn_mark=8))

    known = decode.xstats(raw(content, 128), np.array([len(content)], np.uint32), b"pie")

    assert known is not None
    assert (known["prob"][0], known["delay"][0], known["dropped"][0], known["ecn_mark"][0]) == (
        2**40,
        15,
        3,
        8,
    )


def test_marks_of_the_qdiscs_that_count_them() -> None:
    def marks(kind: bytes, content: bytes) -> float | None:
        found = decode.marks(raw(content, 128), np.array([len(content)], np.uint32), kind)
        return None if found is None else float(found[0])

    assert marks(b"codel", struct.pack("<4Ii4I", 0, 0, 0, 0, 0, 0, 4, 0, 2)) == 6
    assert marks(b"fq_codel", struct.pack("<10I", 0, 0, 0, 5, 0, 0, 0, 1, 0, 0)) == 6
    assert marks(b"red", struct.pack("<4I", 1, 2, 3, 4)) == 4
    assert marks(b"fq_pie", struct.pack("<9I", 0, 0, 0, 0, 9, 0, 0, 0, 0)) == 9
    assert marks(b"fq", struct.pack("<7Qq4I4Q", *[0] * 12, 11, 0, 0, 0)) == 11
    assert marks(b"tbf", bytes(16)) is None
    # A kernel whose codel knows no ce_mark yet, and one that gave nothing.
    assert marks(b"codel", struct.pack("<4Ii3I", 0, 0, 0, 0, 0, 0, 4, 0)) == 4
    assert marks(b"codel", b"") is None


def test_a_length_beyond_what_was_stored_is_cut() -> None:
    assert decode.marks(raw(bytes(128)), np.array([2**32 - 1], np.uint32), b"red") is not None


@given(start=st.integers(0, 2**40), steps=st.lists(st.integers(-(2**31) + 1, 2**31 - 1), max_size=50))
def test_unwrapping_restores_what_wrapped(start: int, steps: list[int]) -> None:
    values = np.cumsum([start, *steps])
    wrapped = (values % 2**32).astype(np.uint32)

    assert np.array_equal(decode.unwrap32(wrapped) - int(wrapped[0]), values - start)
