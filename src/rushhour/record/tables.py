"""Raw tables: fixed-stride rows behind a JSON header, read without copying.

Takes `raw/*.rh` files, gives numpy arrays whose fields are the columns, and back. The format is described in
docs/record-format.md. A table is judged by what its header says and by nothing else: a wrong header is an
error, a torn last row is what a truncated file looks like and is left out.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.errors import RecordError
from rushhour.files.regular import open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAGIC = b"RUSHRAW1"
VERSION = 1
ALIGNMENT = 64

# A header names some dozen columns; what is longer than this was not written by an agent.
MAX_HEADER = 1 << 16
MAX_COLUMNS = 256
MAX_STRIDE = 1 << 16
MAPPED = 1 << 20
"""Bytes from which on a table is mapped: a smaller one is read, which costs less than its pages' faults."""

_TYPE = re.compile(r"^(?:<[iu][248]|<f[48]|[|<]?[iu]1|[|<]?[SV][1-9][0-9]{0,4})$")

_QUEUE = {
    "t_ns": "i", "end": "u", "handle": "u", "parent": "u", "bytes": "u", "packets": "u", "qlen": "u",
    "backlog": "u", "drops": "u", "requeues": "u", "overlimits": "u", "kind": "S", "xstats_len": "u",
    "xstats": "V",
}  # fmt: skip

# What a known table must have for the rest of the path to rely on it: column → kinds of numpy type.
_REQUIRED: Mapping[str, Mapping[str, str]] = {
    "tcp_probe": {
        "t_ns": "i", "flow": "u", "snd_nxt": "u", "snd_una": "u", "snd_cwnd": "u", "ssthresh": "u",
        "snd_wnd": "u", "srtt": "u", "rcv_wnd": "u", "data_len": "u",
    },
    "tcp_retransmit_skb": {"t_ns": "i", "flow": "u"},
    "tcp_cong_state_set": {"t_ns": "i", "flow": "u", "cong_state": "iu"},
    "inet_sk_error_report": {"t_ns": "i", "flow": "u", "error": "i"},
    "tcp_info": {
        "t_ns": "i", "flow": "u", "side": "u", "state": "u", "cc": "S", "rqueue": "u", "wqueue": "u",
        "info": "V", "skmem": "V", "ccinfo": "V",
    },
    "qdisc": _QUEUE,
    "class": _QUEUE,
    "interface": {
        "t_ns": "i", "end": "u", "rx_packets": "u", "tx_packets": "u", "rx_bytes": "u", "tx_bytes": "u",
        "rx_errors": "u", "tx_errors": "u", "rx_dropped": "u", "tx_dropped": "u",
    },
    "wire": {"t_ns": "i", "end": "u", "packets": "u", "lost": "u"},
    "changes": {"t_ns": "i", "done_ns": "i", "end": "u", "key": "S", "value": "f", "packets": "u"},
    "pauses": {"t_ns": "i", "end": "u", "stopped": "u"},
    "udp": {"flow": "u", "seq": "u", "tx_ns": "i", "rx_ns": "i"},
    "datagrams": {"t_ns": "i", "flow": "u", "side": "u", "packets": "u", "bytes": "u"},
    "ping": {"flow": "u", "seq": "u", "tx_ns": "i", "rx_ns": "i"},
    "transaction": {"flow": "u", "seq": "u", "start_ns": "i", "end_ns": "i"},
    "sojourn": {"t_ns": "i", "end": "u", "flow": "u", "side": "u", "sojourn_ns": "iu", "len": "u"},
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """One raw table.

    `rows` is a read-only structured array [n], of a large table a memory map; `rows["snd_cwnd"]` is a column.
    `torn` is the number of bytes after the last whole row.
    """

    name: str
    rows: np.ndarray[Any, np.dtype[np.void]]
    notes: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION
    torn: int = 0


def read_table(path: Path) -> Table:
    """Read a `.rh` file; of a large one the rows stay on disk until they are used.

    Raises:
        RecordError: the file cannot be read, is no raw table, is of a newer version or has a header that
            makes no sense.
    """
    header, offset, size = _read_header(path)
    name, version = header.get("table"), header.get("version")
    if not isinstance(name, str) or not isinstance(version, int):
        raise _bad(path, "its header names no table and version")
    if version > VERSION:
        raise RecordError(
            f"table {name!r} has version {version}; this program reads up to version {VERSION}",
            where=str(path),
            hint="read it with the newer rushhour that wrote it",
        )
    dtype = _dtype(path, header.get("columns"))
    _check_columns(path, name, dtype)
    notes = header.get("notes", {})
    count, torn = divmod(max(0, size - offset), dtype.itemsize)
    try:
        rows = _rows(path, dtype, offset, count)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return Table(name, rows, notes if isinstance(notes, dict) else {}, version, torn)


def came_about(table: Table) -> Table:
    """The table without retransmissions that failed: Linux 6.17 tells of them, too, by an error (`err`).

    Older kernels trace only what was sent, so that counts of both would differ by nothing that is on the way.
    """
    if table.name != "tcp_retransmit_skb" or "err" not in (table.rows.dtype.names or ()):
        return table
    return replace(table, rows=chosen(table.rows, table.rows["err"] == 0))


def _rows(path: Path, dtype: np.dtype[np.void], offset: int, count: int) -> np.ndarray[Any, Any]:
    if not count:
        return np.zeros(0, dtype)
    if count * dtype.itemsize > MAPPED:
        # As a plain array: the subclass costs some microseconds at every column.
        return np.memmap(path, dtype, "r", offset, (count,)).view(np.ndarray)
    rows = np.fromfile(path, dtype, count, offset=offset)
    if len(rows) < count:
        raise ValueError("it became shorter while it was read")
    rows.flags.writeable = False
    return rows


def write_table(
    path: Path, name: str, rows: np.ndarray[Any, Any], notes: Mapping[str, Any] | None = None
) -> None:
    """Write a structured array as a `.rh` file (packed, little-endian).

    Raises:
        RecordError: the file cannot be written.
    """
    columns = [[column, _type_text(rows.dtype[column])] for column in rows.dtype.names or ()]
    packed = np.dtype([(column, text) for column, text in columns])
    header = json.dumps({"table": name, "version": VERSION, "columns": columns, "notes": dict(notes or {})})
    head = MAGIC + len(header.encode()).to_bytes(4, "little") + header.encode()
    try:
        with path.open("wb") as file:
            file.write(head + bytes(-len(head) % ALIGNMENT))
            file.write(rows.astype(packed).tobytes())
    except OSError as error:
        raise RecordError(
            f"cannot write the table {name!r}: {error.strerror}",
            where=str(path),
            hint="check that the folder exists, is writable and has space left",
        ) from error


def _read_header(path: Path) -> tuple[dict[str, object], int, int]:
    # The header, the offset of the first row, the size of the file.
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            magic = file.read(len(MAGIC))
            length = int.from_bytes(file.read(4), "little")
            text = file.read(length) if length <= MAX_HEADER else b""
    except OSError as error:
        raise _unreadable(path, error) from error
    if magic[:7] == MAGIC[:7] and magic != MAGIC:
        raise RecordError(
            f"raw table format {magic!r} is not known; this program reads {MAGIC.decode()}",
            where=str(path),
            hint="read it with the newer rushhour that wrote it",
        )
    if magic != MAGIC:
        raise _bad(path, f"it begins with {magic!r}, not with {MAGIC!r}")
    if length > MAX_HEADER:
        raise _bad(path, f"its header claims {length} bytes; the most is {MAX_HEADER}")
    if len(text) < length:
        raise _bad(path, f"it ends within its header ({len(text)} of {length} bytes)")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(path, f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise _bad(path, "its header is not a JSON object")
    head = len(MAGIC) + 4 + length
    return header, head + -head % ALIGNMENT, size


def _dtype(path: Path, columns: object) -> np.dtype[np.void]:
    if not isinstance(columns, list) or not 0 < len(columns) <= MAX_COLUMNS:
        raise _bad(path, f"its header does not list 1 to {MAX_COLUMNS} columns")
    fields: list[tuple[str, str]] = []
    for column in columns:
        match column:
            case [str(name), str(text)] if name and _TYPE.match(text):
                fields.append((name, text.lstrip("|<") if text.lstrip("|<")[0] in "SV" else text))
            case _:
                raise _bad(
                    path, f"its header has the column {column!r}; expected a name and a type such as '<u4'"
                )
    if len({name for name, _ in fields}) < len(fields):
        raise _bad(path, "its header names a column twice")
    dtype = np.dtype(fields)
    if dtype.itemsize > MAX_STRIDE:
        raise _bad(path, f"its rows would have {dtype.itemsize} bytes; the most is {MAX_STRIDE}")
    return dtype


def _check_columns(path: Path, name: str, dtype: np.dtype[np.void]) -> None:
    for column, kinds in _REQUIRED.get(name, {}).items():
        if column not in (dtype.names or ()):
            raise _bad(path, f"a {name!r} table needs the column {column!r}, which is missing")
        if dtype[column].kind not in kinds:
            raise _bad(
                path, f"the column {column!r} of a {name!r} table cannot be of type {dtype[column].str!r}"
            )


def _type_text(dtype: np.dtype[np.generic]) -> str:
    # Big-endian columns are turned; single bytes, strings and raw bytes have no order.
    return dtype.newbyteorder("<").str


def _bad(path: Path, fault: str) -> RecordError:
    return RecordError(
        f"not a raw table of Rush Hour: {fault}",
        where=str(path),
        hint="the file is damaged or was changed; run the cell again with --fresh",
    )


def _unreadable(path: Path, error: Exception) -> RecordError:
    reason = getattr(error, "strerror", None) or str(error)
    return RecordError(
        f"cannot read the table: {reason}", where=str(path), hint="check the path and its permissions"
    )


def chosen(rows: np.ndarray[Any, Any], which: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The rows of which `which` (truth values [n]) is true: themselves where it is of all."""
    return rows if which.all() else _taken(rows, which)


def _taken(rows: np.ndarray[Any, Any], which: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # As opaque bytes: numpy copies rows with fields ten times slower, field by field.
    taken: np.ndarray[Any, Any] = rows.view(f"V{rows.dtype.itemsize}")[which].view(rows.dtype)
    return taken


def grouped(
    rows: np.ndarray[Any, Any], values: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], dict[int, slice]]:
    """The rows sorted by whole numbers [n], one for each row, and where those of each number are."""
    if not len(rows):
        return rows, {}
    values = np.ascontiguousarray(values)
    if (values == values[0]).all():
        return rows, {int(values[0]): slice(0, len(rows))}
    if values.max() < 1 << 16:
        # 16-bit keys sort by radix, which is ten times as fast.
        values = values.astype(np.uint16)
    order = np.argsort(values, kind="stable")
    keys, starts = np.unique(values[order], return_index=True)
    ordered = _taken(rows, order)
    stops = [*starts[1:].tolist(), len(rows)]
    return ordered, {
        key: slice(start, stop)
        for key, start, stop in zip(keys.tolist(), starts.tolist(), stops, strict=True)
    }
