"""Texts and names from elsewhere: terminals do not obey them, spreadsheets do not compute them."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click import unstyle
from click.testing import CliRunner
from result_sets import kernel, result_set

from rushhour.cli.profile import profile
from rushhour.errors import ScenarioError
from rushhour.plain import cell, harmless, is_control
from rushhour.record.json_file import read_json
from rushhour.report import export
from rushhour.spec import parse_scenario

SCENARIO = """
title = "{title}"
question = "q?"
duration = "1s"
topology = {{ preset = "dumbbell", rate = "10mbit", rtt = "10ms" }}
flow = [{{ name = "a" }}]
"""
ESCAPES = ["\\u001b]0;owned\\u0007", "\\u009b2J", "a\\rb", "\\b", "\\u202e", "\\u2066"]


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_scenario_speaks_to_no_terminal(escape: str) -> None:
    with pytest.raises(ScenarioError, match="control character"):
        parse_scenario(SCENARIO.format(title=f"T {escape}"), "x.toml")


def test_other_writing_is_welcome() -> None:
    title = "Größe 大きさ 👩‍🔬 שלום"
    assert parse_scenario(SCENARIO.format(title=title), "x.toml").title == title


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_strangers_results_speak_to_no_terminal(escape: str, ascii_only: bool, tmp_path: Path) -> None:
    text = json.loads(f'"{escape}"')
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"title": text, text: [{"a": text}]}, ensure_ascii=ascii_only))
    found = json.dumps(read_json(path), ensure_ascii=False)
    assert not any(is_control(sign) for sign in found)
    assert harmless({"a": 1, "b": [None, "plain\ttext\n"]}) == {"a": 1, "b": [None, "plain\ttext\n"]}


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_strangers_profile_speaks_to_no_terminal(escape: str, tmp_path: Path) -> None:
    change = '[[change]]\nkind = "sysctl"\nname = "net.ipv4.tcp_sack"'
    texts = "".join(f'{key} = "{escape}"\n' for key in ("value", "reason", "source"))
    file = tmp_path / "p.toml"
    file.write_text(f'title = "{escape}"\nabout = "{escape}"\nsource = "{escape}"\n{change}\n{texts}')
    shown = CliRunner().invoke(profile, ["show", str(file)], color=True)
    assert "tcp_sack" in shown.output, shown.output
    # The program's own styles aside.
    assert not any(is_control(sign) for sign in unstyle(shown.output).replace("\n", "")), shown.output


def test_a_spreadsheet_computes_nothing(tmp_path: Path) -> None:
    results = result_set(tmp_path / "set", scenario="=1+1", kernels=[kernel("@SUM(A1)", "6.12.1")])
    with export.write(results, tmp_path / "tables", "csv")[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["scenario"] for row in rows} == {"'=1+1"}
    texts = [value for row in rows for name, value in row.items() if name not in ("value", "seed", "cell")]
    assert not [text for text in texts if text.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [cell(text) for text in ("a=1", "", "1")] == ["a=1", "", "1"]


@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}])
@pytest.mark.parametrize(
    "words",
    [
        ["report", "{}", "--format", "md"], ["report", "{}", "--format", "csv"],
        ["compare", "{}", "{}", "--out", "{}/compared"], ["db", "import", "{}", "--db", "{}/results.db"],
        ["baseline", "save", "kept", "{}"], ["export", "{}", "--to", "junit"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_folder_whose_name_is_no_text(words: list[str], locale: dict[str, str], tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    result_set(tmp_path / name)
    places = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "rushhour", *(word.replace("{}", name) for word in words)],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        env={**os.environ, **places, **locale},
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
    assert done.returncode == 0, done.stderr.decode(errors="replace")


NAME = "evil\x1b[2J\x9b2J\nerror: all is well"
COMMANDS = [
    *[[*words.split(), "{none}"] for words in (
        "run", "show", "report", "export", "db import", "baseline save kept", "kernel build", "compare {set}",
        "show --set", "report --to", "history goodput_bps x --db", "new", "profile show", "diagnose",
    )],
    ["report", "{set}", "--format", "csv"],
    ["report", "{set}", "--out", "{none}.html"],
    ["export", "{set}", "--to", "junit", "--out", "{none}"],
    ["db", "--db", "{none}/x.db", "import", "{set}"],
    ["db", "--db", "{none}.db", "import", "{set}"],
    ["compare", "{set}", "{set}", "--out", "{none}-verdict"],
    ["baseline", "save", "{none}-kept", "{set}"],
    ["show", "{scenario}"],
    ["run", "{scenario}", "--lab", "{none}"],
    ["{none}"],
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_name_of_a_file_speaks_to_a_terminal(words: list[str], tmp_path: Path) -> None:
    results = result_set(tmp_path / f"set {NAME}").path
    scenario = tmp_path / f"scenario {NAME}.toml"
    scenario.write_text(SCENARIO.format(title="T"))
    names = {"none": f"none {NAME}", "set": str(results), "scenario": str(scenario)}
    done = subprocess.run(
        [sys.executable, "-m", "rushhour", *(word.format(**names) for word in words)],
        cwd=tmp_path,
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path / "data"), "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert "Traceback" not in said, said
    assert not any(is_control(sign) for sign in said), said
    # A name with a line feed begins no line of an error.
    assert not done.returncode or not [
        line for line in done.stderr.decode().splitlines() if line.startswith("error: all")
    ], said
