"""Every export against the consumer it is for: schemas and parsers of others, not our own idea of them."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from lxml import etree
from referencing import Registry
from referencing.jsonschema import DRAFT7
from result_sets import result_set
from ruamel.yaml import YAML
from verdict_documents import cell, document, metric

import rushhour
from rushhour.errors import ReportError
from rushhour.export.case import Case, Number, Report
from rushhour.export.formats import FORMATS
from rushhour.export.gather import gather, of_verdict
from rushhour.lab import packages
from rushhour.lab.kernel import store

STATUSES = ("pass", "fail", "error", "skip")


def mixed() -> Report:
    """A report with a case of every status, from a verdict's document."""
    verdicts = ("worse", "same", "better", "inconclusive", "invalid", "same")
    return of_verdict(document([cell(number, verdict) for number, verdict in enumerate(verdicts)]))


TEXT = st.text(max_size=60)
NUMBERS = st.builds(
    Number,
    TEXT.filter(bool),
    TEXT,
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["bit/s", "µs", "1"]),
)
CASES = st.builds(
    Case, TEXT.filter(bool), TEXT, st.sampled_from(STATUSES), TEXT, st.lists(NUMBERS, max_size=3),
    st.none() | st.floats(0, 1e6), TEXT, TEXT,
)  # fmt: skip
REPORTS = st.builds(Report, TEXT, TEXT, st.lists(CASES, max_size=5), st.just({"release": "6.12"}))


def _of_tmt(name: str) -> Path:
    """A file of tmt's; the package itself takes seconds to import."""
    spec = importlib.util.find_spec("tmt")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name(name)


JUNIT = etree.XMLSchema(file=str(Path(__file__).parents[1] / "data/junit.xsd"))


def _read_junit(text: str) -> etree._Element:
    root = etree.fromstring(text.encode())
    JUNIT.assertValid(root)
    return root


def test_junit_keeps_to_the_schema_and_counts_right() -> None:
    root = _read_junit(FORMATS["junit"].write(mixed()))
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "6", "failures": "1", "errors": "1",
    }  # fmt: skip
    assert len(root.findall(".//failure")) == 1
    assert len(root.findall(".//skipped")) == 1
    failed = root.find(".//failure")
    assert failed is not None
    assert "goodput_bps of flow:long fell by 12 %" in str(failed.get("message"))
    assert "reproduce: rushhour run suite/slow-start" in str(failed.text)


@settings(max_examples=30)
@given(REPORTS)
def test_any_text_makes_valid_xml(report: Report) -> None:
    _read_junit(FORMATS["junit"].write(report))


@pytest.fixture(scope="module")
def kunit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel's reader of KTAP, from the archive of a kernel under test: its tests are not unpacked."""
    archives = sorted(store.cache("sources").glob("linux-source-*.tar.xz"))
    assert archives, "the archives of the kernels under test are gone from the cache"
    folder = tmp_path_factory.mktemp("kunit")
    wanted = ["--wildcards", "*/tools/testing/kunit/*.py", "--strip-components=1"]
    subprocess.run(["tar", "--extract", "--file", str(archives[-1]), *wanted], cwd=folder, check=True)
    return folder / "tools/testing/kunit/kunit.py"


@pytest.mark.virtual
@pytest.mark.parametrize("form", ["tap", "ktap"])
def test_the_kernels_own_reader_counts_the_same(form: str, tmp_path: Path, kunit: Path) -> None:
    (tmp_path / "results").write_text(FORMATS[form].write(mixed()))
    command = [sys.executable, "-B", str(kunit), "parse", str(tmp_path / "results")]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    # inconclusive is skipped; worse and invalid are not ok
    assert "Ran 6 tests: passed: 3, failed: 2, skipped: 1" in said.stdout, said.stdout + said.stderr
    assert said.returncode == 1
    assert "ERROR" not in said.stdout


def test_prove_reads_tap(tmp_path: Path) -> None:
    prove = shutil.which("prove")
    assert prove, packages.advice("prove")
    said = {}
    for name, report in (("mixed", mixed()), ("good", of_verdict(document([cell(0, "same")])))):
        (tmp_path / f"{name}.t").write_text(FORMATS["tap"].write(report))
        command = [prove, "--exec", "cat", str(tmp_path / f"{name}.t")]
        said[name] = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said["good"].returncode == 0, said["good"].stdout
    assert said["mixed"].returncode == 1
    assert "Failed 2/6 subtests" in said["mixed"].stdout


@settings(max_examples=30)
@given(REPORTS)
def test_any_text_stays_on_its_line_of_tap(report: Report) -> None:
    for form in ("tap", "ktap"):
        lines = FORMATS[form].write(report).splitlines()
        cases = [line for line in lines if line.lstrip().startswith(("ok ", "not ok "))]
        groups = 0 if form == "tap" else sum(line.startswith("  1..") for line in lines)
        assert len(cases) == len(report.cases) + groups
        assert all(line.count("#") <= 1 for line in cases)


def test_junit_has_one_suite_for_a_scenario() -> None:
    order = [("a", "1"), ("b", "1"), ("a", "2"), ("b", "2"), ("a", "3")]
    cases = [Case(scenario, label, "pass", "") for scenario, label in order]
    root = _read_junit(FORMATS["junit"].write(Report("r", "", cases)))
    suites = root.findall("testsuite")
    assert [(suite.get("name"), suite.get("tests")) for suite in suites] == [("a", "3"), ("b", "2")]
    assert [case.get("name") for case in suites[0].iter("testcase")] == ["1", "2", "3"]


RUNNING = {"release": "6.12", "source": {"kind": "running"}}


@pytest.mark.parametrize(
    ("kernel", "architecture"),
    [
        ({"release": "6.12", "source": {"kind": "debian"}}, "um"),
        (RUNNING | {"machine": "x86_64"}, "x86_64"),
        (RUNNING | {"machine": "aarch64"}, "aarch64"),
        (RUNNING, None),
        ({}, None),
    ],
)
def test_kcidb_says_the_architecture_of_the_kernel_that_ran(
    kernel: dict[str, object], architecture: str | None
) -> None:
    from kcidb_io.schema import LATEST  # noqa: PLC0415 - slow to import

    made = json.loads(FORMATS["kcidb"].write(Report("r", "", [Case("a", "1", "pass", "")], kernel)))
    LATEST.validate(made)
    assert made["builds"][0].get("architecture") == architecture


def test_kcidb_keeps_to_its_schema() -> None:
    from kcidb_io.schema import LATEST  # noqa: PLC0415 - slow to import

    made = json.loads(FORMATS["kcidb"].write(mixed()))
    LATEST.validate(made)
    outcomes = [test["status"] for test in made["tests"] if "number" not in test]
    assert sorted(outcomes) == ["ERROR", "FAIL", "PASS", "PASS", "PASS", "SKIP"]
    assert len({test["id"] for test in made["tests"]}) == len(made["tests"])


@settings(max_examples=30)
@given(REPORTS)
def test_any_text_keeps_to_kcidbs_schema(report: Report) -> None:
    from kcidb_io.schema import LATEST  # noqa: PLC0415

    LATEST.validate(json.loads(FORMATS["kcidb"].write(report)))


def _tmt_problems(text: str) -> list[str]:
    yaml = YAML(typ="safe")
    known = [yaml.load(_of_tmt("schemas") / name) for name in ("results.yaml", "common.yaml", "core.yaml")]
    registry = Registry().with_resources((one["$id"], DRAFT7.create_resource(one)) for one in known)
    errors = Draft7Validator(known[0], registry=registry).iter_errors(yaml.load(text))
    return [error.message for error in errors]


def test_tmt_reads_its_results() -> None:
    text = FORMATS["tmt"].write(mixed())
    assert _tmt_problems(text) == []
    made = json.loads(text)
    assert made[0]["name"] == "/"
    assert made[0]["result"] == "fail"
    assert [one["result"] for one in made[1:]].count("skip") == 1


def test_openmetrics_is_text_of_families_with_an_end() -> None:
    lines = FORMATS["openmetrics"].write(mixed()).splitlines()
    assert lines[-1] == "# EOF"
    assert 'rushhour_cells{status="pass"} 3' in lines
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    for line in lines:
        assert line.startswith(("# ", "rushhour_"))


def test_nipa_knows_only_three_results() -> None:
    made = json.loads(FORMATS["nipa"].write(mixed()))
    assert {one["result"] for one in made["results"]} == {"pass", "fail", "skip"}
    assert made["start"].endswith("+00:00")


def test_annotations_are_one_line_each_and_few() -> None:
    many = of_verdict(document([cell(number, "worse") for number in range(40)]))
    lines = FORMATS["github"].write(many).splitlines()
    assert len([line for line in lines if line.startswith("::error ")]) == 10
    assert any("30 more cells" in line for line in lines)
    assert all("%25" in line for line in lines if "12 " in line)


def test_a_set_of_runs_is_a_case_for_each_run(tmp_path: Path) -> None:
    results = result_set(tmp_path / "set", repeat=2)
    told: list[str] = []
    report = gather(results.path, told.append)
    assert told == [f"looking through run {number} of 4" for number in range(1, 5)]
    assert [case.status for case in report.cases] == ["pass"] * 4
    assert report.cases[1].label == "cc=cubic kernel=stable run=2"
    assert {"goodput_bps"} <= {one.metric for case in report.cases for one in case.numbers}


def test_in_a_very_large_set_runs_that_pass_have_no_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = result_set(tmp_path / "set", repeat=2)
    monkeypatch.setattr("rushhour.summary.index.WHOLE", 3)
    report = gather(results.path)
    assert [(case.status, list(case.numbers)) for case in report.cases] == [("pass", [])] * 4


def test_invalid_runs_are_errors(tmp_path: Path) -> None:
    results = result_set(tmp_path / "set", valid=False)
    assert {case.status for case in gather(results.path).cases} == {"error"}


def test_what_is_no_verdict_is_refused(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text('{"format": "rushhour-verdict/9"}')
    with pytest.raises(ReportError):
        gather(tmp_path)


def test_a_verdict_with_a_hole_is_refused(tmp_path: Path) -> None:
    broken = document([cell(0, "worse")])
    del broken["cells"][0]["scenario"]
    (tmp_path / "verdict.json").write_text(json.dumps(broken))
    with pytest.raises(ReportError):
        gather(tmp_path)


def test_a_new_format_is_a_file_and_a_line(tmp_path: Path) -> None:
    """In a copy of the package: both commands take it, the help names its reader, and it is written."""
    source = tmp_path / "rushhour"
    shutil.copytree(
        Path(rushhour.__file__).parent, source, ignore=shutil.ignore_patterns("__pycache__", "_agent")
    )
    (source / "export/csv.py").write_text("def csv(report):\n    return report.headline + ',made up\\n'\n")
    table = source / "export/formats.py"
    text = table.read_text("utf-8")
    mark = "FORMATS: Mapping[str, Format] = {\n"
    assert text.count(mark) == 1
    line = '    "csv": Format("spreadsheets", "results.csv", csv),\n'
    found = "from rushhour.export.csv import csv\n"
    table.write_text(text.replace(mark, found + mark + line))

    def ask(*words: str) -> str:
        command = [sys.executable, "-m", "rushhour", *words]
        told = os.environ | {"PYTHONPATH": str(tmp_path)}
        return subprocess.run(command, env=told, capture_output=True, text=True, check=True).stdout

    assert "csv          spreadsheets" in ask("export", "--help")
    assert "csv" in ask("compare", "--help")
    (tmp_path / "verdict.json").write_text(json.dumps(document([cell(0, "same")])))
    assert ask("export", str(tmp_path), "--to", "csv").endswith(",made up\n")


@pytest.mark.parametrize("name", ["junit", "tap", "ktap", "kcidb"])
def test_a_departure_is_called_one_and_stays_a_failure(name: str) -> None:
    mere = [metric(better="none", reason="retransmits departs: it rose by 12 %")]
    departing = cell(0, metrics=mere)
    whole = of_verdict(document([departing, cell(1, "same")]))
    assert whole.headline == "departs: 1 same, 1 departs"
    assert [case.status for case in whole.cases] == ["fail", "pass"]
    assert "departs: goodput_bps" in FORMATS[name].write(whole)
    broken = {"text": "loss < 1 %", "base": True, "candidate": False}
    failed = {"candidate": [{"error": "it panicked", "seed": 1}]}
    for harmed in (
        cell(2, metrics=[*mere, metric()]),
        cell(2, metrics=mere, expectations=[broken]),
        cell(2, metrics=mere, runs=failed),
    ):
        assert of_verdict(document([harmed])).cases[0].reason.startswith("worse: ")
    both = of_verdict(document([departing, cell(1)]))
    assert both.headline == "worse: 1 worse, 1 departs"
