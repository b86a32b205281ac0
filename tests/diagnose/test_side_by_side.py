"""The table of both ends, and how values are written in it."""

from __future__ import annotations

import pytest
from servers import changed, server

from rushhour.diagnosis import shown
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.table import table
from rushhour.quantities import short
from rushhour.record.document import read
from rushhour.record.facts_file import Offload

FIXED = read(Offload, {"on": False, "fixed": True}, "facts")


def test_a_difference_is_marked_where_it_matters_and_says_why() -> None:
    bob = changed(
        server("bob"), **{"link__mtu": 9000, "cpu__load": [7.0, 5.0, 3.0], "sysctl__net.ipv4.tcp_sack": 0}
    )
    rows = {row.name: row for row in table(changed(server("alice")), bob)}
    assert (rows["MTU"].a, rows["MTU"].b, rows["MTU"].differs) == ("1500", "9000", True)
    assert rows["MTU"].note
    assert (rows["tcp_sack"].a, rows["tcp_sack"].b) == ("on", "off")
    assert not rows["load"].differs, "two machines never have the same load"
    assert [name for name, row in rows.items() if row.differs] == ["MTU", "tcp_sack"]


def test_equal_machines_differ_in_nothing_that_matters() -> None:
    rows = table(changed(server("alice")), changed(server("bob")), everything=True)
    assert [row.name for row in rows if row.differs] == []
    assert {row.name for row in rows} >= {
        "name",
        "speed",
        "tcp_rmem",
        "rx ring",
        "net.ipv4.tcp_adv_win_scale",
    }


def test_what_neither_end_knows_is_no_row_and_what_one_knows_is_no_difference() -> None:
    assert table(Facts("x", {}), Facts("y", {})) == []
    rows = table(changed(server("alice")), Facts("y", {}))
    assert rows
    assert all(row.b == "-" and not row.differs for row in rows)


def test_rows_fit_a_terminal() -> None:
    for row in table(changed(server("alice")), changed(server("bob")), everything=True):
        assert len(row.name) <= 36, row
        assert max(len(row.a), len(row.b)) <= 40, row


@pytest.mark.parametrize(
    ("show", "value", "words"),
    [
        (short.binary, 6 << 20, "6 MiB"), (short.binary, 212_992, "208 KiB"), (short.binary, 100, "100 B"),
        (shown.sizes, [4096, 131_072, 6_291_456], "4K 128K 6M"), (short.rate, 94_120_000, "94.1 Mbit/s"),
        (short.rate, 1e10, "10 Gbit/s"), (short.rate, 950, "950 bit/s"),
        (short.duration, 20_300_000, "20.3 ms"),
        (short.duration, 140, "140 ns"), (short.percent, 0.5, "50 %"), (short.percent, 0.0012, "0.12 %"),
        (shown.switch, FIXED, "off [fixed]"), (shown.limit, 0xFFFFFFFF, "none"),
        (shown.counted, {"powersave": 8}, "powersave"), (shown.ecn, 2, "if asked"),
        (shown.probing, 1, "after a black hole"),
        (shown.mbps, 2500, "2.5 Gbit/s"), (short.rate, 999.9e6, "1000 Mbit/s"),
    ],
)  # fmt: skip
def test_values_in_words(show, value, words) -> None:  # type: ignore[no-untyped-def]
    assert show(value) == words
