"""The line of every header and key, through all of TOML's ways to write them."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.spec.lines import find_line, key_lines

TEXT = '''\
title = "a # [b]"
description = """
[not.a.header]
x = 1
"""
sysctl.net.ipv4.tcp_sack = 0   # [c]
[topology] # common
"rate" = "1mbit"
drop = [
 1, # one ]
 2,
]
[[flow]]
cc = "x"

[[flow]]
'name' = "b"
  cc = \'\'\'y\'\'\'
[[link]]
between = ["a","b"]
[link.forward]
loss = 1
[[link]]
reverse = { loss = 2, rate = 3 }
[sweep]
topology.rate = [1,2]
"flow.b.start" = ["1s"]
[[sweep.together]]
cc = [
  "a"]
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 1),
        (("sysctl", "net.ipv4.tcp_sack"), 6),
        (("topology",), 7),
        (("topology", "rate"), 8),
        (("topology", "drop", 1), 9),
        (("flow", 0), 13),
        (("flow", 0, "cc"), 14),
        (("flow", 1, "name"), 17),
        (("flow", 1, "cc"), 18),
        (("link", 0, "forward"), 21),
        (("link", 0, "forward", "loss"), 22),
        (("link", 1, "reverse", "rate"), 24),
        (("sweep", "topology.rate"), 26),
        (("sweep", "flow.b.start"), 27),
        (("sweep", "together", 0, "cc"), 29),
    ],
)
def test_every_key_has_its_line(path: Any, line: Any) -> None:
    assert find_line(key_lines(TEXT), path) == line


def test_a_key_that_is_not_there_has_the_line_of_its_table() -> None:
    lines = key_lines(TEXT)
    assert find_line(lines, ("topology", "rtt")) == 7
    assert find_line(lines, ("flow", 1, "start")) == 16
    assert find_line(lines, ("link", 0, "reverse", "rate")) == 19


def test_a_missing_table_has_the_first_line() -> None:
    assert find_line(key_lines(TEXT), ("readings", "tcp_probe")) == 1


def test_arrays_of_inline_tables_over_several_lines() -> None:
    lines = key_lines('flow = [\n  {name="a", cc="x"},\n  {name="b",\n   cc="y"},\n]\n')
    assert [lines[key] for key in ("flow", "flow.0.cc", "flow.1", "flow.1.cc")] == [1, 2, 3, 4]


def test_windows_line_ends_are_counted_once() -> None:
    assert key_lines("a = 1\r\n[t]\r\nb = 2\r\n")["t.b"] == 3


WORDS = st.text("abcdefgh_-", min_size=1, max_size=5)
VALUES = st.sampled_from(
    ["1", '"#["', "'='", "[1, 2]", "[\n1,\n]", "{x = 1}", '"""\nq = 1\n"""', "[{a = 1},\n{b = 2}]"]
)


@given(st.dictionaries(WORDS, st.dictionaries(WORDS, VALUES, max_size=4), max_size=4))
def test_lines_agree_with_the_text_that_was_written(tables: dict[str, dict[str, str]]) -> None:
    text, expected, number = "", {}, 1
    for table, keys in tables.items():
        expected[table] = number
        text += f"[{table}]\n"
        number += 1
        for key, value in keys.items():
            expected[f"{table}.{key}"] = number
            text += f"{key} = {value}\n"
            number += 1 + value.count("\n")
    tomllib.loads(text)
    found = key_lines(text)
    assert {key: found[key] for key in expected} == expected


@given(st.text(max_size=300))
def test_any_text_is_scanned(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line in key_lines(text).values())
