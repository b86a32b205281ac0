"""Files and texts become scenarios, or errors with every fault, its line and what is allowed."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import BASE, faults, scenario

from rushhour.errors import Fault, RushHourError, ScenarioError
from rushhour.quantities.units import Duration, Probability, Rate
from rushhour.spec import Scenario, load_scenario, parse_scenario
from rushhour.spec.document import LARGEST_FILE
from rushhour.spec.load import apply_sets, find_scenarios
from rushhour.spec.scenario import name_flows


def test_a_scenario_is_read() -> None:
    found = scenario('[[flow]]\nkind = "ping"\n', top='title = "x"\nsysctl.net.ipv4.tcp_sack = false\n')
    assert found.title == "x"
    assert found.topology is not None
    assert found.topology.rate == Rate(10**8)
    assert [flow.name for flow in found.flow] == ["long", "ping1"]
    assert found.sysctl == {"net.ipv4.tcp_sack": "0"}


def test_every_fault_is_reported_at_once_with_its_line() -> None:
    found = faults(
        'titel = "x"\nduration = "30"\n[topology]\npreset = "dumbell"\nrate = "100mbps"\nrtt = "2ms"\n'
        'delay = "1ms"\n[[flow]]\nstar = "3s"\n[[flow]]\nname = "b"\nkind = "udp"\ncc = "reno"\n'
        '[sweep]\ntopology.rat = ["1mbit"]\n"flow.b.strat" = [1]\n'
    )
    assert {key: fault.line for key, fault in found.items()} == {
        "titel": 1,
        "duration": 2,
        "topology.preset": 4,
        "topology.rate": 5,
        "topology.delay": 7,
        "flow.tcp1.star": 9,
        "flow.b.rate": 10,
        "flow.b.cc": 13,
        "sweep.topology.rat": 15,
        "sweep.flow.b.strat": 16,
    }
    assert "bps" in found["topology.rate"].message


@pytest.mark.parametrize(
    ("line", "key", "guess"),
    [
        ('tytle = "x"', "tytle", '"title"'),
        ('family = "ipv"', "family", '"ipv6"'),
        ("[readings]\ntcp_prob = true", "readings.tcp_prob", '"tcp_probe"'),
        ('[[node]]\nname = "s1"\nsysctls = 1', "node.s1.sysctls", '"sysctl"'),
    ],
)
def test_the_nearest_right_word_is_named(line: Any, key: str, guess: str) -> None:
    text = BASE.replace("[topology]", f"{line}\n[topology]")
    assert guess in (faults(text)[key].hint or "")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("seed = -1", "greater than or equal to 0"),
        ("seed = 1.5", "whole number"),
        ('seed = "a"', "whole number"),
        ("repeat = 0", "greater than or equal to 1"),
        ("title = 3", "text in quotes"),
        ("topology = 3", "table"),
        ("flow = 3", "list"),
        ("flow = [3]", "table"),
        ("flow = {}", "list"),
        ("readings.qdisc = 17", "true or false"),
        ('sysctl."vm.swappiness" = 1', "net."),
        ('sysctl."net/../../x" = 1', "net."),
        ("sysctl.net.a = [[1]]", "a number, a text or a list"),
        ("sweep = 3", "table"),
        ("sweep.seed = 3", "list of values"),
        ("sweep.seed = [1, 1]", "twice"),
        ("sweep.together = 3", "[[sweep.together]]"),
        ("expect = [{metric = 'x', min = nan}]", "finite"),
        ("expect = [{min = 1}]", "is missing"),
    ],
)
def test_wrong_types_and_values_say_what_is_allowed(value: Any, says: str) -> None:
    assert says in " ".join(f"{fault.message} {fault.hint}" for fault in faults(value).values())


def test_a_missing_preset_is_explained() -> None:
    found = faults('duration = "1s"\n[topology]\nrate = "1mbit"\nrtt = "1ms"\n[[flow]]\n')
    assert list(found) == ["topology.preset"]
    assert "[[link]]" in (found["topology.preset"].hint or "")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "no key"),
        ("# only a comment\n", None, "no key"),
        ("a = 1\na = 2\n", 2, "overwrite"),
        ("a = 1\n\nduration = 30s\n", 3, "not TOML"),
        ("x = [", 1, "not TOML"),
        ("x = " + "[" * 5000, None, "nested too deeply"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(text: str, line: Any, says: str) -> None:
    (fault,) = faults(text).values()
    assert fault.line == line
    assert says in fault.message


def test_a_word_without_quotes_is_guessed() -> None:
    (fault,) = faults("duration = 30s\n").values()
    assert fault.hint == 'texts stand in quotes: duration = "30s"'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x7fELF\0\0", "binary"),
        (b"title = '\xff'", "not UTF-8"),
        (b"#" * (LARGEST_FILE + 1), "larger than 1 MiB"),
        (b"", "no key"),
    ],
    ids=["binary", "latin-1", "huge", "empty"],
)
def test_files_that_are_no_scenarios(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=says):
        load_scenario(path)


@pytest.mark.parametrize("text", ["a = " + "[" * 40 + "]" * 40, "a" + ".a" * 5000 + " = 1"])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="too deeply"):
        parse_scenario(text)


def test_what_is_no_regular_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match="no regular file"):
        find_scenarios("pipe.toml")


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is a folder"):
        load_scenario(tmp_path)
    with pytest.raises(ScenarioError, match="No such file"):
        load_scenario(tmp_path / "none.toml")


def test_a_missing_file_names_the_nearest_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bottleneck.toml").write_text(BASE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match=r'did you mean "bottleneck\.toml"'):
        load_scenario("botleneck.toml")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "x" * 5000 + ".toml"])
def test_names_that_no_file_can_have(name: str) -> None:
    with pytest.raises(RushHourError, match=r"no (such )?file"):
        load_scenario(name)
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(Path(name))


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbf" + BASE.encode())
    assert load_scenario(path).duration == Duration(30 * 10**9)


def test_sets_go_over_the_file() -> None:
    found = scenario(
        sets=(
            "topology.rate=10mbit",
            "topology.loss = 1%",
            "flow.long.start=1s",
            "cc=bbr",
            "seed=7",
            "sysctl.net.ipv4.tcp_rmem=4096 131072 6291456",
        )
    )
    assert found.topology is not None
    assert found.topology.rate == Rate(10**7)
    assert found.topology.loss == Probability(0.01)
    assert (found.flow[0].start, found.flow[0].cc, found.seed) == (Duration(10**9), "bbr", 7)
    assert found.sysctl == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("x", "KEY=VALUE"),
        ("=3", "KEY=VALUE"),
        ("topology.rat=1mbit", 'did you mean "rate"'),
        ("flow.lng.cc=bbr", 'did you mean "long"'),
        ("link.a.rate=1mbit", "names no link"),
        ("flow.*.packet=1kB", "no flow of this scenario has a packet"),
        ("topology.rate=10mbps", "bps"),
        ("cc=BBR", "congestion control"),
        ("nonsense=1", "no key"),
        ("flow.long.name=x", "no key"),
    ],
)
def test_wrong_sets_are_blamed_on_the_command_line(word: str, says: str) -> None:
    (fault,) = faults(BASE, sets=(word,)).values()
    assert fault.file == "--set"
    assert fault.line is None
    assert says in f"{fault.message} {fault.hint}"


def test_a_set_fixes_a_factor() -> None:
    more = '[sweep]\ncc = ["cubic", "reno"]\ntopology.rate = ["1mbit", "2mbit"]\n'
    assert scenario(more).sweep.size == 4
    assert scenario(more, sets=("topology.rate=5mbit",)).sweep.root == {"cc": ["cubic", "reno"]}


def test_the_canonical_form_is_stable_and_complete() -> None:
    first = scenario('[sweep]\ncc = ["cubic", "reno"]\n')
    again = Scenario.model_validate(first.canonical())
    assert again == first
    assert again.sha256() == first.sha256()
    other = parse_scenario(BASE.replace('"100mbit"', '"0.1gbit"').replace('"20ms"', '"0.02s"'))
    assert other.sha256() == scenario().sha256()
    assert scenario(sets=("seed=2",)).sha256() != scenario().sha256()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FACTORS = st.sampled_from(
    [
        *("cc", "seed", "topology.rate", "flow.*.start", "flow.tcp1.cc", "link.a-b.rate", "readings.qdisc"),
        *("link.*.forward.loss", "sysctl.net.x", "node.a.sysctl.net.x", "together", "x"),
    ]
)
KEYS = st.sampled_from([*Scenario.model_fields, "rate", "between", "name", "kind", "sysctl.net.a", "x"])


SWEEPS = st.dictionaries(FACTORS, st.lists(VALUES, max_size=3) | VALUES, max_size=3)


@given(st.fixed_dictionaries({}, optional={"sweep": SWEEPS}), st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_document_is_a_scenario_or_has_faults(sweep: dict[str, Any], rest: dict[str, Any]) -> None:
    from rushhour.spec.examine import examine  # noqa: PLC0415 the one test of the inside

    scenario_, problems = examine(rest | sweep)
    assert (scenario_ is None) == bool(problems)


def _faults_of(text: str) -> list[Fault] | None:
    """The faults of a text; None where it is a scenario."""
    try:
        parse_scenario(text)
    except ScenarioError as refused:
        return refused.faults
    return None


@given(st.text(max_size=200))
def test_any_text_is_a_scenario_or_has_faults(text: str) -> None:
    assert _faults_of(text) is None or _faults_of(text)


@given(st.data())
def test_any_damage_to_a_file_is_reported(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(BASE) - 1))
    damaged = BASE[:at] + data.draw(st.text(max_size=3)) + BASE[at + 1 :]
    lines = [fault.line or 1 for fault in _faults_of(damaged) or ()]
    assert all(1 <= line <= damaged.count("\n") + 1 for line in lines)


@given(st.sampled_from(["topology", "flow", "link", "readings", "sysctl", "node", "sweep"]), VALUES, FACTORS)
def test_sets_on_any_document_are_faults_at_worst(table: str, value: Any, key: str) -> None:
    document, faults_ = apply_sets(name_flows({table: value}), [f"{key}=1"])
    assert faults_ or document != {table: value}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('title = "x"\nseed = ' + "9" * 5000, 2, "more than 64 bits"),
        ('title = "x"\n\nseed = 0x' + "f" * 17, 3, "more than 64 bits"),
        ("[topology]\nx = [1, [2, 9223372036854775808]]", 2, "more than 64 bits"),
        ("\n" + "a." * 50_000 + "b = 1", 2, "nested too deeply"),
        ("\n\n[" + '"a" . ' * 50_000 + "b]", 3, "nested too deeply"),
        ("[[flow]]\n" * 50_000, None, "more than 2000 tables"),
        ("[sysctl]\n" + "\n".join(f"k{number} = 1" for number in range(50_000)), 1, "more than 500 keys"),
    ],
)
def test_what_no_person_writes_is_refused_at_once(text: str, line: int | None, message: str) -> None:
    # Each of them took minutes, or was a traceback.
    with pytest.raises(ScenarioError, match=message) as refused:
        parse_scenario(text)
    (fault,) = refused.value.faults
    assert fault.line is not None
    assert line is None or fault.line == line


def test_long_lists_are_looked_at_once() -> None:
    text = 'title = "x"\nx = [\n' + "1, # [a]\n" * 50_000 + "]\ny = 1\n"
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(text)
    assert {fault.key: fault.line for fault in refused.value.faults}["y"] == 50_004


def test_many_dots_in_a_text_are_no_key() -> None:
    dots = 'title = "a.b.c' + ".x" * 100 + '"\n'
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(dots)
    assert "nested" not in str(refused.value)
