"""Tables of the terminal: no word is cut, and none of them is made without that."""

import ast
import io
from pathlib import Path

from rich.console import Console

import rushhour
from rushhour.report.grid import Grid

SOURCE = Path(rushhour.__file__).parent
APART = {
    "report/grid.py": "is the table of which no word is cut",
    "cli/screen.py": "measures its columns, and has rows as blocks where they are too narrow",
}


def test_a_word_wider_than_its_column_goes_on_below() -> None:
    table = Grid()
    table.add_column("name")
    table.add_column("number", no_wrap=True)
    table.add_row("backup-of-the-server.11", "1")
    table.add_row("backup-of-the-server.12", "2")
    text = io.StringIO()
    Console(file=text, width=20).print(table)
    assert "".join(line[:12].strip() for line in text.getvalue().splitlines()) == (
        "namebackup-of-the-server.11backup-of-the-server.12"
    )


def test_all_tables_of_the_terminal_are_such() -> None:
    made = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "rich.table"
    }
    assert made == set(APART)
