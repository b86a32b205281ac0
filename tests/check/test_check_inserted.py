"""Lines that come into a function: whether control came to their place, as their neighbours tell."""

import hashlib

import numpy as np
import pytest

from rushhour.check.change import Change, FileChange
from rushhour.check.inserted import Inserted, inserted, is_unreached
from rushhour.check.reach import reach
from rushhour.check.telling import commit as sentence
from rushhour.check.telling import differing
from rushhour.coverage.decoded import Function
from rushhour.coverage.index import CellRef, FileIndex, Index

# Lines that nobody executes have an x.
BASE = """\
int ack(int a)
{
	int b = a;

	if (a < 0) {
		drop(a);	/* x */

		count(a);	/* x */
	} else if (a > 9) {
		/* Large. */
		large(a);
		if (b)
			again(a);	/* x */
	}
	switch (b) {
	case 1:
		one(a);		/* x */
		break;		/* x */
	case 2:
		two(a);
	}
	return b;
out:
	b = 1;		/* x */
	return b;	/* x */
}
"""
LINES = BASE.split("\n")
CODE = [1, 3, 5, 6, 8, 9, 11, 12, 13, 15, 17, 18, 20, 22, 24, 25]
ACK = (Function("ack", 1, 26),)


def executed(line: int) -> bool:
    return "x */" not in LINES[line - 1]


@pytest.mark.parametrize(
    ("after", "text", "unreached"),
    [
        (5, "\t\tnew(a);", True),  # the first of its block
        (6, "\t\tnew(a);", True),
        (7, "\t\t/* Why. */\n\t\tif (a)\n\t\t\tnew(a);", True),
        (8, "\t\tnew(a);", True),  # the last
        (8, "\t} else if (a == 7) {\n\t\tnew(a);", False),
        (9, "\t\tnew(a);", False),
        (3, "\tnew(a);", False),
        (13, "\t\tnew(a);", False),  # behind a statement without braces
        (13, "\t\t\tnew(a);", True),
        (14, "\tnew(a);", False),
        (16, "\t\tnew(a);", True),
        (18, "\tcase 3:\n\t\tnew(a);", False),
        (19, "\t\tnew(a);", False),  # a case of its own, though one stands before
        (22, "\tnew(a);", False),  # a label stands behind
        (23, "\tnew(a);", True),
        (25, "\tnew(a);", True),
        (0, "int new(int a)\n{\n}\n", False),
        (6, "\t\t/* A comment alone. */", False),
    ],
)
def test_whether_control_came_to_a_place(after: int, text: str, unreached: bool) -> None:
    lines = text.split("\n")
    one = Inserted(after, tuple(range(after + 1, after + 1 + len(lines))), tuple(lines))
    assert is_unreached(one, LINES, CODE, ACK, executed) is unreached


def test_lines_that_take_the_place_of_others_are_none() -> None:
    text = "a\nnew\nb\nother c\nd\nmore\nlast\n"  # of a, b, c, d, e; e is gone and two come
    assert inserted([3, 5], [2, 4, 6, 7], text) == (Inserted(1, (2,), ("new",)),)
    assert inserted([], [], "a\n") == ()
    assert inserted([2, 3], [], "a\nd\n") == ()
    assert inserted([], [1, 4, 5], "n\na\nb\nx\ny\nc\n") == (
        Inserted(0, (1,), ("n",)), Inserted(2, (4, 5), ("x", "y")),
    )  # fmt: skip


def judged(*runs: Inserted, old: tuple[int, ...] = ()) -> tuple[int, bool, str]:
    """Cells that come first, whether all is known, and what is said if all are equal."""
    cells = (CellRef("suite/a", 0, {}, 1),)
    sets = np.array([[0], [1]], dtype=np.bool_)
    one = FileIndex(
        "net/ipv4/tcp_x.c", hashlib.sha256(BASE.encode()).hexdigest(), np.array(CODE),
        np.array([int(executed(line)) for line in CODE]), np.array([], np.int64), np.array([], np.int64),
        ACK, np.array([1]),
    )  # fmt: skip
    index = Index({}, cells, {one.name: one}, sets)
    new = tuple(line for run in runs for line in run.lines)
    change = Change("a", "b", (FileChange(one.name, "changed", old, new, ("ack",), inserted=runs),))
    found = reach(change, index, lambda _: BASE)
    none = not found.first and found.known
    verdict = {"verdict": "unexercised" if none else "same", "differ": 0, "cells": 1}
    return len(found.first), found.known, sentence({**verdict, "change": differing(change, found)})


APART, AMONG = Inserted(6, (7,), ("\t\tnew(a);",)), Inserted(3, (4,), ("\tnew(a);",))


def test_where_nobody_comes_to_what_comes_in_nothing_is_exercised() -> None:
    said = "Nothing here was exercised: no cell executes net/ipv4/tcp_x.c:7."
    assert judged(APART) == (0, True, said)
    assert judged(APART, old=(17,)) == (0, True, said)


def test_where_somebody_may_come_to_a_part_the_rest_is_named() -> None:
    said = "Same: the 1 cell is equal to the byte."
    assert judged(AMONG) == (1, True, said)
    assert judged(AMONG, APART) == (1, True, f"{said} No cell comes to the new net/ipv4/tcp_x.c:7.")
    # A line that nobody executes goes, another comes elsewhere.
    gone = f"{said} No cell executes net/ipv4/tcp_x.c:17 of the base."
    assert judged(AMONG, old=(17,)) == (1, True, gone)
