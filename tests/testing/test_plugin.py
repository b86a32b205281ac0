"""The pytest plugin, as pytest runs it: what is skipped, repeated, refused; and how a failure is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rushhour.files import cache
from rushhour.testing import plugin

pytest_plugins = ["pytester"]

Go = Callable[..., pytest.RunResult]

DOCUMENT = Path(__file__).parents[2] / "docs/pytest.md"
CARRIED = Path(__file__).with_name("carried.py")
CACHE = cache.folder("kernels").parents[1]
_FILE = re.compile(r"<!-- file: (\S+) -->\n```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Go:
    """Run pytest in a process of its own, with the plugin as it is installed."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    # Pytester's processes have another home; the kernel is in ours.
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))
    pytester.makepyprojecttoml(
        "[tool.pytest.ini_options]\naddopts = '--strict-markers -p no:cacheprovider'\n"
    )

    def go(*words: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("--basetemp", str(pytester.path / "kept"), *words, timeout=300)

    return go


def with_conftest(pytester: pytest.Pytester, text: str) -> None:
    pytester.makeconftest(
        f"import pytest\n\n@pytest.fixture(autouse=True)\ndef other(monkeypatch):\n    {text}\n"
    )


def test_the_plugin_is_installed_with_the_program(pytester: pytest.Pytester, run: Go) -> None:
    done = run("--fixtures", "-q")
    done.stdout.fnmatch_lines(["rushhour -- *testing/plugin.py:*"])
    run("--markers").stdout.fnmatch_lines(["@pytest.mark.rushhour(*"])


def test_it_costs_other_tests_nothing(pytester: pytest.Pytester, run: Go) -> None:
    heavy = "{'numpy', 'pydantic', 'rushhour.testing.network'}"
    pytester.makepyfile(f"import sys\ndef test(): assert not {heavy} & set(sys.modules)")
    run("-p", "no:xdist").assert_outcomes(passed=1)


def test_a_machine_that_cannot_is_skipped_unless_it_must(pytester: pytest.Pytester, run: Go) -> None:
    with_conftest(pytester, "monkeypatch.setattr('platform.machine', lambda: 'riscv64')")
    pytester.makepyfile("def test(rushhour): ...")
    done = run("-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["*Rush Hour cannot run here: virtual kernels run on x86-64 only*riscv64*"])
    must = run("--rushhour-require")
    must.assert_outcomes(errors=1)
    must.stdout.fnmatch_lines(["*--rushhour-require: virtual kernels run on x86-64 only*"])


def test_a_machine_without_a_kernel_says_what_to_build(
    pytester: pytest.Pytester, run: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "cache"))
    pytester.makepyfile("def test(rushhour): ...")
    done = run("--rushhour-kernel", "debian-4.9")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*Rush Hour cannot run this test: *", "*rushhour kernel build*"])
    assert "Traceback" not in done.stdout.str()


def test_seeds_and_kernels_repeat_a_test(pytester: pytest.Pytester, run: Go) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.rushhour(seeds=2, kernels=["a", "b"])
        def test_both(rushhour): ...
        @pytest.mark.rushhour(seed=7)
        def test_one(rushhour): ...
        @pytest.fixture
        def mine(rushhour): ...
        def test_behind_another(mine): ...
        def test_none(): ...
    """)
    done = run("--collect-only", "-q", "-m", "rushhour", "--rushhour-seeds", "2")
    names = [line.partition("::")[2] for line in done.outlines if "::" in line]
    assert names == [
        *(f"test_both[{kernel}-seed{seed}]" for kernel in "ab" for seed in (1, 2)),
        "test_one[seed7]", "test_one[seed8]", "test_behind_another[seed1]", "test_behind_another[seed2]",
    ]  # fmt: skip


@pytest.mark.parametrize("words", ["sed=1", "5"])
def test_a_marker_that_makes_no_sense_is_refused(pytester: pytest.Pytester, run: Go, words: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.rushhour({words})\ndef test(rushhour): ...")
    done = run()
    assert done.ret != 0
    assert "the marker rushhour takes no" in done.stdout.str() + done.stderr.str()


def test_choices_are_those_of_the_nearest_marker(pytester: pytest.Pytester) -> None:
    item = pytester.getitem("""
        import pytest
        pytestmark = pytest.mark.rushhour(seed=1, kernel="outer")
        @pytest.mark.rushhour(seed=5)
        def test_func(): ...
    """)
    assert plugin._said(item) == {"seed": 5, "kernel": "outer"}


@pytest.mark.virtual
def test_the_example_of_the_document_passes_and_is_the_same_every_time(
    pytester: pytest.Pytester, run: Go
) -> None:
    files = dict(_FILE.findall(DOCUMENT.read_text("utf-8")))
    assert sorted(files) == ["client.py", "test_client.py"]
    for name, text in files.items():
        (pytester.path / name).write_text(text)
    before = {path.name for path in pytester.path.iterdir()}
    run("--rushhour-fresh").assert_outcomes(passed=1)
    sums = [path.read_bytes() for path in sorted(pytester.path.rglob("runs/*/raw/*"))]
    assert sums
    run("--rushhour-fresh").assert_outcomes(passed=1)
    assert [path.read_bytes() for path in sorted(pytester.path.rglob("runs/*/raw/*"))] == sums
    test = pytester.path / "test_client.py"
    test.write_text(test.read_text().replace("attempts == 3", "attempts == 1"))
    shown = re.findall(r"<!-- shown -->\n```text\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    done = run()
    done.assert_outcomes(failed=1)
    # Another Python takes other instants.
    lines = [re.sub(r"-\w{12}$|…|[\d.]+", "*", line) for line in shown[0].splitlines()]
    done.stdout.fnmatch_lines(lines)
    ours = {"runpytest-2", "stdout", "stderr", "runpytest-0", "runpytest-1", "runpytest-current"}
    assert {path.name for path in pytester.path.iterdir()} - before - ours <= {"kept", "__pycache__"}


FAILING = """
import pytest, carried
from rushhour import RushHourError

def net(rushhour, **keys):
    return rushhour.network(rate="10mbit", rtt="40ms", **keys)

def test_all_is_well(rushhour):
    one = net(rushhour)
    one.start("r1", carried.serve, 8000, ready=8000)
    run = one.run("s1", carried.send, "r1", 8000, 100_000)
    assert run.programs["serve"].value == 100_000
    assert run.programs["serve"].stdout == "got 100000\\n"
    assert run.value > 1_700_000_000
    assert run.metric("goodput", flow="send.1") == run.metric("goodput_bps", scope="flow:send.1") > 1e6
    run.expect("goodput of send.1 > 1mbit", "program_time of send < 1s")
    with pytest.raises(AssertionError, match="goodput_bps of flow:send.1 is .* bit/s; expected > 10000000"):
        run.expect("goodput of send.1 > 10mbit")
    for name, flow in (("gudput", None), ("goodput", "nobody"), ("jain_index", None)):
        with pytest.raises(RushHourError):
            run.metric(name, flow=flow)
    assert run.path.is_relative_to(run.path.parents[3])
    with pytest.raises(AttributeError):
        run.nothing

def test_lines_have_virtual_times(rushhour):
    run = net(rushhour).run("s1", carried.say)
    (one, two, three) = run.output
    assert (one.text, two.text, two.stream, three.text) == ("one", "two", "err", "three")
    assert 1.5 <= two.t_s - one.t_s < 1.51
    assert run.value is None and 2.5 <= run.took_s < 2.6

def test_exceptions_are_raised_here(rushhour):
    with pytest.raises(ValueError) as caught:
        net(rushhour).run("s1", carried.wrong, "json")
    assert "carried.py" in str(caught.value.__cause__)
    run = net(rushhour).run("s1", carried.wrong, "exit", check=False)
    assert run.exit == 7 and run.failure == "ended with status 7, not 0"
    assert net(rushhour).run("s1", ["sh", "-c", "exit 3"], exit=3).exit == 3

def test_fails_inside(rushhour):
    net(rushhour).run("s1", carried.wrong, "json")

def test_fails_by_status(rushhour):
    net(rushhour).run("s1", "sh -c 'echo last words; exit 3'")

def test_is_late(rushhour):
    net(rushhour, duration="1s").run("s1", carried.say)

def test_another_fails(rushhour):
    one = net(rushhour)
    one.start("r1", "sh -c 'echo alas; exit 4'", name="helper")
    one.run("s1", carried.say)

def test_makes_no_sense(rushhour):
    rushhour.network(rte="1mbit").run("s1", carried.say)

def test_of_a_lambda(rushhour):
    net(rushhour).run("s1", lambda: 1)
"""


@pytest.mark.virtual
def test_what_comes_of_runs_and_how_failures_are_shown(pytester: pytest.Pytester, run: Go) -> None:
    (pytester.path / "carried.py").write_text(CARRIED.read_text("utf-8"))
    pytester.makepyfile(FAILING)
    done = run("-n", "2")
    done.assert_outcomes(passed=3, failed=6)
    done.stdout.fnmatch_lines_random([
        "*Rush Hour: run*",
        "kernel *, seed 1",
        f"record {pytester.path}/kept/*/rushhour/run-1/runs/00000-*",
        "E *json.decoder.JSONDecodeError: Expecting property name*",
        "wrong on s1 raised JSONDecodeError",
        "* s  wrong    just before",
        "E *ProgramFailed: sh on s1 ended with status 3, not 0*its last words: last words",
        "E *ProgramFailed: say on s1 had not ended after 1 s of virtual time*",
        "E *ProgramFailed: helper on r1 ended with status 4, not 0*its last words: alas",
        "E *topology.rte: unknown key",
        "E *a lambda has no name by which the lab could import it",
    ])  # fmt: skip
    assert "  wrong  !" not in done.stdout.str(), "its traceback is told once"
    assert "spec/load.py" not in done.stdout.str(), "an error that says what to do comes without our insides"
