"""Inventories: what a file may say, what is wrong with it and where, words of the command line."""

from pathlib import Path

import pytest

from rushhour.errors import ScenarioError, UsageError
from rushhour.lab.host.inventory import Host, Inventory, between, load_inventory, make_inventory, schema

GOOD = """\
[host.s1]
at = "alice"
address = "10.0.0.1"
device = "eth1"

[host.r1]
at = "bob@example.org"

[host.left]
at = "carol"
forward = "eth2"
backward = "eth1"
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    return path


def test_a_file_says_who_is_where(tmp_path: Path) -> None:
    inventory = load_inventory(write(tmp_path, GOOD))
    assert list(inventory.ends) == ["s1", "r1"]
    assert inventory.emulator is not None
    assert inventory.emulator[0] == "left"
    assert inventory.host["s1"].address == "10.0.0.1"
    assert inventory.seats(["s1", "r1"]) == {"s1": "s1", "r1": "r1"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[host.s1]\nat = "alice"\nadress = "10.0.0.1"\n[host.r1]\nat = "bob"\n', 3, 'mean "address"'),
        ('[host.s1]\nat = "-oProxyCommand=x"\n[host.r1]\nat = "bob"\n', 2, "-oProxyCommand"),
        ('[host.s1]\nat = "al ice"\n[host.r1]\nat = "bob"\n', 2, "blank"),
        (
            '[host.s1]\nat = "alice"\naddress = "10.0.0.300"\n[host.r1]\nat = "bob"\n',
            3,
            "is not an IP address",
        ),
        (
            '[host.s1]\nat = "alice"\ndevice = "eth0/../x"\n[host.r1]\nat = "bob"\n',
            3,
            "no name of a network device",
        ),
        ('[host.s1]\naddress = "10.0.0.1"\n[host.r1]\nat = "bob"\n', 1, "missing"),
        ('[host.s1]\nat = "alice"\n', 1, "two machines"),
        (GOOD.replace('backward = "eth1"\n', ""), 9, "backward is missing"),
        (GOOD.replace('"eth2"', '"eth1"'), 12, "is the device of `forward`, too"),
        (
            GOOD + '\n[host.right]\nat = "dave"\nforward = "a"\nbackward = "b"\n',
            14,
            "left is the emulator already",
        ),
        ('[hosts.s1]\nat = "alice"\n', 1, "unknown key"),
        ('[host."a b"]\nat = "alice"\n[host.r1]\nat = "bob"\n', 1, "no name of a node"),
        ('[host.s1]\nat = "alice"\nsudo = "perhaps"\n[host.r1]\nat = "bob"\n', 3, "true or false"),
    ],
)
def test_every_fault_has_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_inventory(write(tmp_path, text))
    assert any(fault.line == line and words in str(fault) for fault in caught.value.faults), str(caught.value)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    text = '[host.s1]\nat = "al ice"\naddress = "x"\n[host.r1]\nat = "bob"\nnice = 1\n'
    with pytest.raises(ScenarioError) as caught:
        load_inventory(write(tmp_path, text))
    assert [fault.line for fault in caught.value.faults] == [2, 3, 6]


def test_an_inventory_is_a_fleet_s_too(tmp_path: Path) -> None:
    more = 'python = "/opt/py"\ncpus = 2\nmemory = "2GB"\nlisten = "10.0.0.1"\n'
    fleet = '[fleet]\nscheduler = "alice"\nlisten = "10.0.0.9"\nport = 8786\n'
    text = f'{fleet}[host.s1]\nat = "alice"\n{more}[host.r1]\nat = "bob"\n'
    inventory = load_inventory(write(tmp_path, text))
    assert inventory.fleet.port == 8786
    host = inventory.host["s1"]
    assert (host.cpus, host.memory and host.memory.bytes) == (2, 2 * 10**9)
    assert make_inventory(write(tmp_path, text), ["s1=local"]).host["s1"].memory == host.memory
    # A fleet is one machine at least.
    one = write(tmp_path, '[host.a]\nat = "alice"\n')
    assert list(load_inventory(one, fewest=1).host) == ["a"]
    with pytest.raises(ScenarioError, match="there is no machine"):
        load_inventory(write(tmp_path, "[host]\n"), fewest=1)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[host.a]\nat = "a"\npython = "python3"\n', 3, "no path of a program"),
        ('[host.a]\nat = "a"\ncpus = 0\n', 3, "cpus"),
        ('[host.a]\nat = "a"\nmemory = "2"\n', 3, "memory"),
        ('[host.a]\nat = "a"\n[fleet]\nport = 70000\n', 4, "port"),
        ('[host.a]\nat = "a"\n[fleet]\nscheduler = "-x"\n', 4, "-x"),
        ('[host.a]\nat = "a"\n[fleet]\nscheduller = "x"\n', 4, 'mean "scheduler"'),
    ],
)
def test_faults_of_a_fleet(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_inventory(write(tmp_path, text), fewest=1)
    assert any(fault.line == line and words in str(fault) for fault in caught.value.faults), str(caught.value)


def test_words_of_the_command_line_make_an_inventory() -> None:
    inventory = make_inventory(None, ["s1=alice", "r1=netns:bob"])
    assert {name: host.at for name, host in inventory.host.items()} == {"s1": "alice", "r1": "netns:bob"}


def test_words_go_before_the_file(tmp_path: Path) -> None:
    inventory = make_inventory(write(tmp_path, GOOD), ["s1=local"])
    assert inventory.host["s1"].at == "local"
    assert inventory.host["s1"].device == "eth1"


@pytest.mark.parametrize("words", [["s1"], ["=alice", "r1=bob"], ["s1=", "r1=bob"]])
def test_a_word_that_is_none_is_said(words: list[str]) -> None:
    with pytest.raises(UsageError, match="NODE=PLACE"):
        make_inventory(None, words)


def test_nothing_at_all_says_what_to_give() -> None:
    with pytest.raises(UsageError) as caught:
        make_inventory(None, [])
    assert "--hosts" in str(caught.value.hint)


def test_a_bad_place_on_the_command_line_names_its_host() -> None:
    with pytest.raises(ScenarioError) as caught:
        make_inventory(None, ["s1=-oX", "r1=bob"])
    assert "host.s1.at" in str(caught.value)


def patterned(*names: str) -> Inventory:
    return Inventory.model_validate({"host": {name: {"at": "local"} for name in names}})


def test_patterns_take_what_no_name_takes() -> None:
    nodes = ["s1", "s2", "s3", "r1"]
    assert patterned("s*", "s2", "r1").seats(nodes) == {"s1": "s*", "s2": "s2", "s3": "s*", "r1": "r1"}


def test_a_node_without_a_machine_and_a_machine_without_a_node_are_said() -> None:
    with pytest.raises(UsageError, match="r1, r2"):
        patterned("s1", "x").seats(["s1", "r1", "r2"])
    with pytest.raises(UsageError) as caught:
        patterned("s1", "r1", "r11").seats(["s1", "r1"])
    assert "r11" in str(caught.value)


def test_two_machines_are_named_in_a_word_each() -> None:
    inventory = between({"a": "10.0.0.1"}, a="local", b="bob")
    assert inventory.host["a"].address == "10.0.0.1"
    assert inventory.host["b"].at == "bob"
    with pytest.raises(ScenarioError, match="is not an IP address"):
        between({"a": "10.0.0.1.2"}, a="local", b="bob")


def test_the_schema_knows_every_key() -> None:
    assert set(schema()["$defs"]["Host"]["properties"]) == set(Host.model_fields)
