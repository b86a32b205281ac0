"""Files and functions stay small enough to be read: one that grows is split by stage."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_FILE = 400
MAX_FUNCTION = 40
"""Lines of a body, a screen. Clippy counts those of the agent (agent/clippy.toml)."""
KINDS = ("src/**/*.py", "src/**/*.js", "agent/src/**/*.rs")
PLAIN_LISTS = {
    "src/rushhour/explain/evidence.py": "evidence",
    "src/rushhour/report/html.py": "render",
}
"""Functions that are one call with a name and a value on each line."""
FOREIGN = "/assets/uplot/"


def long_functions(text: str) -> list[tuple[str, int]]:
    """Names and lines of the functions that are too long."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            begin = first.end_lineno if ast.get_docstring(node) else first.lineno - 1
            lines = (node.end_lineno or 0) - (begin or 0)
            found += [(node.name, lines)] if lines > MAX_FUNCTION else []
    return found


def test_no_file_is_longer_than_one_reads() -> None:
    files = {path for kind in KINDS for path in ROOT.glob(kind) if FOREIGN not in str(path)}
    assert len(files) > 500
    long = {str(path): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {name: lines for name, lines in long.items() if lines > MAX_FILE} == {}


def test_functions_fit_a_screen() -> None:
    found = {str(path): long_functions(path.read_text("utf-8")) for path in ROOT.glob("src/**/*.py")}
    for name, function in PLAIN_LISTS.items():
        assert [one for one, _ in found.pop(str(ROOT / name))] == [function]
    assert {name: functions for name, functions in found.items() if functions} == {}


@pytest.mark.parametrize(("lines", "found"), [(39, []), (40, [("f", 41)])])
def test_a_long_function_is_found(lines: int, found: list[tuple[str, int]]) -> None:
    doc = '    """Not counted.\n\n    Lines\n    of it.\n    """\n'
    assert long_functions("def f():\n" + doc + "    pass\n" * (lines + 1)) == found
