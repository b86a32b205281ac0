"""Job files: what their systems' own readers say of them, and one job carried out."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from ruamel.yaml import YAML

from rushhour.ci import SYSTEMS, Settings, job_files, write
from rushhour.cli.ci import ci
from rushhour.errors import UsageError
from rushhour.lab import kernel
from rushhour.running import runner

# Words that mean something to shells, YAML, XML and to GitHub.
NASTY = st.text(st.sampled_from("a.'\"$`\\{}<>&#:%![]@ -~;*?()|\t\n")).filter(
    lambda text: text and text.isprintable()
)
PLAIN = Settings()


def load(text: str) -> dict[str, object]:
    made = YAML(typ="safe").load(text)
    assert isinstance(made, dict)
    return made


@pytest.mark.parametrize("system", SYSTEMS)
def test_scripts_can_be_read_by_bash(system: str) -> None:
    for path, text in job_files(system, PLAIN).items():
        if path.endswith(".sh"):
            subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_githubs_steps_are_in_order_and_bash_reads_them() -> None:
    job = load(job_files("github", PLAIN)[".github/workflows/rushhour.yml"])
    steps = job["jobs"]["suite"]["steps"]  # type: ignore[index]
    names = [step.get("name", step.get("uses")) for step in steps]
    assert names[0] == "actions/checkout@v4"
    assert names.index("Rush Hour") < names.index("Build, run, judge") < names.index("Tell")
    for step in steps:
        assert ("run" in step) != ("uses" in step)
        subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True, check=True)
    kept = steps[-1]
    assert kept["if"] == "always()"
    assert kept["with"]["path"] == "rushhour"


@pytest.mark.parametrize(
    ("system", "line"),
    [
        ("github", "runs-on: ubuntu-24.04"),
        ("gitlab", "image: debian:13"),
        ("beaker", 'value="RedHatEnterpriseLinux10"'),
    ],
)
def test_a_job_says_what_it_runs_on_and_installs_its_packages(system: str, line: str) -> None:
    text = "\n".join(job_files(system, PLAIN).values())
    assert line in text
    assert ("glibc-static" if system == "beaker" else "libc6-dev") in text
    assert "cargo" not in text
    assert "ci/wheels/*.whl" in text or system == "beaker"


def test_what_pip_has_to_build_takes_rust() -> None:
    for install, rust in [
        ("git+https://example.org/rushhour", True),
        ("dist/rushhour-1-py3-none-any.whl", False),
    ]:
        text = job_files("github", Settings(install=install))[".github/workflows/rushhour.yml"]
        assert ("cargo-1.85" in text) == rust
        assert f"install --quiet {install}\n" in text


def test_gitlab_is_given_what_the_script_leaves() -> None:
    files = job_files("gitlab", PLAIN)
    job = load(files[".gitlab/rushhour.yml"])["rushhour"]
    assert job["script"] == ["ci/rushhour.sh"]  # type: ignore[index]
    reports = job["artifacts"]["reports"]  # type: ignore[index]
    assert reports == {"junit": "rushhour/junit.xml", "metrics": "rushhour/metrics.txt"}
    for line in job["before_script"]:  # type: ignore[index]
        subprocess.run(["bash", "-n"], input=line, text=True, check=True)


@given(NASTY, NASTY, NASTY)
def test_no_setting_breaks_out_of_its_place(source: str, baseline: str, install: str) -> None:
    settings = Settings(source, baseline, install)
    told = load(job_files("github", settings)[".github/workflows/rushhour.yml"])
    environment = told["jobs"]["suite"]["env"]  # type: ignore[index]
    assert (environment["KERNEL"], environment["BASELINE"]) == (source, baseline)
    gitlab = load(job_files("gitlab", settings)[".gitlab/rushhour.yml"])["rushhour"]
    assert gitlab["variables"]["KERNEL"] == source  # type: ignore[index]
    tmt = load(job_files("tmt", settings)["tests/rushhour/main.fmf"])
    assert tmt["environment"]["BASELINE"] == baseline  # type: ignore[index]
    beaker = etree.fromstring(job_files("beaker", settings)["beaker/job.xml"].encode())
    assert {one.get("value") for one in beaker.iterfind(".//param[@name='KERNEL']")} == {source}


@pytest.mark.parametrize("source", ["it's", 'a"b', "$(touch x)", "`touch x`", "a}b", "a b"])
def test_the_script_takes_a_setting_as_it_is(source: str, tmp_path: Path) -> None:
    (tmp_path / "judge.sh").write_text(job_files("github", Settings(kernel=source))["ci/rushhour.sh"])
    fake = tmp_path / "bin" / "rushhour"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >>told\nmkdir -p rushhour\n')
    fake.chmod(0o755)
    run = ["env", "-u", "KERNEL", "bash", "judge.sh"]
    subprocess.run(run, cwd=tmp_path, env={"PATH": f"{fake.parent}:{os.environ['PATH']}"}, check=True)
    assert (tmp_path / "told").read_text().splitlines()[:3] == ["kernel", "build", source]
    assert not (tmp_path / "x").exists()


def test_tmt_finds_nothing_wrong(tmp_path: Path) -> None:
    write("tmt", PLAIN, tmp_path)
    said = subprocess.run(
        [sys.executable, "-m", "tmt", "lint"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = [line for line in (said.stdout + said.stderr).splitlines() if line.startswith(("fail", "warn"))]
    assert (said.returncode, lines) == (0, [])


def test_beakers_recipes_meet_in_one_set() -> None:
    job = etree.fromstring(job_files("beaker", PLAIN)["beaker/job.xml"].encode())
    (together,) = job.findall("recipeSet")
    roles = [recipe.get("role") for recipe in together.findall("recipe")]
    assert roles == ["CLIENTS", "SERVERS"]
    for recipe in together.findall("recipe"):
        order = [child.tag for child in recipe]
        assert order == ["packages", "repos", "distroRequires", "hostRequires", "partitions", "task"]


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "ci" / "rushhour.sh"
    mine.parent.mkdir()
    mine.write_text("mine\n")
    with pytest.raises(UsageError, match="there already"):
        write("github", PLAIN, tmp_path)
    assert mine.read_text() == "mine\n"
    assert not (tmp_path / ".github").exists()
    write("github", PLAIN, tmp_path, force=True)
    assert mine.stat().st_mode & stat.S_IXUSR
    write("gitlab", PLAIN, tmp_path)  # the same script: nothing is replaced


def test_the_command_says_what_is_next(tmp_path: Path) -> None:
    said = CliRunner().invoke(ci, ["github", "--out", str(tmp_path)])
    assert said.exit_code == 0
    assert "No baseline yet" in said.output
    assert "commit them" in said.output
    assert "ubuntu-24.04" in said.output
    assert "No wheel yet" in said.output
    (tmp_path / "ci/wheels").mkdir()
    (tmp_path / "ci/wheels/rushhour-1-py3-none-any.whl").touch()
    assert "No wheel yet" not in CliRunner().invoke(ci, ["github", "--out", str(tmp_path)]).output


def test_a_setting_is_one_line() -> None:
    with pytest.raises(UsageError, match="one line"):
        job_files("github", Settings(kernel="a\nb"))


@pytest.mark.virtual
def test_the_job_judges_a_kernel_by_a_baseline_in_the_repository(tmp_path: Path) -> None:
    """The script of the generated job, on one scenario: the same kernel is the same, and all is kept."""
    mine = kernel.find("debian-6.12")
    write("github", Settings(kernel="debian:6.12"), tmp_path)
    results = runner.run("suite/initial-window", kernels=[mine.name], quick=True, out=tmp_path / "first")
    rushhour = [sys.executable, "-m", "rushhour"]
    save = [*rushhour, "baseline", "save", str(tmp_path / "ci/baseline"), str(results.path), "--slim"]
    subprocess.run(save, check=True, capture_output=True, cwd=tmp_path)
    command = tmp_path / "bin" / "rushhour"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m rushhour "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    try:
        said = subprocess.run(
            ["bash", "ci/rushhour.sh"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for one in kernel.installed():
            if one.name == "candidate":
                kernel.remove(one.folder.name)
    assert said.returncode == 0, said.stdout + said.stderr
    made = {path.name for path in (tmp_path / "rushhour").iterdir()}
    assert {"report.html", "summary.md", "junit.xml", "results.tap", "results.yaml", "verdict.json"} <= made
    verdict = json.loads((tmp_path / "rushhour/verdict.json").read_text())
    assert set(verdict["counts"].values()) == {0, len(verdict["cells"])}
    assert verdict["verdict"] == "same"


@pytest.mark.parametrize(
    ("code", "printed", "expected", "line"),
    [
        (
            0,
            "\nSame: all 188 cells are equal to the byte.\nresults/report.html\n",
            0,
            "Same: all 188 cells are equal to the byte.",
        ),
        (1, "\nWorse: suite/cubic\n", 1, "Worse: suite/cubic"),
        (3, "\nNothing here was exercised: x.c:3.\n", 250, "Nothing here was exercised: x.c:3."),
        (2, "", 250, "it could not be checked"),
        (130, "", 1, "it could not be checked"),
    ],
)
def test_nipas_script_answers_as_its_tests_do(
    code: int, printed: str, expected: int, line: str, tmp_path: Path
) -> None:
    """Started as NIPA does: in the tree, with a pipe whose number DESC_FD names."""
    files = job_files("nipa", PLAIN)
    assert json.loads(files["rushhour/info.json"]) == {"run": ["rushhour.sh"]}
    script, fake = tmp_path / "rushhour.sh", tmp_path / "bin/rushhour"
    fake.parent.mkdir()
    (tmp_path / "said").write_text(printed)
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" > {tmp_path}/words\ncat {tmp_path}/said\nexit {code}\n')
    script.write_text(files["rushhour/rushhour.sh"])
    for path in (script, fake):
        path.chmod(0o755)
    reading, writing = os.pipe()
    env = os.environ | {"PATH": f"{fake.parent}:{os.environ['PATH']}", "DESC_FD": str(writing)}
    done = subprocess.run(
        [script], cwd=tmp_path, env=env, pass_fds=[writing], capture_output=True, check=False
    )
    os.close(writing)
    with os.fdopen(reading) as told:
        assert told.read() == f"{line}\n"
    assert done.returncode == expected
    assert (tmp_path / "words").read_text() == "check --committed --base HEAD~1\n"
