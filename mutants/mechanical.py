"""`python -m mutants.mechanical`: mutants by rule, chosen by nobody, as patches into `mechanical/`.

Of what cells of the quick suite execute in TCP's core, the congestion controls and the queue disciplines,
tree-sitter finds every place at which a rule applies: a comparison, a constant, a call, a condition. A seeded
draw takes one of each function at most, from each group in turn; what the compiler refuses is left out.
"""

from __future__ import annotations

import difflib
import hashlib
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click
import tree_sitter_c
from tree_sitter import Language, Parser

from rushhour.errors import BuildError, KernelError

from .__main__ import the_base, the_index
from .groups import GROUPS, group_of
from .patches import FOLDER
from .relink import Relinker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from rushhour.coverage.index import Index

_SIGNS = {
    "boundary": {"<": "<=", "<=": "<", ">": ">=", ">=": ">"},
    "turned": {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "!=", "!=": "=="},
    "arithmetic": {
        "+": "-", "-": "+", "*": "/", "/": "*", "<<": ">>", ">>": "<<", "&&": "||", "||": "&&",
    },
    "assignment": {"+=": "-=", "-=": "+=", "<<=": ">>=", ">>=": "<<=", "|=": "&=", "&=": "|="},
}  # fmt: skip
"""Rules that put one sign in place of another."""
_CHOICES = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef")
# Conditions that only say what cannot be, locks, and what frees memory: no behaviour of a network.
_SILENT = re.compile(
    r"^(?:WARN|BUG|DEBUG|pr_|net_\w*_ratelimited|rcu_|lockdep|local_bh|spin_|sock_rps|trace_|NET_|TCP_(?:INC|ADD)"
    r"|(?:__)?\w*STATS\b|kfree|bh_|might_|prefetch|NL_SET|cond_resched|module_|static_branch)"
)


@dataclass(frozen=True)
class Mutation:
    """One change by rule: bytes `begin` to `end` of a file become `new`."""

    file: str
    function: str
    line: int
    rule: str
    begin: int
    end: int
    new: bytes

    @property
    def name(self) -> str:
        """File, line, rule, and where a line has several of a rule, the place: what a mutant is called."""
        return f"{Path(self.file).stem}-{self.line}-{self.rule}"


def mutations(file: str, text: bytes, lines: set[int]) -> Iterator[Mutation]:
    """Every place of a file's functions at which a rule applies, on these lines."""
    tree = Parser(Language(tree_sitter_c.language())).parse(text)
    for function in _visible(tree.root_node):
        body = function.child_by_field_name("body")
        if function.type != "function_definition" or body is None:
            continue
        name = _name(function)
        for node in _visible(body):
            line = node.start_point[0] + 1
            if line in lines:
                for rule, begin, end, new in _rules(node, text):
                    yield Mutation(file, name, line, rule, begin, end, new)


def _visible(node: Node) -> Iterator[Node]:
    """A node and all below it, in their order, but for what the compiler may not see as it stands there.

    That is what lies in a macro or an error of the parser, and what only asserts, counts or locks.
    """
    going = [node]
    while going:
        one = going.pop()
        if one.type in _CHOICES:  # which side the compiler sees is known from the lines that are executed
            going += [part for part in reversed(one.named_children) if part not in _asked(one)]
            continue
        if one.type.startswith("preproc") or one.type == "ERROR" or one.is_missing:
            continue
        if one.type == "call_expression" and _SILENT.match((one.text or b"").decode(errors="replace")):
            continue
        yield one
        going += reversed(one.children)


def _asked(choice: Node) -> tuple[Node | None, ...]:
    return choice.child_by_field_name("condition"), choice.child_by_field_name("name")


def _name(function: Node) -> str:
    declared = function.child_by_field_name("declarator")
    while declared is not None and declared.type != "identifier":
        declared = declared.child_by_field_name("declarator")
    return declared.text.decode() if declared is not None and declared.text else ""


def _rules(node: Node, text: bytes) -> Iterator[tuple[str, int, int, bytes]]:
    """What rules make of a node: the rule's name, and what is put where."""
    if node.type in ("binary_expression", "assignment_expression"):
        sign = node.child_by_field_name("operator")
        word = text[sign.start_byte : sign.end_byte].decode() if sign else ""
        for rule, words in _SIGNS.items():
            if sign and word in words:
                yield rule, sign.start_byte, sign.end_byte, words[word].encode()
    elif node.type == "number_literal":
        begin, end = node.start_byte, node.end_byte
        number = text[begin:end]
        yield "plus-one", begin, end, b"(" + number + b" + 1)"
        yield "minus-one", begin, end, b"(" + number + b" - 1)"
        if number.strip(b"0xXUuLl"):
            yield "doubled", begin, end, b"(" + number + b" * 2)"
    elif node.type == "if_statement" and (condition := node.child_by_field_name("condition")):
        inside = text[condition.start_byte : condition.end_byte]
        yield "negated", condition.start_byte, condition.end_byte, b"(!" + inside + b")"
    elif node.type == "expression_statement" and _dropped(node):
        yield "call-dropped", node.start_byte, node.end_byte, b";"


def _dropped(node: Node) -> bool:
    call = node.children[0]
    said = (call.text or b"").decode(errors="replace")
    return call.type == "call_expression" and not _SILENT.match(said)


def drawn(found: Sequence[Mutation], seed: int) -> list[Mutation]:
    """One group's mutations in the order in which they are tried: by chance, functions in turn, rules too."""
    chance = random.Random(seed)
    functions: dict[tuple[str, str], dict[str, list[Mutation]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        functions[one.file, one.function][one.rule].append(one)
    order = sorted(functions)
    chance.shuffle(order)
    turns = []
    for key in order:
        rules = sorted(functions[key])
        chance.shuffle(rules)
        turns.append([chance.choice(functions[key][rule]) for rule in rules])
    return [one for turn in zip_longest(*turns) for one in turn if one is not None]


def patch(one: Mutation, text: bytes) -> str:
    """A mutation as a patch with its header."""
    after = applied(one, text)
    old, new = (side.decode(errors="surrogateescape").splitlines(keepends=True) for side in (text, after))
    change = "".join(difflib.unified_diff(old, new, f"a/{one.file}", f"b/{one.file}"))
    words = (" ".join(part.decode(errors="replace").split()) for part in (text[one.begin : one.end], one.new))
    subject = f"{one.rule} in {one.function}(), line {one.line}: {' → '.join(words)}"
    return f"Subject: {subject}\nArea: {Path(one.file).stem}\n\n{change}"


def covered(index: Index, relinker: Relinker, group: str) -> Iterator[tuple[str, bytes, set[int]]]:
    """The files of a group, with the lines that any cell executes.

    Raises:
        KernelError: the index is of another text.
    """
    for name, one in sorted(index.files.items()):
        if group_of(name) == group:
            text = relinker.text(name).encode(errors="surrogateescape")
            if hashlib.sha256(text).hexdigest() != one.sha256:
                raise KernelError(f"the index of coverage is of another {name}")
            yield name, text, {int(line) for line in one.lines[index.executed[one.line_sets]]}


@click.command(help=__doc__)
@click.option("--count", type=click.IntRange(1), default=100, show_default=True, help="How many in all.")
@click.option("--seed", type=int, default=1, show_default=True, help="What the draw starts from.")
@click.option("--out", type=click.Path(path_type=Path), default=FOLDER / "mechanical", help="Where to.")
def main(count: int, seed: int, out: Path) -> None:
    """Write patches."""
    relinker, index = Relinker(the_base()), the_index()
    if index is None:
        raise click.ClickException("there is no index of coverage")
    lots = []
    texts: dict[str, bytes] = {}
    for group in GROUPS:
        found = []
        for name, text, lines in covered(index, relinker, group):
            texts[name] = text
            found += [*mutations(name, text, lines)]
        lots.append(drawn(found, seed))
        functions = {(one.file, one.function) for one in found}
        click.echo(f"{group}: {len(found)} places of {len(functions)} functions")
    order = [one for turn in zip_longest(*lots) for one in turn if one is not None]
    chosen: dict[str, Mutation] = {}
    for one in order:
        chosen.setdefault(one.name, one)
    out.mkdir(exist_ok=True)
    for one in islice(accepted([*chosen.values()], texts, relinker, count), count):
        (out / f"{one.name}.patch").write_text(patch(one, texts[one.file]), encoding="utf-8")


def accepted(
    chosen: Sequence[Mutation], texts: Mapping[str, bytes], relinker: Relinker, size: int
) -> Iterator[Mutation]:
    """Those that the compiler takes, in their order.

    Of a file many are tried at once, and singly where that fails.
    """
    for start in range(0, len(chosen), size):
        part = chosen[start : start + size]
        files = sorted({one.file for one in part})
        refused: set[str] = set()
        for file in files:
            mine = [one for one in part if one.file == file]
            if not _fits(mine, texts[file], relinker):
                refused |= {one.name for one in mine if not _fits([one], texts[file], relinker)}
        yield from (one for one in part if one.name not in refused)


def _fits(several: Sequence[Mutation], text: bytes, relinker: Relinker) -> bool:
    for one in sorted(several, key=lambda one: -one.begin):
        text = applied(one, text)
    try:
        relinker.accepts(several[0].file, text.decode(errors="surrogateescape"))
    except BuildError:
        return False
    return True


def applied(one: Mutation, text: bytes) -> bytes:
    """A file's text with a mutation."""
    return text[: one.begin] + one.new + text[one.end :]


if __name__ == "__main__":
    main()
