"""Mutants by rule: where rules apply, and where they do not; the draw; the patch."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from mutants import patches
from mutants.__main__ import the_base, the_index
from mutants.groups import GROUPS, group_of
from mutants.mechanical import Mutation, accepted, applied, covered, drawn, mutations, patch
from mutants.relink import Relinker
from rushhour.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path

TEXT = b"""\
#define LIMIT(x) ((x) > 7)
static int other = 3;

static int grow(struct sock *sk, int n)
{
	/* if (n > 9) */
#if 0
	if (n > 8)
		n += 2;
#endif
	if (n >= 6)
		drop(sk);
	WARN_ON(n > 5);
	n += 4;
	return LIMIT(n) ? a + b : a == b;
}
"""
EVERY = set(range(1, 30))


def _made() -> dict[tuple[int, str], bytes]:
    found = mutations("net/ipv4/tcp_x.c", TEXT, EVERY - {8, 9})
    return {(one.line, one.rule): applied(one, TEXT).splitlines()[one.line - 1].strip() for one in found}


def test_rules_change_what_they_say() -> None:
    assert _made() == {
        (11, "boundary"): b"if (n > 6)",
        (11, "turned"): b"if (n <= 6)",
        (11, "negated"): b"if (!(n >= 6))",
        (11, "plus-one"): b"if (n >= (6 + 1))",
        (11, "minus-one"): b"if (n >= (6 - 1))",
        (11, "doubled"): b"if (n >= (6 * 2))",
        (12, "call-dropped"): b";",
        (14, "assignment"): b"n -= 4;",
        (14, "plus-one"): b"n += (4 + 1);",
        (14, "minus-one"): b"n += (4 - 1);",
        (14, "doubled"): b"n += (4 * 2);",
        (15, "arithmetic"): b"return LIMIT(n) ? a - b : a == b;",
        (15, "turned"): b"return LIMIT(n) ? a + b : a != b;",
    }


def test_nothing_is_changed_that_the_compiler_does_not_see_or_no_cell_executes() -> None:
    lines = {line for line, _ in _made()}
    assert not lines & {1, 2, 6, 8, 9, 13}
    assert [*mutations("net/ipv4/tcp_x.c", TEXT, {1, 2, 6})] == []
    assert {one.line for one in mutations("net/ipv4/tcp_x.c", TEXT, {14})} == {14}


def test_the_draw_is_the_same_for_one_seed_and_takes_each_function_in_turn() -> None:
    found = [
        Mutation("f.c", function, line, rule, line, line + 1, b"x")
        for function in ("one", "two", "three") for line in range(5) for rule in ("turned", "doubled")
    ]  # fmt: skip
    order = drawn(found, 1)
    assert drawn(found, 1) == order
    assert drawn(found, 2) != order
    assert {one.function for one in order[:3]} == {"one", "two", "three"}


def test_a_patch_applies_and_says_what_it_changes(tmp_path: Path) -> None:
    one = next(made for made in mutations("net/ipv4/tcp_x.c", TEXT, {11}) if made.rule == "turned")
    place = tmp_path / f"{one.name}.patch"
    place.write_text(patch(one, TEXT))
    read = patches.read(place, "mechanical")
    assert read.name == "tcp_x-11-turned"
    assert read.subject == "turned in grow(), line 11: >= → <="
    assert (read.area, read.files) == ("tcp_x", ["net/ipv4/tcp_x.c"])
    source = tmp_path / "net/ipv4/tcp_x.c"
    source.parent.mkdir(parents=True)
    source.write_bytes(TEXT)
    subprocess.run(
        ["git", "apply", str(place)],
        cwd=tmp_path,
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "PATH": "/usr/bin:/bin"},
    )
    assert source.read_bytes() == applied(one, TEXT)


def test_the_set_is_of_all_groups_and_of_one_function_each() -> None:
    made = [mutant for mutant in patches.load() if mutant.kind == "mechanical"]
    assert len(made) >= 100
    shares = {group: sum(group_of(mutant.files[0]) == group for mutant in made) for group in GROUPS}
    assert sum(shares.values()) == len(made)
    assert all(share >= 30 for share in shares.values()), shares


@pytest.mark.virtual
def test_live_the_compiler_is_asked_and_the_lines_are_covered() -> None:
    relinker, index = Relinker(the_base()), the_index()
    assert index is not None
    name, text, lines = next(
        one for one in covered(index, relinker, "congestion controls") if "cubic" in one[0]
    )
    found = [one for one in mutations(name, text, lines) if one.function == "bictcp_clock_us"] or [
        *mutations(name, text, lines)
    ][:1]
    broken = Mutation(name, "bictcp_init", found[0].line, "broken", found[0].begin, found[0].end, b"}{")
    assert [*accepted([broken, found[0]], {name: text}, relinker, 2)] == [found[0]]
    begin = text.decode().splitlines().index("__bpf_kfunc static void cubictcp_init(struct sock *sk)") + 1
    assert begin not in lines or index.files[name] is not None


@pytest.mark.virtual
@pytest.mark.parametrize("header", ["include/uapi/linux/tcp_metrics.h", "include/net/tcp_states.h"])
def test_live_a_header_is_read_wherever_it_lies(header: str, tmp_path: Path) -> None:
    """Of the objects that read it, all see its text: here one that no compiler takes."""
    relinker = Relinker(the_base())
    text = f"#error a mutant's text\n{relinker.text(header)}"
    with pytest.raises(BuildError, match="a mutant's text"):
        relinker.link({header: text}, tmp_path)
