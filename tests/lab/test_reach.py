"""Which addresses machines use for an experiment."""

from collections.abc import Callable

import pytest

from rushhour.errors import HostError
from rushhour.lab.host.reach import FIB, IPV6, Way, addresses, local_addresses, way

TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.0.0/30 2 0 2
        |-- 10.0.0.1
           /32 host LOCAL
        |-- 10.0.0.3
           /32 link BROADCAST
     +-- 127.0.0.0/8 2 0 2
           |-- 127.0.0.1
              /32 host LOCAL
Local:
        |-- 10.0.0.1
           /32 host LOCAL
        |-- 192.0.2.7
           /32 host LOCAL
"""
SIX = """\
00000000000000000000000000000001 01 80 10 80       lo
fe80000000000000a8bbccfffe000001 02 40 20 80     eth0
20010db8000000000000000000000005 02 40 00 80     eth0
"""


def test_a_machines_own_addresses_are_those_that_others_may_reach() -> None:
    assert local_addresses({FIB: TRIE, IPV6: SIX}) == ["10.0.0.1", "192.0.2.7", "2001:db8::5"]
    assert local_addresses({}) == []


def test_an_answer_without_a_source_is_no_way() -> None:
    assert way({"found": {"dev": "eth0", "source": "10.0.0.1"}}) == Way("10.0.0.1", "eth0")
    assert way({"found": None}) is None


def routes(table: dict[tuple[str, str], Way]) -> Callable[[str, str], Way | None]:
    return lambda name, to: table.get((name, to))


def test_the_pair_on_one_cable_goes_before_the_pair_behind_routers() -> None:
    table = {
        ("a", "192.0.2.2"): Way("192.0.2.1", "eth0", "192.0.2.254"),
        ("b", "192.0.2.1"): Way("192.0.2.2", "eth0", "192.0.2.254"),
        ("a", "10.0.0.2"): Way("10.0.0.1", "eth1"),
        ("b", "10.0.0.1"): Way("10.0.0.2", "eth1"),
    }
    own = {"a": ["192.0.2.1", "10.0.0.1"], "b": ["192.0.2.2", "10.0.0.2"]}
    assert addresses([("a", "b")], own, routes(table)) == {"a": "10.0.0.1", "b": "10.0.0.2"}


def test_a_way_that_comes_back_from_another_address_is_none() -> None:
    table = {
        ("a", "10.0.0.2"): Way("10.0.0.1", "eth1"),
        ("b", "10.0.0.1"): Way("192.0.2.2", "eth0", "192.0.2.254"),
    }
    with pytest.raises(HostError) as caught:
        addresses([("a", "b")], {"a": ["10.0.0.1"], "b": ["10.0.0.2"]}, routes(table))
    assert "10.0.0.1" in str(caught.value)
    assert "address" in str(caught.value.hint)


def test_a_machine_keeps_its_address_with_all_it_talks_to() -> None:
    table = {
        ("a", "10.0.0.2"): Way("10.0.0.1", "eth1"),
        ("b", "10.0.0.1"): Way("10.0.0.2", "eth1"),
        ("a", "10.0.0.3"): Way("10.0.0.1", "eth1"),
        ("c", "10.0.0.1"): Way("10.0.0.3", "eth1"),
    }
    own = {"a": ["192.0.2.1", "10.0.0.1"], "b": ["10.0.0.2"], "c": ["10.0.0.3"]}
    found = addresses([("a", "b"), ("a", "c")], own, routes(table))
    assert found == {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}
