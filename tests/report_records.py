"""Synthetic records in the documented format: two flows on one bottleneck, by a small fluid model.

They look like an experiment but are none: tested with them is that a report shows what a record holds.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from builders import INTERFACE, TCP_PROBE, TCP_RETRANSMIT, qdisc, rows, tcp_info

from rushhour.record.seal import RecordWriter, sealed
from rushhour.record.tables import write_table
from rushhour.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

RATE, BUFFER, BASE_US, FRAME, PAYLOAD = 100_000_000, 500_000, 2_100, 1514, 1448


def make_set(path: Path, cells: list[dict[str, Any]], **options: Any) -> Path:
    """A result set with one run for each dict of factors."""
    for index, factors in enumerate(cells):
        make_record(path / "runs" / f"{index:04d}", factors, index=index, **options)
    return path


def make_copies(path: Path, cells: list[dict[str, Any]], **options: Any) -> Path:
    """A result set whose runs share the files of one and differ in their factors alone; quick to make."""
    first = make_record(path / "runs" / "0000", cells[0], **options)
    manifest = json.loads((first / "manifest.json").read_text())
    for index, factors in enumerate(cells[1:], 1):
        copy = path / "runs" / f"{index:04d}"
        shutil.copytree(first, copy, copy_function=os.link, ignore=lambda *_: ["manifest.json"])
        manifest["cell"] = {"index": index, "factors": factors}
        (copy / "manifest.json").write_text(json.dumps(sealed(manifest)))
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
    model = simulate(seconds, index + 100 * repetition)
    with RecordWriter(path) as writer:
        write_raw(writer.raw, model)
        plan, result, context = documents(seconds, str(factors.get("cc", "cubic")), model.received[-1])
        for name, document in (("plan", plan), ("result", result)):
            (writer.folder / f"{name}.json").write_text(json.dumps(document))
        whole = {
            "key": f"{index:04d}",
            "scenario": {
                "name": "window-scaling",
                "title": title,
                "resolved": {"question": question, "title": title},
            },
            "cell": {"index": index, "factors": factors},
            "repetition": repetition,
            "seed": 1,
            "kernel": {
                "name": "6.12",
                "release": "6.12.117",
                "hz": 1000,
                "compiler": "gcc 12.2.0",
                "source_sha256": "5" * 64,
            },
            "agent": {"version": "0.1.0", "sha256": "a" * 64},
            "lab": "uml",
            "rushhour": __version__,
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


@dataclass
class Model:
    """At every millisecond: windows [n, 2] in segments, queue [n] in bytes, activity [n, 2]."""

    windows: Any
    queue: Any
    active: Any

    @property
    def times(self) -> Any:
        return np.arange(len(self.queue), dtype=np.int64) * 1_000_000

    @property
    def rtt(self) -> Any:
        return BASE_US + self.queue * 8e6 / RATE

    @property
    def received(self) -> Any:
        load = np.sum(self.windows * self.active, axis=1, keepdims=True)
        full = np.minimum(1.0, load * FRAME / (RATE * BASE_US / 8e6))
        return np.cumsum(
            self.windows * self.active / np.maximum(1, load) * full * RATE / 8e3 * PAYLOAD / FRAME, axis=0
        )

    @property
    def lost(self) -> list[Any]:
        return [np.flatnonzero(np.diff(self.windows[:, flow]) < -5) for flow in (0, 1)]


@cache
def simulate(seconds: int, seed: int) -> Model:
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
        size = np.where(
            slow, size * 2 ** (0.001 / rtt), np.where(active[step], np.maximum(size * 0.99, cubic), size)
        )
        since += 0.001
        backlog = np.sum(size * active[step]) * FRAME - bdp
        if backlog > BUFFER:
            hit = active[step] & ((random.random(2) < 0.7) | (size > 300))
            most, since = np.where(hit, size, most), np.where(hit, 0.0, since)
            size = np.where(hit, size * 0.7, size)
        windows[step], queue[step] = (
            np.maximum(np.rint(size), 2),
            np.clip(backlog, 0, BUFFER) // FRAME * FRAME,
        )
    return Model(windows, queue, active)


def write_raw(raw: Path, model: Model) -> None:
    at = np.arange(0, len(model.queue), 100)
    lost = [(flow, model.times[place] + 1) for flow in (0, 1) for place in model.lost[flow]]
    flow, t_ns = (np.array(column) for column in zip(*sorted(lost, key=lambda pair: pair[1]), strict=True))
    drops = np.searchsorted(np.sort(np.concatenate(model.lost)), at) * 7
    whole = {"t_ns": model.times[at], "end": 2}
    tables = {
        "tcp_probe": in_order([probes(model, flow) for flow in (0, 1)]),
        "tcp_info": in_order([info(model, at, flow, side) for flow in (0, 1) for side in (0, 1)]),
        "tcp_retransmit_skb": rows(TCP_RETRANSMIT, t_ns=t_ns, flow=flow),
        "qdisc": qdisc(model.times[at], backlog=model.queue[at], qlen=model.queue[at] // FRAME, drops=drops),
        "interface": rows(INTERFACE, tx_bytes=model.received[at].sum(axis=1) / PAYLOAD * FRAME, **whole),
    }
    for name, content in tables.items():
        write_table(raw / f"{name}.rh", name, content)


def in_order(parts: list[Any]) -> Any:
    joined = np.concatenate(parts)
    return joined[np.argsort(joined["t_ns"], kind="stable")]


def probes(model: Model, flow: int) -> Any:
    some = model.active[:, flow]
    window = model.windows[some, flow]
    return rows(
        TCP_PROBE, t_ns=model.times[some], flow=flow, snd_cwnd=window, snd_nxt=window * PAYLOAD,
        srtt=model.rtt[some], ssthresh=window * 3 // 4, snd_wnd=3_000_000,
    )  # fmt: skip


def info(model: Model, at: Any, flow: int, side: int) -> Any:
    some = at[model.active[at, flow]]
    window, moved = model.windows[some, flow], model.received[some, flow]
    return tcp_info(
        model.times[some], flow, side=side, snd_cwnd=window, snd_ssthresh=np.maximum(2, window * 3 // 4),
        rtt=model.rtt[some], bytes_received=moved if side else 0, bytes_sent=0 if side else moved,
    )  # fmt: skip


def documents(seconds: int, cc: str, received: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The plan, the result and the context of such a run."""
    whole = seconds * 1_000_000_000
    times = [(0, whole), (whole // 6, whole * 2 // 3)]
    links = [("s1", "left"), ("left", "right"), ("right", "r1"), ("s2", "left"), ("right", "r2")]
    plan = {
        "format": "rushhour-plan/1",
        "seed": 1,
        "duration_ns": whole,
        "sample_ns": 100_000_000,
        "nodes": [
            {"name": name, "forward": name in ("left", "right")}
            for name in ("s1", "s2", "left", "right", "r1", "r2")
        ],
        "links": [
            {"name": f"{a}-{b}", "ends": [{"node": a, "dev": b}, {"node": b, "dev": a}]} for a, b in links
        ],
        "flows": [
            {
                "id": i,
                "name": name,
                "kind": "tcp",
                "from": f"s{i + 1}",
                "to": f"r{i + 1}",
                "cc": cc,
                "start_ns": times[i][0],
            }
            for i, name in enumerate(("long", "short"))
        ],
    }
    result = {
        "format": "rushhour-result/1",
        "ok": True,
        "error": None,
        "kernel": {"release": "6.12.117", "hz": 1000},
        "flows": [
            {
                "id": i,
                "connected_ns": start,
                "sender_done_ns": stop,
                "receiver_done_ns": stop,
                "bytes_received": int(received[i]),
                "error": None,
            }
            for i, (start, stop) in enumerate(times)
        ],
        "calibration": {"pings": [], "trains": [], "qdiscs": []},
        "lost_events": {"tcp_probe": 0},
        "warnings": [],
    }
    paths = [([0, 2, 4], [5, 3, 1]), ([6, 2, 8], [9, 3, 7])]
    context = {
        "flows": [
            {
                "id": i,
                "name": name,
                "group": name,
                "kind": "tcp",
                "start_ns": times[i][0],
                "stop_ns": times[i][1],
                "ends": paths[i][0],
                "reverse_ends": paths[i][1],
                "base_rtt_ns": BASE_US * 1000,
                "bottleneck_end": 2,
                "bottleneck_bps": RATE,
                "payload_per_packet": PAYLOAD,
                "frame_bytes": FRAME,
            }
            for i, name in enumerate(("long", "short"))
        ],
        "ends": [end_context(index, links) for index in range(2 * len(links))],
        "duration_ns": whole,
        "warmup_ns": 0,
    }
    return plan, result, context


def end_context(index: int, links: list[tuple[str, str]]) -> dict[str, Any]:
    pair = links[index // 2]
    node, dev = pair if index % 2 == 0 else pair[::-1]
    middle, access = index in (2, 3), index in (4, 1, 8, 7)
    return {
        "end": index,
        "label": f"{node} → {dev}",
        "node": node,
        "dev": dev,
        "rate_bps": RATE if middle else None,
        "buffer_bytes": BUFFER if middle else None,
        "buffer_packets": None,
        "delay_ns": 1_000_000 if access else 0,
        "jitter_ns": 100_000 if access else 0,
        "loss": 0.0,
        "queue": "fifo" if middle else None,
        "role": "queue" if middle else "wire" if access else "plain",
    }
