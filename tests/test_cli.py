"""The command line: quick to answer, clear when it fails."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import click
import pytest
from commandline import HEAVY, rush
from report_records import make_set

import rushhour
from rushhour import spec
from rushhour.cli import SUMMARIES, cli, contents


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, as it is typed."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


COMMANDS = list(commands(cli))


def loaded(*words: str) -> set[str]:
    """The modules that a command imports, beyond those of a bare interpreter."""
    code = f"import sys; bare = set(sys.modules); sys.argv = {['rushhour', *words]!r}\n"
    code += "from rushhour.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print('LOADED', *(set(sys.modules) - bare))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    return set(done.stdout.partition("LOADED")[2].split())


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("--version",)], ids=" ".join)
def test_what_is_asked_first_is_answered_at_once(words: tuple[str, ...]) -> None:
    """Nothing is imported but click, which of Python's own modules takes none that is slow."""
    modules = loaded(*words)
    own = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in own if name.partition(".")[0] != "click"} == {
        "rushhour",
        "rushhour.cli",
        "rushhour.cli.asked",
        "rushhour.errors",
        "rushhour.plain",
        "rushhour.version",
    }
    slow = {"asyncio", "email", "http", "importlib.metadata", "importlib.resources", "json", "logging"}
    slow |= {"multiprocessing", "pathlib", "socket", "ssl", "statistics", "subprocess", "tempfile", "urllib"}
    assert not modules & slow


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_loads_no_scientific_package(words: tuple[str, ...]) -> None:
    modules = loaded(*words, "--help")
    assert f"rushhour.cli.{words[0]}" in modules
    assert not {name.partition(".")[0] for name in modules} & set(HEAVY)


@pytest.mark.parametrize(
    "words", [("list",), ("list", "tomasov"), ("list", "buffer", "fq_codel")], ids=" ".join
)
def test_the_catalogue_is_listed_without_reading_a_model(words: tuple[str, ...]) -> None:
    """To check all scenarios takes seconds; what is said of them is made ready (`cli/contents.json`)."""
    modules = loaded(*words)
    assert not {name.partition(".")[0] for name in modules} & (set(HEAVY) - {"rich"})
    assert not {name for name in modules if name.startswith(("rushhour.spec", "rushhour.plan"))}


def test_what_the_programs_of_a_scenario_lack_here_is_listed(tmp_path: Path) -> None:
    done = rush("list", "redis", PATH=str(tmp_path), COLUMNS="200")
    row = next(line for line in done.stdout.splitlines() if "programs/redis-behind-an-upload" in line)
    assert row.endswith("lacks redis-benchmark, redis-server")
    assert "Programs that are not on this machine: redis-benchmark, redis-server" in done.stderr


def test_a_table_of_contents_of_other_scenarios_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = contents.contents()
    assert shipped == contents.made()
    shutil.copytree(str(files("rushhour") / "catalog"), tmp_path / "catalog")
    (tmp_path / "cli").mkdir()
    stale = {**shipped, "studies": []}
    (tmp_path / "cli" / contents.TABLE).write_text(json.dumps(stale))
    monkeypatch.setattr(contents, "files", lambda _: tmp_path)
    assert contents.contents() == stale, "it is of the files that are there"
    (tmp_path / "catalog/more.toml").write_text(SCENARIO)
    assert contents.contents()["studies"], "it is not"


# What only building a kernel, a report, a database or measuring takes.
LATER = (
    "arro3", "jinja2", "matplotlib", "numpy", "scipy", "sqlalchemy", "ssl", "starlette",
    "rushhour.causes", "rushhour.explain", "rushhour.lab.kernel.builder", "rushhour.lab.kernel.sources",
    "rushhour.metrics.calibration", "rushhour.metrics.catalog", "rushhour.record.record", "rushhour.report",
    "rushhour.summary",
)  # fmt: skip


def test_a_run_begins_before_what_measures_and_shows_it_is_imported() -> None:
    assert not early("import rushhour.cli.run, rushhour.cli.progress, rushhour.running.runner")


@pytest.mark.virtual
def test_a_run_is_made_ready_before_what_measures_it_is_imported(tmp_path: Path) -> None:
    code = (
        "import rushhour.cli.run, rushhour.cli.progress; from pathlib import Path; "
        "from rushhour.running import runner; "
        f"file = Path({str(tmp_path)!r}) / 'small.toml'; file.write_text({SCENARIO!r}); "
        "batch = runner.prepare([file], out=file.parent / 'out')[0]; lab = runner.make_lab('uml'); "
        "lab.key(batch.job(next(batch.runs())))"
    )
    assert not early(code)


def early(code: str) -> set[str]:
    """What has been imported after this, though only later steps need it."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=True)
    modules = done.stdout.split()
    return {name for name in LATER for one in modules if one == name or one.startswith(f"{name}.")}


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    context = click.Context(cli)
    said = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    assert {name: one.get_short_help_str(200) for name, one in said.items() if one} == SUMMARIES


@pytest.mark.parametrize("words", sorted({words[:1] for words in COMMANDS if len(words) > 1}), ids=" ".join)
def test_no_list_of_commands_cuts_a_sentence(words: tuple[str, ...]) -> None:
    listed = rush(*words, "--help", COLUMNS="80").stdout.partition("Commands:")[2]
    assert "..." not in listed


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(words: tuple[str, ...]) -> None:
    done = rush(*words, "--help", COLUMNS="80")
    assert done.returncode == 0
    assert f"Example: rushhour {' '.join(words)}" in done.stdout
    assert "\\b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_a_sweep_is_shown_by_its_factors_and_on_request_by_its_cells(tmp_path: Path) -> None:
    together = '[[sweep.together]]\n"topology.rtt" = ["1ms", "2ms"]\n"topology.buffer" = ["10kB", "20kB"]\n'
    (tmp_path / "short.toml").write_text(SCENARIO + together)
    shown = rush("show", "short.toml", cwd=tmp_path)
    assert "  cc               cubic, reno\n" in shown.stdout
    assert "  topology.buffer  10kB, 20kB  (together with the line above)\n" in shown.stdout
    assert shown.stderr.splitlines()[-1] == "To run it: rushhour run short.toml"
    listed = rush("show", "short.toml", "--cells", cwd=tmp_path).stdout
    assert "3  cc=reno, topology.rtt=2ms, topology.buffer=20kB" in listed


def test_what_show_says_of_all_cells_has_no_braces_of_a_template(tmp_path: Path) -> None:
    shown = rush("show", "suite/police-packets", cwd=tmp_path).stdout
    assert "Guards: Packets of 100B / 1000B would be policed" in shown
    assert 'topology.police     { packets = "250/s", packet_burst = 20 }, ' in shown
    assert "retransmits from 1 segment on" in rush("show", "suite/path-mtu", cwd=tmp_path).stdout


@pytest.mark.parametrize(("since", "is_date"), [("tomorow", False), ("21.11.2026", False), ("2026-11", True)])
def test_history_begins_at_a_date(tmp_path: Path, since: str, is_date: bool) -> None:
    db = str(tmp_path / "results.db")
    rush("db", "info", "--db", db, cwd=tmp_path)
    refused = rush("history", "goodput_bps", "--since", since, "--db", db, cwd=tmp_path)
    assert (f'--since: "{since}" is not a date' in refused.stderr) != is_date


def test_show_and_report_give_machines_one_document(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO)
    shown = json.loads(rush("show", "short.toml", "--json", cwd=tmp_path).stdout)
    assert [cell["factors"] for cell in shown["cells"]] == [{"cc": "cubic"}, {"cc": "reno"}]
    assert any(line.startswith("ip netns add") for line in shown["commands"])
    make_set(tmp_path / "set", [{"cc": "cubic"}], seconds=6)
    made = json.loads(rush("report", "set", "--format", "csv", "--json", cwd=tmp_path).stdout)
    assert made["runs"] == 1
    assert {Path(name).name for name in made["files"]} == {"metrics.csv", "series.csv"}
    assert all((tmp_path / name).is_file() for name in made["files"])


def test_the_version_is_that_of_the_package() -> None:
    pyproject = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'version = "{rushhour.__version__}"' in pyproject
    assert rush("--version").stdout == f"rushhour {rushhour.__version__}\n"


def test_errors_say_what_where_and_what_next(tmp_path: Path) -> None:
    done = rush("run", "window-scalign", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "window-scalign" in done.stderr
    assert "window-scaling" in done.stderr, "the nearest name"
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_wrong_option_is_a_usage_error() -> None:
    done = rush("run", "--nosuch", "window-scaling")
    assert done.returncode == 2
    assert "--nosuch" in done.stderr


def test_without_a_kernel_it_says_how_to_build_one(tmp_path: Path) -> None:
    # What was installed as a package is not asked here.
    code = "import sys; from rushhour.lab.kernel import wheels; wheels.folders = lambda: iter(())\n"
    code += "from rushhour.cli import main; sys.argv = ['rushhour', 'run', 'window-scaling']; main()"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 2
    assert "rushhour kernel build debian:6.12" in done.stderr


def test_the_catalogue_for_people_and_machines() -> None:
    assert "tomasov/window-scaling" in rush("list").stdout
    entries = json.loads(rush("list", "queue", "--json").stdout)
    assert {"tomasov/window-scaling"} <= {entry["name"] for entry in entries}
    assert rush("list", "no such word").stdout == ""


def test_words_are_found_in_names_titles_questions_and_in_keys_and_their_values() -> None:
    def found(*words: str) -> dict[str, list[str]]:
        return {
            entry["name"]: entry.get("found", [])
            for entry in json.loads(rush("list", *words, "--json").stdout)
        }

    assert found("latecomers") == {"fairness/latecomers": []} | {
        name: [] for name in found("latecomers") if name.startswith("its413/")
    }
    assert found("TOMAŠOV", "buffer") == {}, "an author is no word of a scenario"
    assert found("two-second", "4069000") == {
        "mendicino/two-second-queue": ["sysctl.net.ipv4.tcp_rmem = 4096 131072 4069000"]
    }
    assert found("offload", "fq_codel")["suite/offload"] == ["topology.queue = fq_codel"]
    assert all(name.startswith("suite/") for name in found("standard suite")), "the title of the study"
    nothing = rush("list", "bufer", "drobs")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert 'did you mean "buffer drops"?' in nothing.stderr


def piped(*words: str, cwd: Path | None = None) -> list[str]:
    """What a program reads: nothing says how wide it is."""
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "rushhour", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, timeout=300, check=False)
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "its413"],
        ["help"],
        ["run", "--help"],
        ["profile", "list"],
        ["show", "three-buffers"],
    ],
    ids=" ".join,
)
def test_what_is_piped_is_plain_and_no_line_ends_in_spaces(words: list[str]) -> None:
    assert all(line == line.rstrip() for line in piped(*words))


def test_a_row_that_is_piped_is_one_line() -> None:
    rows = [line for line in piped("list") if line.startswith("   ")]
    questions = [spec.load_scenario(name).question for name in spec.catalogue()]
    assert len(rows) == len(questions)
    assert all(any(row.endswith(question) for row in rows) for question in questions)


@pytest.mark.parametrize("words", [["list"], ["list", "tomasov"], ["list", "tcp_rmem"]], ids=" ".join)
def test_a_list_fits_eighty_columns(words: list[str]) -> None:
    said = rush(*words, COLUMNS="80")
    assert max(len(line) for line in (said.stdout + said.stderr).splitlines()) <= 80


@pytest.mark.virtual
def test_the_table_of_a_sweep_is_piped_with_all_columns(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO)
    lines = piped("run", "short.toml", cwd=tmp_path)
    assert all(line == line.rstrip() for line in lines)
    assert not any(line.startswith("In the report: ") for line in lines)
    (row,) = [line for line in lines if line.startswith("cubic ")]
    assert len(row.split()) >= 6


def test_show_says_what_a_scenario_guards_and_who_judges(tmp_path: Path) -> None:
    shown = rush("show", "suite/tail-loss", "--set", "topology.rtt=20ms", cwd=tmp_path).stdout
    assert "Guards: The end of a transfer (the last / the last two / the last five / " in shown
    assert ", with probes / without probes) would come later" in shown
    assert "Judged by: flow_completion_time_s from 1% on, " in shown


def test_show_has_levels_as_the_names_of_cells_have_them(tmp_path: Path) -> None:
    shown = rush("show", "giurgiu/slow-slot", cwd=tmp_path).stdout
    assert "true" in shown
    assert "True" not in shown


def test_show_draws_and_counts_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO)
    shown = rush("show", "short.toml", cwd=tmp_path).stdout
    assert "2 cells, 2 runs of 0.2 s; drawn is the first: cc=" in shown
    (tmp_path / "short.toml").unlink()
    done = rush("show", "window-scaling", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left" in done.stdout
    assert "1 cell, 1 run of 30 s" in done.stdout
    commands = rush("show", "window-scaling", "--commands", cwd=tmp_path).stdout
    assert "ip netns add" in commands
    document = json.loads(rush("show", "window-scaling", "--json", cwd=tmp_path).stdout)
    assert document["plan"]["format"] == "rushhour-plan/1"
    assert not list(tmp_path.iterdir())


def test_a_reader_that_leaves_early_is_no_error() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = f"{sys.executable} -m rushhour show window-scaling --json | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.splitlines() == ["{", "0"]
    assert done.stderr == ""


SCENARIO = """
title = "Short"
duration = "200ms"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
[[flow]]
cc = "cubic"
[sweep]
cc = ["cubic", "reno"]
"""


@pytest.mark.virtual
def test_run_writes_a_result_set_and_says_so_in_json(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO)
    done = rush("run", "short.toml", "--json", "--out", "mine", "--fresh", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(done.stdout)["sets"]
    assert [run["factors"] for run in entry["runs"]] == [{"cc": "cubic"}, {"cc": "reno"}]
    assert all(run["valid"] and run["error"] is None for run in entry["runs"])
    assert (tmp_path / entry["report"]).is_file()
    assert "[2/2]" in done.stderr
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        "set.json",
        "runs",
        "index.parquet",
        "report.html",
    }


@pytest.mark.virtual
def test_a_cell_that_fails_is_named_and_the_exit_code_says_so(tmp_path: Path) -> None:
    sysctl = '"sysctl.net.ipv4.tcp_rmem" = ["4096 131072 6291456", "nonsense"]'
    (tmp_path / "short.toml").write_text(SCENARIO.replace('cc = ["cubic", "reno"]', sysctl))
    done = rush("run", "short.toml", "--out", "mine", cwd=tmp_path)
    assert done.returncode == 1
    assert "tcp_rmem=nonsense" in done.stderr
    assert "1 of 2 runs failed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.virtual
def test_what_the_kernel_lacks_is_skipped_and_if_nothing_is_left_it_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO.replace("reno", "nosuch"))
    done = rush("run", "short.toml", "--out", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'skipped: no congestion control "nosuch"; this kernel has:' in done.stderr
    assert 'Skipped  cc nosuch  no congestion control "nosuch"' in done.stdout
    assert "cc nosuch" in (tmp_path / "mine/report.html").read_text()
    nothing = rush("run", "short.toml", "--set", "cc=nosuch", "--out", "none", "--json", cwd=tmp_path)
    assert nothing.returncode == 1
    (run,) = json.loads(nothing.stdout)["sets"][0]["runs"]
    assert "nosuch" in run["skipped"]
    lacking = SCENARIO.replace('["cubic", "reno"]', '["nosuch"]')
    (tmp_path / "lacking.toml").write_text(lacking)
    both = rush("run", "lacking.toml", "short.toml", "--out", "both", cwd=tmp_path)
    assert both.returncode == 0, "one of several that the kernel cannot carry out is skipped as a cell is"
    assert 'not run: no congestion control "nosuch"' in both.stdout
    queue = SCENARIO.replace('cc = ["cubic", "reno"]', '"topology.queue" = ["fifo", "dualpi3"]')
    (tmp_path / "short.toml").write_text(queue)
    assert "this kernel has no qdisc dualpi3" in rush("run", "short.toml", "--out", "q", cwd=tmp_path).stdout


STUDY = """\
title = "Both"
summary = "What was asked."
[[chapter]]
title = "Second"
scenarios = ["second"]
conclusion = "It is so."
[[chapter]]
title = "First"
scenarios = ["first"]
"""
PUBLISHED = """\
[[published]]
source = "Table 1"
title = "Goodput"
metric = "goodput_bps"
unit = "Mbit/s"
from = "50ms"
values = [{ where = { cc = "reno" }, value = 9.5 }, { where = { cc = "cubic" }, value = 1 }]
"""


@pytest.mark.virtual
def test_a_study_is_run_whole_reported_once_and_made_again(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "study.toml").write_text(STUDY)
    (mine / "first.toml").write_text(SCENARIO)
    (mine / "first.published.toml").write_text(PUBLISHED)
    (mine / "second.toml").write_text(SCENARIO.replace("reno", "vegas"))
    done = rush("run", "./mine", "--json", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [entry["scenario"] for entry in said["sets"]] == ["mine/second", "mine/first"]
    assert (said["study"]["agreeing"], said["study"]["measured"]) == (1, 2)
    metrics = said["sets"][1]["runs"][0]["metrics"]
    assert any(value["metric"] == "goodput_bps" and value["value"] for value in metrics)
    page = (tmp_path / said["study"]["report"]).read_text()
    places = [page.index(words) for words in ('id="chapter-1"', "It is so.", 'id="chapter-2"', "Table 1")]
    assert places == sorted(places)
    again = rush("report", "out", "--format", "md", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "| reno | 9.5 |" in (tmp_path / "out/report.md").read_text()
    shown = rush("show", "mine/first.toml", cwd=tmp_path).stdout
    assert "Table 1: Goodput, 2 values, as goodput_bps" in shown
    quick = rush("run", "./mine", "--quick", "--set", "duration=300ms", "--json", cwd=tmp_path)
    assert json.loads(quick.stdout)["study"]["measured"] == 0, "another duration is another experiment"
    assert list((tmp_path / "results/mine").glob("*/study.json"))


@pytest.mark.virtual
def test_a_scenario_is_a_test_by_what_it_expects(tmp_path: Path) -> None:
    for least, code in (("1e6", 0), ("1e9", 1)):
        expect = f'[[expect]]\nmetric = "goodput_bps"\nmin = {least}\n'
        (tmp_path / "short.toml").write_text(SCENARIO + expect)
        done = rush("run", "short.toml", "--out", least, "--json", "--no-report", cwd=tmp_path)
        assert done.returncode == code, done.stderr
        runs = json.loads(done.stdout)["sets"][0]["runs"]
        assert [run["expectations"][0]["ok"] for run in runs] == [code == 0] * 2


@pytest.mark.virtual
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_but_results(number: signal.Signals, tmp_path: Path) -> None:
    long = SCENARIO.replace('"200ms"', '"3000s"').replace('["cubic", "reno"]', '["cubic", "reno", "bbr"]')
    (tmp_path / "long.toml").write_text(long)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "rushhour", "run", "long.toml", "--out", "mine"]
    process = subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    runs = tmp_path / "mine/runs"
    end = time.monotonic() + 60
    while not list(runs.glob(".sandbox-*/out/progress")) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command" in said
    assert "Traceback" not in said
    assert not list(runs.iterdir())
    assert not [path for path in Path("/proc").glob("[0-9]*/cwd") if _inside(path, tmp_path)]


def _inside(link: Path, folder: Path) -> bool:
    try:
        return str(link.readlink()).startswith(str(folder))
    except OSError:
        return False
