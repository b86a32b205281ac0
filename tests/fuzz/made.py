"""What the fuzzers of folders begin with: small and whole, with every kind of table and flow."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import result_sets
import verdict_documents as verdicts
from builders import SECOND

from rushhour.record.seal import sealed

if TYPE_CHECKING:
    from pathlib import Path


def record(folder: Path) -> Path:
    """A record with every table and every kind of flow."""
    t_ns = np.arange(8) * SECOND
    codel = make.qdisc(t_ns, parent=0x10001, handle=1, kind=b"codel", xstats=struct.pack("<4Ii4I", *range(9)))
    info = [
        make.tcp_info(t_ns, flow, side=side, bytes_received=t_ns // 1000)
        for flow in (0, 1)
        for side in (0, 1)
    ]
    tables = {
        "tcp_probe": make.rows(make.TCP_PROBE, t_ns=t_ns, flow=[0, 1] * 4, snd_cwnd=10, srtt=21_000),
        "tcp_info": np.concatenate(info),
        "qdisc": np.concatenate([make.qdisc(t_ns), codel]),
        "udp": make.rows(make.UDP, flow=2, seq=[0, 2, 1, 1, 4, 5, 6, 7], tx_ns=t_ns, rx_ns=t_ns + 9),
        "ping": make.rows(make.PING, flow=3, seq=np.arange(8), tx_ns=t_ns, rx_ns=t_ns + 9),
        "transaction": make.rows(make.TRANSACTION, flow=4, seq=np.arange(8), start_ns=t_ns, end_ns=t_ns + 9),
        "interface": make.rows(make.INTERFACE, t_ns=t_ns, end=2, tx_bytes=t_ns // 1000),
        "wire": make.rows(make.WIRE, t_ns=t_ns, end=2, packets=np.arange(8), lost=0),
        "tcp_cong_state_set": make.rows(make.CONG_STATE, t_ns=t_ns, cong_state=[0, 3] * 4),
        "tcp_retransmit_skb": make.rows(make.TCP_RETRANSMIT, t_ns=t_ns),
        "inet_sk_error_report": make.rows(make.ERROR_REPORT, t_ns=t_ns, error=110),
        "sojourn": make.rows(make.SOJOURN, t_ns=t_ns, end=2, sojourn_ns=9),
    }
    kinds = ("tcp", "tcp", "udp", "ping", "rr")
    path = {"from": "s", "src": "10.0.0.1", "to": "r", "dst": "10.0.0.2", "size": 1472}
    return make.record(
        folder,
        tables,
        flows=[make.flow(number, f"f{number}", kind) for number, kind in enumerate(kinds)],
        planned={0: {"from": "s", "to": "r", "bytes": 9}, 2: {"packet_bytes": 100}},
        outcomes=[make.outcome(number, packets_sent=9) for number in range(5)],
        result={"calibration": _calibration()},
        plan={"calibration": {"paths": [path], "trains": [path]}, "links": []},
        manifest={"scenario": {"resolved": {"expect": [{"metric": "loss", "max": 0.5}]}}},
    ).path


def _calibration() -> dict[str, Any]:
    return {
        "pings": [{"path": 0, "rtt_ns": [20_000_000]}],
        "trains": [{"train": 0, "arrivals_ns": [k * 121_120 for k in range(20)]}],
        "qdiscs": [{"end": 2, "kind": "tbf"}],
    }


def results(folder: Path) -> Path:
    """A set of two whole runs that differ in a factor, with expectations, figures and an index."""
    import report_records  # noqa: PLC0415 - it needs the scenarios of the catalogue

    report_records.make_set(folder, [{"cc": "cubic"}, {"cc": "reno"}], seconds=3)
    resolved = {
        "seed": 1, "sweep": {"cc": ["cubic", "reno"]},
        "figure": [{"metric": "goodput_bps", "x": "cc"}], "expect": [{"metric": "utilization", "min": 0.1}],
        "judge": [{"metric": "goodput_bps", "minimum": "2%"}],
    }  # fmt: skip
    unrun = {"cell": {"index": 1, "factors": {"cc": "reno"}}, "kernel": "stable", "message": "gone"}
    about = {
        "format": "rushhour-set/1",
        "scenario": {"name": "fuzzed", "title": "A start", "sha256": "5" * 64, "resolved": resolved},
        "kernels": [result_sets.kernel()],
        "cells": [{"index": number, "factors": {"cc": cc}} for number, cc in enumerate(("cubic", "reno"))],
        "repeat": 1, "seed": 1, "quick": False, "asked": {"sets": ["cc=cubic"]}, "runs": 2,
        "failures": [unrun],
        "skipped": [unrun],
        "published": [], "study": None, "complete": True,
    }  # fmt: skip
    (folder / "set.json").write_text(json.dumps(sealed(about)))
    from rushhour.record.result_set import ResultSet  # noqa: PLC0415

    ResultSet.open(folder).write_index()
    return folder


def comparison(folder: Path) -> Path:
    """A comparison's folder: one cell worse, one the same."""
    folder.mkdir(parents=True)
    sides = {"base": result_sets.kernel(), "candidate": result_sets.kernel("next", "6.13.0")}
    document = verdicts.document(
        [verdicts.cell(0, scenario="suite/start"), verdicts.cell(1, "same")],
        **{side: verdicts.side(one["name"], one["release"], kernel=one) for side, one in sides.items()},
    )
    (folder / "verdict.json").write_text(json.dumps(document))
    return folder
