"""Profiles: those that ship, a user's own, and what is said of a wrong one."""

from pathlib import Path

import pytest

from rushhour.errors import ScenarioError, UsageError
from rushhour.lab.host import settings
from rushhour.lab.profile import KINDS, Change, find_profile, shipped


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_every_change_that_ships_has_its_reason_and_its_source() -> None:
    for found in shipped():
        for change in found.profile.change:
            assert change.reason, (found.name, change)
            assert change.source, (found.name, change)


def test_the_list_of_giannoulatos_is_the_papers() -> None:
    found = find_profile("giannoulatos-3.3")
    made = {change.name: change.value for change in found.profile.change if change.kind == "sysctl"}
    assert made == {
        "net.ipv4.tcp_rmem": [4096, 87380, 67108864],
        "net.ipv4.tcp_wmem": [4096, 65536, 67108864],
        "net.ipv4.tcp_mtu_probing": 1,
        "net.core.netdev_max_backlog": 250000,
        "net.core.rmem_max": 67108864,
        "net.core.wmem_max": 67108864,
        "net.ipv4.tcp_congestion_control": "htcp",
        "net.ipv4.tcp_sack": 0,
        "net.ipv4.tcp_timestamps": 0,
    }
    optional = [change.name for change in found.profile.change if change.optional]
    assert optional == ["net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps"]
    others = [change for change in found.profile.changes("eth1") if change["kind"] != "sysctl"]
    assert others == [
        {"kind": "mtu", "dev": "eth1", "value": 9000},
        {"kind": "ethtool-feature", "dev": "eth1", "name": "tso", "value": False},
        {"kind": "txqueuelen", "dev": "eth1", "value": 10000},
    ]


def test_optional_changes_are_made_only_when_asked_for() -> None:
    profile = find_profile("giannoulatos-3.3").profile
    assert len(profile.changes("eth1", optional=True)) == len(profile.changes("eth1")) + 2


def test_a_profile_that_needs_a_device_says_so() -> None:
    with pytest.raises(UsageError, match="which"):
        find_profile("giurgiu").profile.changes(None)
    assert all("dev" not in change for change in find_profile("measurement").profile.changes(None))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        find_profile("measurment")
    assert '"measurement"' in str(caught.value)


def test_every_fault_of_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    text = """
title = "mine"
[[change]]
kind = "sysctl"
name = "net.ipv4.tcp_sack"
value = 1
dev = "eth0"
[[change]]
kind = "ring"
[[change]]
kind = "mtu"
words = "fq"
value = 4
"""
    with pytest.raises(ScenarioError) as caught:
        find_profile(written(tmp_path, text))
    assert [(fault.line, fault.key) for fault in caught.value.faults] == [
        (7, "change.1.dev"),
        (8, "change.2"),
        (12, "change.3.words"),
    ]


def test_an_unknown_key_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match='did you mean "value"'):
        find_profile(written(tmp_path, 'title = "x"\n[[change]]\nkind = "mtu"\nvalu = 4\n'))


def test_words_of_ethtool_are_keys(tmp_path: Path) -> None:
    text = 'title = "x"\n[[change]]\nkind = "coalesce"\nrx-usecs = 0\nadaptive-rx = false\n'
    (change,) = find_profile(written(tmp_path, text)).profile.changes("eth1")
    assert change == {"kind": "coalesce", "dev": "eth1", "rx-usecs": 0, "adaptive-rx": False}


def test_the_kinds_are_the_agents() -> None:
    source = (Path(__file__).parents[2] / "agent/src/host/settings/kinds.rs").read_text(encoding="utf-8")
    assert all(f'"{kind}"' in source for kind in KINDS)
    assert set(Change.model_fields) > {"kind", "reason", "source"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("4096 87380", "4096 87380"),
        ({"value": 9000, "ipv6": None}, "9000"),
        ({"requested": {"a": True}, "active": {"a": False, "b": True}}, "on"),
        ({"requested": {"a": False}, "active": False}, "off"),
        ({"qdisc": "fq", "handle": 0, "options": "00", "below": [], "filters": False}, "fq"),
        ({"words": "fq limit 9"}, "fq limit 9"),
        ({"rx": 256, "tx": 512}, "rx 256 tx 512"),
        ({"cpu0": "performance", "cpu1": "performance"}, "performance"),
        ({"cpu0": "performance", "cpu1": "powersave"}, "cpu0 performance cpu1 powersave"),
    ],
)
def test_values_are_told_in_words(value: object, words: str) -> None:
    assert settings.text(value) == words
