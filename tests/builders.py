"""Synthetic records with known contents, in the true format: what tests measure when there is no kernel."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from rushhour.files.regular import checksum
from rushhour.record import decode
from rushhour.record.record import Record, RecordWriter
from rushhour.record.seal import MANIFEST, sealed, write_json
from rushhour.record.sound import Seal
from rushhour.record.tables import write_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND = 1_000_000_000

TCP_PROBE = np.dtype(
    [
        ("t_ns", "<i8"), ("flow", "<u4"), ("sport", "<u2"), ("dport", "<u2"), ("family", "<u2"),
        ("mark", "<u4"), ("data_len", "<u2"), ("snd_nxt", "<u4"), ("snd_una", "<u4"),
        ("snd_cwnd", "<u4"), ("ssthresh", "<u4"),
        ("snd_wnd", "<u4"), ("srtt", "<u4"), ("rcv_wnd", "<u4"), ("sock_cookie", "<u8"),
    ]
)  # fmt: skip
TCP_RETRANSMIT = np.dtype([("t_ns", "<i8"), ("flow", "<u4"), ("state", "<i4")])
CONG_STATE = np.dtype([("t_ns", "<i8"), ("flow", "<u4"), ("cong_state", "u1")])
ERROR_REPORT = np.dtype([("t_ns", "<i8"), ("flow", "<u4"), ("error", "<i4")])
TCP_INFO = np.dtype(
    [
        ("t_ns", "<i8"), ("flow", "<u4"), ("side", "u1"), ("state", "u1"), ("cc", "S16"), ("rqueue", "<u4"),
        ("wqueue", "<u4"), ("info", "V248"), ("skmem", "V36"), ("ccinfo", "V20"),
    ]
)  # fmt: skip
QDISC = np.dtype(
    [
        ("t_ns", "<i8"), ("end", "<u4"), ("handle", "<u4"), ("parent", "<u4"), ("bytes", "<u8"),
        ("packets", "<u8"), ("qlen", "<u4"), ("backlog", "<u4"), ("drops", "<u4"), ("requeues", "<u4"),
        ("overlimits", "<u4"), ("kind", "S16"), ("xstats_len", "<u4"), ("xstats", "V128"),
    ]
)  # fmt: skip
INTERFACE = np.dtype(
    [("t_ns", "<i8"), ("end", "<u4")]
    + [(f"{way}_{what}", "<u8") for what in ("packets", "bytes", "errors", "dropped") for way in ("rx", "tx")]
)
WIRE = np.dtype([("t_ns", "<i8"), ("end", "<u4"), ("packets", "<u8"), ("lost", "<u8")])
PAUSES = np.dtype([("t_ns", "<i8"), ("end", "<u4"), ("stopped", "<u4")])
UDP = np.dtype([("flow", "<u4"), ("seq", "<u4"), ("tx_ns", "<i8"), ("rx_ns", "<i8")])
PING = UDP
TRANSACTION = np.dtype([("flow", "<u4"), ("seq", "<u4"), ("start_ns", "<i8"), ("end_ns", "<i8")])
SOJOURN = np.dtype(
    [("t_ns", "<i8"), ("end", "<u4"), ("flow", "<u4"), ("side", "u1"), ("sojourn_ns", "<u8"), ("len", "<u4")]
)

ROOT = 0xFFFFFFFF


def reseal(folder: Path) -> None:
    """Let the manifest of a record fit its files again, as a hand that meant it would: past the checksums."""
    path = folder / MANIFEST
    manifest = json.loads(path.read_text())
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and file != path)
    if "files" in manifest:
        manifest["files"] = {str(file.relative_to(folder)): checksum(file) for file in files}
    path.write_text(json.dumps(sealed(manifest)))


@contextmanager
def unsealed() -> Iterator[None]:
    """Records are read without regard to checksums: what a reader makes of damage that gets past them."""
    with (
        patch.object(Seal, "_check", lambda *_: None),
        patch.object(Seal, "_refuse_others", lambda *_: None),
        patch("rushhour.record.record.check_manifest", lambda *_: None),
        patch("rushhour.files.remembered.recall", lambda *_: None),
        patch("rushhour.files.remembered.keep", lambda *_: None),
    ):
        yield


def rows(dtype: Any, **columns: Any) -> Any:
    """Rows of a table from columns (scalars are repeated); what is not named is zero."""
    count = max((len(value) for value in columns.values() if np.ndim(value)), default=1)
    made = np.zeros(count, dtype)
    for name, value in columns.items():
        made[name] = value
    return made


def tcp_info(
    t_ns: Any, flow: int = 0, *, side: int = 0, cc: bytes = b"cubic", length: int = 248, **fields: Any
) -> Any:
    """Rows of the `tcp_info` table; `fields` go into the kernel's structure of `length` bytes."""
    names = TCP_INFO.names or ()
    dtype = np.dtype([(name, f"V{length}" if name == "info" else TCP_INFO[name]) for name in names])
    made = rows(dtype, t_ns=t_ns, flow=flow, side=side, state=1, cc=cc)
    info = np.zeros(len(made), decode.layout(decode.TCP_INFO, length))
    for name, value in fields.items():
        info[name] = value
    made["info"] = info.view(f"V{length}")
    return made


def qdisc(
    t_ns: Any,
    *,
    end: int = 2,
    kind: bytes = b"tbf",
    handle: int = 0x10000,
    parent: int = ROOT,
    xstats: bytes = b"",
    **columns: Any,
) -> Any:
    """Rows of the `qdisc` table."""
    made = rows(QDISC, t_ns=t_ns, end=end, handle=handle, parent=parent, kind=kind, **columns)
    made["xstats_len"] = len(xstats)
    made["xstats"] = np.frombuffer(xstats.ljust(128, b"\0"), "V128")[0]
    return made


def flow(number: int = 0, name: str = "long", kind: str = "tcp", **more: Any) -> dict[str, Any]:
    """A flow of the context across ends 0, 2, 4 of a 100 Mbit/s dumbbell with a base RTT of 20 ms."""
    return {
        "id": number, "name": name, "group": name, "kind": kind, "start_ns": 0, "stop_ns": 10 * SECOND,
        "ends": [0, 2, 4], "reverse_ends": [5, 3, 1], "base_rtt_ns": 20_000_000, "bottleneck_end": 2,
        "bottleneck_bps": 100_000_000, "payload_per_packet": 1448, "frame_bytes": 1514, **more,
    }  # fmt: skip


def end(number: int = 2, label: str = "left → right", **more: Any) -> dict[str, Any]:
    """A link end of the context: the bottleneck with a queue of 500 kB."""
    return {
        "end": number, "label": label, "node": "left", "dev": "right", "rate_bps": 100_000_000,
        "buffer_bytes": 500_000, "buffer_packets": None, "delay_ns": 0, "jitter_ns": 0, "loss": 0.0,
        "queue": "fifo", "role": "queue", **more,
    }  # fmt: skip


def outcome(number: int = 0, **more: Any) -> dict[str, Any]:
    """What `result.json` says of a flow: 100 MB in 10 s."""
    return {
        "id": number, "connected_ns": 0, "sender_done_ns": 10 * SECOND, "receiver_done_ns": 10 * SECOND,
        "bytes_sent": 100_000_000, "bytes_received": 100_000_000, "packets_sent": None,
        "packets_received": None, "error": None, **more,
    }  # fmt: skip


def found(record: Record, metric: str) -> dict[str, float | None]:
    """The values of one metric by scope."""
    return {value.scope: value.value for value in record.metrics() if value.metric == metric}


def record(
    folder: Path,
    tables: Any = None,
    *,
    flows: Any = None,
    ends: Any = None,
    outcomes: Any = None,
    planned: Any = None,
    duration_ns: int = 10 * SECOND,
    warmup_ns: int = 0,
    sample_ns: int = 100_000_000,
    result: Any = None,
    plan: Any = None,
    manifest: Any = None,
) -> Record:
    """Write and open a record with these tables (name → rows); everything has a sane default."""
    flows = [flow()] if flows is None else flows
    ends = [end()] if ends is None else ends
    outcomes = [outcome(entry["id"]) for entry in flows] if outcomes is None else outcomes
    context = {"flows": flows, "ends": ends, "duration_ns": duration_ns, "warmup_ns": warmup_ns}
    plan_flows = [{"id": entry["id"], "name": entry["name"], "kind": entry["kind"]} for entry in flows]
    for entry in plan_flows:
        entry.update((planned or {}).get(entry["id"], {}))
    planned_run = {
        "format": "rushhour-plan/1", "seed": 1, "duration_ns": duration_ns, "sample_ns": sample_ns,
        "flows": plan_flows, **(plan or {}),
    }  # fmt: skip
    empty: dict[str, Any] = {"pings": [], "trains": [], "qdiscs": []}
    answer = {
        "format": "rushhour-result/1", "ok": True, "error": None, "kernel": {"release": "6.12.1", "hz": 1000},
        "flows": outcomes, "calibration": empty, "lost_events": {}, "warnings": [], **(result or {}),
    }  # fmt: skip
    with RecordWriter(folder) as writer:
        for name, content in (tables or {}).items():
            write_table(writer.raw / f"{name}.rh", name, content)
        write_json(writer.folder / "plan.json", planned_run)
        write_json(writer.folder / "result.json", answer)
        (writer.folder / "console.log").write_text("Linux version 6.12.1\n")
        about = {
            "key": folder.name, "scenario": {"name": "synthetic"},
            "cell": {"index": 0, "factors": {"cc": "cubic"}}, "repetition": 0, "seed": 1,
            "kernel": {"name": "k", "release": "6.12.1", "hz": 1000}, "lab": "uml", "context": context,
            "valid": True, "invalid_reasons": [], "warnings": [], **(manifest or {}),
        }  # fmt: skip
        return Record.open(writer.seal(about))
