"""Networks for tests: what keyword arguments mean, and what they cannot. No kernel is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import carried
import pytest

from rushhour.errors import RushHourError, UsageError
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.spec import scenario_of
from rushhour.testing import Network, Setting
from rushhour.testing.outages import patterns

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.spec import Scenario


def made(network: Network) -> Scenario:
    return scenario_of(network._document, folder=network._folder, words=VOCABULARY)


def network(folder: Path, *words: Any, **keys: Any) -> Network:
    return Network(Setting(folder / "runs", folder), *words, **keys)


def test_words_are_keys_of_a_preset_and_of_the_top(tmp_path: Path) -> None:
    one = network(tmp_path, rate="10mbit", rtt="40ms", loss="1%", ecn=True, flow=[{"kind": "tcp"}])
    one.start("s1", "sh -c true")
    found = made(one)
    assert found.topology is not None
    assert (found.topology.preset, str(found.topology.rate), found.ecn) == ("dumbbell", "10mbit", True)
    assert str(found.duration) == "60s"
    assert found.program[0].label == "sh"


def test_links_need_no_preset(tmp_path: Path) -> None:
    one = network(tmp_path, link=[{"between": ["a", "b"], "rate": "1mbit"}])
    one.start("a", ["sh", "-c", "true"])
    assert made(one).topology is None
    with pytest.raises(UsageError, match="rate: a network of links"):
        network(tmp_path, link=[], rate="1mbit")


def test_an_outage_loses_everything_in_both_directions() -> None:
    forward, reverse = patterns(["1s..6s", "10s..11s"], {"loss": "2%"})
    assert forward["steps"] == [["1s", "100%"], ["6s", "2%"], ["10s", "100%"], ["11s", "2%"]]
    assert reverse["steps"] == [["1s", "100%"], ["6s", "0%"], ["10s", "100%"], ["11s", "0%"]]


@pytest.mark.parametrize(
    ("outage", "words"),
    [
        ("5s", "has no end"),
        ("6s..1s", "ends before"),
        ("1s..x", "is not a duration"),
        (["1s..3s", "2s..4s"], "after"),
    ],
)
def test_an_outage_that_makes_no_sense_is_refused(outage: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        patterns(outage, {})
    assert 'outage="2s..7s"' in str(caught.value.hint)


def test_a_scenario_is_looked_for_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(
        'duration = "5s"\ntopology = { preset = "dumbbell", rate = "1mbit", rtt = "1ms" }\n'
    )
    one = network(tmp_path, "net.toml")
    one.start("s1", "sh")
    assert str(made(one).duration) == "5s"
    assert network(tmp_path, "window-scaling")
    with pytest.raises(UsageError, match="rate stands beside a scenario"):
        network(tmp_path, "net.toml", rate="2mbit")
    with pytest.raises(RushHourError, match="there is no such file"):
        network(tmp_path, "nex.toml")


def test_a_function_is_a_program_with_its_files(tmp_path: Path) -> None:
    one = network(tmp_path)
    assert one.start("s1", carried.send, "r1", 8000, 10) == "send"
    assert one.start("s1", carried.send, "r1", 8000, 10, texts={"a.txt": "a"}) == "send2"
    found = made(one)
    assert found.program[1].files == ("a.txt", ".rushhour/inside.py", ".rushhour/send2")
    assert found.file["a.txt"] == "a"
    with pytest.raises(UsageError, match="'r1': only a function takes arguments"):
        one.start("s1", "sh", "r1")
