"""What the documents say is there, what is there is said, and the examples run."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from report_records import make_set

import rushhour
from rushhour.cli import COMMANDS
from rushhour.cli.document import render
from rushhour.record.result_set import ResultSet
from rushhour.running import runner

ROOT = Path(__file__).parents[1]
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def _python(file: Path) -> str:
    """What a document says in Python: its examples, and names in back quotes; not file names."""
    text = file.read_text(encoding="utf-8")
    quoted = re.findall(r"`(rushhour\.[\w.]+)(?:\(.*?\))?`", text)
    return "\n".join([*re.findall(r"```python\n(.*?)```", text, re.DOTALL), *quoted])


EXPLAIN = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", API, re.DOTALL)


def test_the_api_document_lists_what_the_package_gives() -> None:
    listed = re.findall(r"^\| `rushhour\.(\w+)` \|", API, re.MULTILINE)
    assert sorted(listed) == sorted(rushhour.__all__)
    assert all(hasattr(rushhour, name) for name in listed)


NAMED = sorted(
    {
        name
        for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        for name in re.findall(r"\b(rushhour(?:\.[A-Za-z_]\w*)+)(?!\w|[/@-])", _python(file))
        if name not in ("rushhour.sh", "rushhour.network")  # a file; of the fixture for tests
    }
)


def test_every_name_that_the_documents_give_is_there() -> None:
    # In a program of its own: another test may have imported what a reader has not.
    assert {"rushhour.bisect.bisect", "rushhour.explain.explain", "rushhour.run"} <= set(NAMED)
    code = (
        "import functools, pkgutil, sys, rushhour\n"
        "for name in sys.argv[2:]:\n"
        "    if name in sys.argv[1]:\n"  # as the interface gives it, without another import
        "        functools.reduce(getattr, name.split('.')[1:], rushhour)\n"
        "    else:\n"
        "        pkgutil.resolve_name(name)\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, API + EXPLAIN, *NAMED],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-600:]


def test_no_name_is_made_up() -> None:
    assert not hasattr(rushhour, "no_such_module")
    assert not hasattr(rushhour, "_private")


def test_the_options_of_run_are_those_of_the_runner_and_documented() -> None:
    options = list(inspect.signature(rushhour.run).parameters)[1:]
    assert options == list(inspect.signature(runner.run).parameters)[1:]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", API, re.MULTILINE)
    assert set(options) <= {name for row in rows for name in re.findall(r"\w+", row)}


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, rushhour; print(*sys.modules)"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert not {"numpy", "pyarrow", "pydantic", "matplotlib"} & set(done.stdout.split())


def test_the_document_of_the_commands_is_current() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert text == render(), "run: python docs/generate.py"
    assert all(f"## rushhour {name}\n" in text for name in COMMANDS)


def test_every_document_that_is_generated_is_current() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, f"run: python docs/generate.py\n{made.stdout}{made.stderr}"


def execute(blocks: list[str]) -> None:
    """Run the blocks one after the other, as a reader would."""
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/api.md", "exec"), names)


def test_the_examples_run_on_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results/window-scaling/latest"
    make_set(folder, [{"cc": "cubic"}, {"cc": "reno"}], seconds=6)
    ResultSet.open(folder).write_index()
    execute([block for block in BLOCKS if "rushhour.run(" not in block])
    said = capsys.readouterr().out
    assert "0000 {'cc': 'cubic'} valid" in said
    assert "samples from tcp_probe in segments" in said
    assert "there is no such folder" in said


@pytest.mark.virtual
def test_the_examples_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    execute(BLOCKS)
    assert "flow:long" in capsys.readouterr().out


def test_the_places_that_the_glossary_names_are_there() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    places = re.findall(r"\(`([\w./-]+)`\) \|$", text, re.MULTILINE)
    assert len(places) >= 40
    below = {True: ROOT, False: ROOT / "src/rushhour"}
    assert [place for place in places if not (below[place.startswith("agent/")] / place).exists()] == []


def test_a_word_of_the_glossary_has_one_meaning() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    heads = re.findall(r"^\| (\*\*.*?) \|", text, re.MULTILINE)
    words = [word for head in heads for word in re.findall(r"\*\*(.+?)\*\*", head)]
    assert sorted(words) == sorted(set(words))
