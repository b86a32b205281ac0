"""Raw tables: written and read back, and every way in which a file can be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from builders import UDP, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from rushhour.errors import RecordError
from rushhour.record import tables
from rushhour.record.tables import MAGIC, MAX_HEADER, read_table, write_table

if TYPE_CHECKING:
    from pathlib import Path

GOLDEN_HEADER = (
    b'{"table": "t", "version": 1, "columns": [["a", "<u4"], ["b", "|V3"]], "notes": {"hz": 1000}}'
)


def golden(header: bytes = GOLDEN_HEADER, body: bytes = b"\1\0\0\0xyz\2\0\0\0uvw") -> bytes:
    head = MAGIC + len(header).to_bytes(4, "little") + header
    return head + bytes(-len(head) % 64) + body


def read(folder: Path, content: bytes) -> object:
    path = folder / "t.rh"
    path.write_bytes(content)
    return read_table(path)


def test_golden_bytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.rh"
    path.write_bytes(golden())

    table = read_table(path)

    assert (table.name, table.version, table.notes, table.torn) == ("t", 1, {"hz": 1000}, 0)
    assert table.rows["a"].tolist() == [1, 2]
    assert [bytes(value) for value in table.rows["b"]] == [b"xyz", b"uvw"]


def test_a_small_table_is_read_and_a_large_one_mapped_and_both_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.rh"
    path.write_bytes(golden())
    small = read_table(path).rows
    monkeypatch.setattr(tables, "MAPPED", 0)
    large = read_table(path).rows
    assert small.tobytes() == large.tobytes()
    assert small.dtype == large.dtype
    assert small.base is None
    assert isinstance(large.base, np.memmap)
    assert not small.flags.writeable
    assert not large.flags.writeable


@pytest.mark.parametrize("which", [[True, True, True], [False, True, False], [False, False, False]])
def test_rows_are_chosen_whole(which: list[bool]) -> None:
    made = rows(UDP, flow=[1, 2, 3], seq=[0, 7, 2**32 - 1], tx_ns=[-5, 5, 6], rx_ns=[7, 2**62, 8])
    assert tables.chosen(made, np.array(which)).tolist() == made[np.array(which)].tolist()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = rows(UDP, flow=[1, 2], seq=[0, 2**32 - 1], tx_ns=[-5, 5], rx_ns=[7, 2**62])

    write_table(tmp_path / "udp.rh", "udp", made, {"lost": 0})

    table = read_table(tmp_path / "udp.rh")
    assert np.array_equal(table.rows, made)
    assert table.notes == {"lost": 0}


def test_a_big_endian_unpacked_array_is_written_in_the_format(tmp_path: Path) -> None:
    made = np.zeros(2, np.dtype([("a", ">u2"), ("b", ">i8")], align=True))
    made["a"], made["b"] = [1, 2], [-1, -2]

    write_table(tmp_path / "t.rh", "t", made)

    back = read_table(tmp_path / "t.rh").rows
    assert back.dtype == np.dtype([("a", "<u2"), ("b", "<i8")])
    assert back["b"].tolist() == [-1, -2]


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    write_table(tmp_path / "udp.rh", "udp", np.zeros(0, UDP))

    assert len(read_table(tmp_path / "udp.rh").rows) == 0


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_torn_last_row_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "t.rh"
    path.write_bytes(golden()[:-cut])

    table = read_table(path)

    assert table.rows["a"].tolist() == [1]
    assert table.torn == 7 - cut


def test_a_file_that_ends_in_the_padding_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.rh"
    path.write_bytes(golden()[: 12 + len(GOLDEN_HEADER)])

    assert len(read_table(path).rows) == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "begins with b''"),
        (b"PAR1" + bytes(100), "begins with b'PAR1"),
        (b"RUSHRAW2" + golden()[8:], "b'RUSHRAW2' is not known"),
        (MAGIC + (MAX_HEADER + 1).to_bytes(4, "little") + bytes(80000), "claims 65537 bytes"),
        (MAGIC + b"\xff\xff\xff\xff", "claims 4294967295 bytes"),
        (golden()[:40], "ends within its header"),
        (golden(b"\xff{}"), "not JSON"),
        (golden(b"[" * 30000), "not JSON"),
        (golden(b"[]"), "not a JSON object"),
        (golden(b"{}"), "names no table and version"),
        (golden(GOLDEN_HEADER.replace(b": 1,", b": 2,")), "version 2; this program reads up to version 1"),
        (golden(GOLDEN_HEADER.replace(b'"<u4"', b'"<u3"')), "column ['a', '<u3']"),
        (golden(GOLDEN_HEADER.replace(b'"<u4"', b'"O"')), "column ['a', 'O']"),
        (golden(GOLDEN_HEADER.replace(b'"|V3"', b'"|V99999"')), "99999 bytes".replace("99999", "100003")),
        (golden(GOLDEN_HEADER.replace(b'["b"', b'["a"')), "names a column twice"),
        (golden(b'{"table": "t", "version": 1, "columns": []}'), "list 1 to 256 columns"),
        (golden(GOLDEN_HEADER.replace(b'"t"', b'"udp"')), "needs the column 'flow'"),
        (
            golden(b'{"table": "wire", "version": 1, "columns": [["t_ns", "<u8"]]}'),
            "column 't_ns' of a 'wire' table cannot be of type",
        ),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(RecordError) as caught:
        read(tmp_path, content)

    assert says in str(caught.value)
    assert "t.rh" in (caught.value.where or "")
    assert caught.value.hint


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.rh", tmp_path):
        with pytest.raises(RecordError, match="cannot read"):
            read_table(path)


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot write the table 'udp'"):
        write_table(tmp_path / "none" / "udp.rh", "udp", np.zeros(1, UDP))


@settings(max_examples=300, deadline=None)
@given(content=st.binary(max_size=400), keep=st.integers(0, 200))
def test_no_bytes_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, keep: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.rh"
    path.write_bytes(golden()[:keep] + content)
    try:
        table = read_table(path)
    except RecordError:
        return
    assert len(table.rows) * table.rows.dtype.itemsize + table.torn <= path.stat().st_size


@settings(max_examples=300, deadline=None)
@given(where=st.integers(0, len(golden()) - 1), bit=st.integers(0, 7))
def test_no_flipped_bit_crashes_the_reader(
    tmp_path_factory: pytest.TempPathFactory, where: int, bit: int
) -> None:
    content = bytearray(golden())
    content[where] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "flip.rh"
    path.write_bytes(content)
    try:
        table = read_table(path)
    except RecordError:
        return
    assert len(table.rows) <= len(content)
