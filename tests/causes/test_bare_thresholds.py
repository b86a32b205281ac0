"""No rule decides by a number of its own: each threshold has a name, a meaning and a source in one table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rushhour.causes.thresholds import thresholds

ROOMS = Path(__file__).parents[2] / "src" / "rushhour"
JUDGE = [
    *sorted(ROOMS.glob("causes/*_rules.py")),
    *sorted(ROOMS.glob("diagnosis/rules/*.py")),
    *(ROOMS / "diagnosis" / f"{name}.py" for name in ("bottleneck", "connections", "losses", "measured")),
    *(ROOMS / "diagnosis" / f"{name}.py" for name in ("diagnosis", "flow", "origins", "possible")),
    *sorted(ROOMS.glob("explain/*.py")),
    ROOMS / "tune" / "rules.py",
]
"""The modules that judge evidence."""
NO_THRESHOLDS = {
    "MAIN_TABLE": "the number of a routing table",
    "REFUSES": "a value of tcp_ecn",
    "LEAST_TIMEOUT": "what the kernel begins with",
    "_CA_LOSS": "a state of the kernel's TCP",
    "_TAG": "the size of a VLAN tag",
    "PAGE": "a unit",
    "FRAME": "a unit: the bytes of a full packet",
    "INITIAL_SEGMENTS": "how TCP begins, in the models of rates",
    "USUAL_MTU": "the size that cables have, from which another is told",
    "JUMBO_MTU": "the size that is proposed",
    "MANAGED_TRIP_S": "where the model of a managed queue ends",
    "HELD": "where a model of rates ends",
    "MOST": "where a model of rates ends",
    "FEW": "where a model of rates ends",
    "SETTLED_TRIPS": "where a model of rates ends",
    "HEAVY_LOSS": "where a model of rates ends",
    "DIRECTIONS": "the two directions",
    "RMEM": "the name of a setting",
    "INTERVAL_S": "where a model of rates ends",
}
"""Numbers with a name that are compared and decide nothing of their own, with the reason."""


def compared(tree: ast.AST) -> list[tuple[int, ast.expr]]:
    """What is compared with something by size or for equality, lengths of lists left out."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and not any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            sides = [node.left, *node.comparators]
            if not any(isinstance(one, ast.Call) and ast.unparse(one.func) == "len" for one in sides):
                found += [(node.lineno, one) for one in sides]
    return found


def parts(side: ast.expr) -> list[ast.AST]:
    """The parts of what is compared, without the places in lists."""
    places = [
        id(one) for node in ast.walk(side) if isinstance(node, ast.Subscript) for one in ast.walk(node.slice)
    ]
    return [node for node in ast.walk(side) if id(node) not in places]


def bare(text: str) -> list[str]:
    """Numbers other than 0 and 1 that stand in a comparison."""
    return [
        f"{line}: {node.value}"
        for line, side in compared(ast.parse(text))
        for node in parts(side)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value not in (0, 1)
    ]


def named(text: str) -> set[str]:
    """Names in capitals that stand in a comparison."""
    return {
        node.id
        for _, side in compared(ast.parse(text))
        for node in parts(side)
        if isinstance(node, ast.Name) and node.id.isupper()
    }


@pytest.mark.parametrize("path", JUDGE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_compared_with_evidence_is_a_threshold_of_the_table(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert bare(text) == []
    assert named(text) <= {*thresholds(), *NO_THRESHOLDS}


def test_a_number_that_is_no_threshold_is_still_compared() -> None:
    used = set().union(*(named(path.read_text(encoding="utf-8")) for path in JUDGE))
    assert {*NO_THRESHOLDS} <= used


@pytest.mark.parametrize(
    "text",
    [
        "m.loss >= 0.05",
        "0.05 <= m.loss",
        "busy > 0.8 * count",
        "lost <= max(2, SOME * sent)",
        "rate > line / 4",
        "x if least == 10 else y",
    ],
)
def test_a_bare_threshold_is_found(text: str) -> None:
    assert len(bare(text)) == 1


@pytest.mark.parametrize(
    "text", ["len(flows) < 2", "values[2] > most", "count >= 1", "m.loss > 0", "how in {1, 2}"]
)
def test_a_count_a_place_and_a_state_are_no_thresholds(text: str) -> None:
    assert bare(text) == []
