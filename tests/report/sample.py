"""Synthetic records in the documented format: two flows on one bottleneck, by a small fluid model.

They look like an experiment but are none: what is tested with them is that a report shows what a record holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rushhour import decode
from rushhour.seal import RecordWriter
from rushhour.tables import write_table

RATE, BUFFER, BASE_US, FRAME, PAYLOAD = 100_000_000, 500_000, 2_100, 1514, 1448
ROOT = 0xFFFFFFFF


def make_set(path: Path, cells: list[dict[str, Any]], **options: Any) -> Path:
    """A result set with one run for each dict of factors."""
    for index, factors in enumerate(cells):
        make_record(path / "runs" / f"{index:04d}", factors, index=index, **options)
    return path


def make_record(
    path: Path,
    factors: dict[str, Any] | None = None,
    *,
    index: int = 0,
    title: str = "Window scaling",
    question: str = "Does the queue a second flow built outlive it?",
    seconds: int = 30,
    repetition: int = 0,
    **manifest: Any,
) -> Path:
    factors = factors or {}
    windows, queue, active = simulate(seconds, index + 100 * repetition)
    with RecordWriter(path) as writer:
        write_raw(writer.raw, windows, queue, active)
        plan, result, context = documents(seconds, str(factors.get("cc", "cubic")))
        for name, document in (("plan", plan), ("result", result)):
            (writer.folder / f"{name}.json").write_text(json.dumps(document))
        whole = {
            "key": f"{index:04d}",
            "scenario": {"name": "window-scaling", "title": title, "resolved": {"question": question, "title": title}},
            "cell": {"index": index, "factors": factors},
            "repetition": repetition,
            "seed": 1,
            "kernel": {"name": "6.12", "release": "6.12.117", "hz": 1000, "compiler": "gcc 12.2.0", "source_sha256": "5" * 64},
            "agent": {"version": "0.1.0", "sha256": "a" * 64},
            "lab": "uml",
            "rushhour": "0.1.0",
            "host": {"cpu_model": "Example CPU"},
            "elapsed_s": 2.1,
            "virtual_s": seconds + 1,
            "warnings": [],
            "valid": True,
            "invalid_reasons": [],
            "context": context,
            **manifest,
        }
        return writer.seal(whole)


def simulate(seconds: int, seed: int) -> tuple[Any, Any, Any]:
    """Windows [n, 2] in segments, queue [n] in bytes and activity [n, 2] at every millisecond."""
    random = np.random.default_rng(seed)
    steps = seconds * 1000
    active = np.zeros((steps, 2), bool)
    active[:, 0] = True
    active[steps // 6 : steps * 2 // 3, 1] = True
    windows, queue = np.zeros((steps, 2)), np.zeros(steps)
    bdp = RATE * BASE_US / 8e6
    most, since = np.array([10.0, 10.0]), np.zeros(2)
    size = np.array([10.0, 10.0])
    for step in range(steps):
        rtt = (bdp + queue[step - 1]) / (RATE / 8)
        slow = active[step] & (most <= 10)
        cubic = 0.4 * (since - np.cbrt(most * 0.3 / 0.4)) ** 3 + most
        size = np.where(slow, size * 2 ** (0.001 / rtt), np.where(active[step], np.maximum(size * 0.99, cubic), size))
        since += 0.001
        backlog = np.sum(size * active[step]) * FRAME - bdp
        if backlog > BUFFER:
            hit = active[step] & ((random.random(2) < 0.7) | (size > 300))
            most, since = np.where(hit, size, most), np.where(hit, 0.0, since)
            size = np.where(hit, size * 0.7, size)
        windows[step], queue[step] = np.maximum(np.rint(size), 2), np.clip(backlog, 0, BUFFER) // FRAME * FRAME
    return windows, queue, active


def write_raw(raw: Path, windows: Any, queue: Any, active: Any) -> None:
    times = np.arange(len(queue), dtype=np.int64) * 1_000_000
    rtt = BASE_US + queue * 8e6 / RATE
    share = windows * active / np.maximum(1, np.sum(windows * active, axis=1, keepdims=True))
    full = np.minimum(1.0, np.sum(windows * active, axis=1) * FRAME / (RATE * BASE_US / 8e6))
    received = np.cumsum(share * full[:, None] * (RATE / 8 * 0.001 * PAYLOAD / (FRAME + 24 - 24)), axis=0)
    probe_type = [("t_ns", "<i8"), ("flow", "<u4"), ("snd_cwnd", "<u4"), ("ssthresh", "<u4"), ("srtt", "<u4"),
                  ("snd_wnd", "<u4"), ("rcv_wnd", "<u4"), ("snd_nxt", "<u4"), ("snd_una", "<u4")]
    probes = [probe_rows(probe_type, times, flow, windows[:, flow], rtt, active[:, flow]) for flow in (0, 1)]
    rows = np.concatenate(probes)
    write_table(raw / "tcp_probe.rh", "tcp_probe", rows[np.argsort(rows["t_ns"], kind="stable")])
    lost = [np.flatnonzero(np.diff(windows[:, flow]) < -5) for flow in (0, 1)]
    retransmits = np.array(sorted((times[i] + 1, flow) for flow in (0, 1) for i in lost[flow]), [("t_ns", "<i8"), ("flow", "<u4")])
    write_table(raw / "tcp_retransmit_skb.rh", "tcp_retransmit_skb", retransmits)
    write_sampled(raw, times, queue, active, windows, rtt, received, lost)


def probe_rows(kind: Any, times: Any, flow: int, window: Any, rtt: Any, active: Any) -> Any:
    rows = np.zeros(int(active.sum()), kind)
    rows["t_ns"], rows["flow"] = times[active], flow
    rows["snd_cwnd"], rows["srtt"], rows["snd_wnd"] = window[active], rtt[active], 3_000_000
    rows["ssthresh"] = np.where(np.arange(len(rows)) < 300, 0x7FFFFFFF, window[active] * 3 // 4)
    rows["snd_nxt"] = window[active] * PAYLOAD
    return rows


def write_sampled(raw: Path, times: Any, queue: Any, active: Any, windows: Any, rtt: Any, received: Any, lost: Any) -> None:
    at = np.arange(0, len(times), 100)
    qdisc = np.zeros(len(at), [("t_ns", "<i8"), ("end", "<u4"), ("handle", "<u4"), ("parent", "<u4"), ("bytes", "<u8"),
                               ("packets", "<u8"), ("qlen", "<u4"), ("backlog", "<u4"), ("drops", "<u4"), ("requeues", "<u4"),
                               ("overlimits", "<u4"), ("kind", "S16"), ("xstats_len", "<u4"), ("xstats", "V128")])
    qdisc["t_ns"], qdisc["end"], qdisc["handle"], qdisc["parent"] = times[at], 2, 65536, ROOT
    qdisc["backlog"], qdisc["qlen"], qdisc["kind"] = queue[at], queue[at] // FRAME, b"tbf"
    qdisc["drops"] = np.searchsorted(np.sort(np.concatenate(lost)), at) * 7
    write_table(raw / "qdisc.rh", "qdisc", qdisc)
    ends = np.zeros(len(at), [("t_ns", "<i8"), ("end", "<u4"), *((name, "<u8") for name in (
        "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped"))])
    ends["t_ns"], ends["end"] = times[at], 2
    ends["tx_bytes"] = received[at].sum(axis=1) / PAYLOAD * FRAME
    write_table(raw / "interface.rh", "interface", ends)
    layout = decode.layout(decode.TCP_INFO, 232)
    parts = []
    for flow in (0, 1):
        for side in (0, 1):
            some = at[active[at, flow]]
            info = np.zeros(len(some), layout)
            info["snd_cwnd"], info["snd_ssthresh"] = windows[some, flow], np.maximum(2, windows[some, flow] * 3 // 4)
            info["rtt"], info["state"] = rtt[some], 1
            info["bytes_received"] = received[some, flow] if side else 0
            info["bytes_sent"] = 0 if side else received[some, flow]
            parts.append(info_rows(times[some], flow, side, info))
    rows = np.concatenate(parts)
    write_table(raw / "tcp_info.rh", "tcp_info", rows[np.argsort(rows["t_ns"], kind="stable")])


def info_rows(times: Any, flow: int, side: int, info: Any) -> Any:
    rows = np.zeros(len(times), [("t_ns", "<i8"), ("flow", "<u4"), ("side", "u1"), ("state", "u1"), ("cc", "S16"),
                                 ("rqueue", "<u4"), ("wqueue", "<u4"), ("info", "V232"), ("skmem", "V36"), ("ccinfo", "V20")])
    rows["t_ns"], rows["flow"], rows["side"], rows["state"], rows["cc"] = times, flow, side, 1, b"cubic"
    rows["info"] = info.view("V232")
    return rows


def documents(seconds: int, cc: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The plan, the result and the context of such a run."""
    whole = seconds * 1_000_000_000
    times = [(0, whole), (whole // 6, whole * 2 // 3)]
    links = [("s1", "left"), ("left", "right"), ("right", "r1"), ("s2", "left"), ("right", "r2")]
    plan = {
        "format": "rushhour-plan/1", "seed": 1, "duration_ns": whole, "sample_ns": 100_000_000,
        "nodes": [{"name": name, "forward": name in ("left", "right")} for name in ("s1", "s2", "left", "right", "r1", "r2")],
        "links": [{"name": f"{a}-{b}", "ends": [{"node": a, "dev": b}, {"node": b, "dev": a}]} for a, b in links],
        "flows": [
            {"id": i, "name": name, "kind": "tcp", "from": f"s{i + 1}", "to": f"r{i + 1}", "cc": cc, "start_ns": times[i][0]}
            for i, name in enumerate(("long", "short"))
        ],
    }
    result = {
        "format": "rushhour-result/1", "ok": True, "error": None,
        "kernel": {"release": "6.12.117", "hz": 1000},
        "flows": [
            {"id": i, "connected_ns": start, "sender_done_ns": stop, "receiver_done_ns": stop, "error": None}
            for i, (start, stop) in enumerate(times)
        ],
        "calibration": {"pings": [], "trains": [], "qdiscs": []}, "lost_events": {"tcp_probe": 0}, "warnings": [],
    }
    paths = [([0, 2, 4], [5, 3, 1]), ([6, 2, 8], [9, 3, 7])]
    context = {
        "flows": [
            {"id": i, "name": name, "group": name, "kind": "tcp", "start_ns": times[i][0], "stop_ns": times[i][1],
             "ends": paths[i][0], "reverse_ends": paths[i][1], "base_rtt_ns": BASE_US * 1000, "bottleneck_end": 2,
             "bottleneck_bps": RATE, "payload_per_packet": PAYLOAD, "frame_bytes": FRAME}
            for i, name in enumerate(("long", "short"))
        ],
        "ends": [end_context(index, links) for index in range(2 * len(links))],
        "duration_ns": whole, "warmup_ns": 0,
    }
    return plan, result, context


def end_context(index: int, links: list[tuple[str, str]]) -> dict[str, Any]:
    pair = links[index // 2]
    node, dev = pair if index % 2 == 0 else pair[::-1]
    middle, access = index in (2, 3), index in (4, 1, 8, 7)
    return {
        "end": index, "label": f"{node} → {dev}", "node": node, "dev": dev,
        "rate_bps": RATE if middle else None, "buffer_bytes": BUFFER if middle else None, "buffer_packets": None,
        "delay_ns": 1_000_000 if access else 0, "jitter_ns": 100_000 if access else 0, "loss": 0.0,
        "queue": "fifo" if middle else None, "role": "queue" if middle else "wire" if access else "plain",
    }
