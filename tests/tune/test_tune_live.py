"""Tuning a real path: the window that a small buffer held back, applied, verified and reverted."""

import json
from pathlib import Path
from typing import Any

import pytest
from beds.path import Path as Bed
from beds.path import path
from click.testing import CliRunner
from commandline import rush

from rushhour.cli.tune import tune
from rushhour.errors import HostError

pytestmark = [pytest.mark.host, pytest.mark.alone]

SMALL: dict[str, str | int] = {"net.ipv4.tcp_rmem": "4096 87380 174760", "net.ipv4.tcp_sack": 0}


def asked(bed: Bed, folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    where = () if "--revert" in words else ("--out", str(folder))
    done = CliRunner().invoke(tune, [bed.a, bed.b, *words, *where, "--json"], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return int(done.return_value), json.loads(done.stdout)


def test_a_window_that_was_held_back_is_opened_and_closed_again(tmp_path: Path) -> None:
    with path(rate="40mbit", rtt="80ms", sysctl=SMALL) as bed:
        code, plan = asked(bed, tmp_path / "shown", "--rtt", "80ms", "--rate", "40mbit")
        assert (code, plan["path"]["given"]) == (0, ["rtt", "rate"])
        assert {one["setting"] for one in plan["advice"]} >= {"net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"}
        assert bed.nodes["b"].read("net.ipv4.tcp_sack") == "0"

        code, plan = asked(bed, tmp_path / "done", "--apply", "--verify", "--rtt", "80ms", "--rate", "40mbit")
        # A window is smaller than its buffer: 175 kB in 80 ms are 17.5 Mbit/s (RFC 6349, 3.3.1).
        flow = plan["verified"]["directions"]["a→b"]
        assert flow["before"]["single_bps"] < 17.5e6
        assert flow["after"]["single_bps"] > 1.5 * flow["before"]["single_bps"]
        assert (code, plan["verified"]["verdict"]) == (0, "better")
        assert bed.nodes["b"].read("net.ipv4.tcp_sack") == "1"
        assert json.loads((tmp_path / "done/tune.json").read_text(encoding="utf-8")) == plan

        _, again = asked(bed, tmp_path / "again", "--rtt", "80ms", "--rate", "40mbit")
        assert again["advice"] == []
        code, told = asked(bed, tmp_path, "--revert")
        assert code == 0
        assert {entry["outcome"] for entry in [*told["a"], *told["b"]]} == {"restored"}
        for end in ("a", "b"):
            assert bed.nodes[end].read("net.ipv4.tcp_rmem").split() == ["4096", "87380", "174760"]
            assert bed.nodes[end].read("net.ipv4.tcp_sack") == "0"


def told(words: str, folder: Path) -> tuple[int, str, str]:
    done = rush("tune", *words.split(), cwd=folder)
    return done.returncode, done.stdout, done.stderr


def test_where_nothing_is_changed_nothing_is_verified_and_nothing_left_over(tmp_path: Path) -> None:
    with path(rate="40mbit", rtt="80ms", sysctl=SMALL) as bed:
        ends, given = f"{bed.a} {bed.b}", "--rtt 80ms --rate 40mbit"
        code, _, said = told(f"{ends} {given} --apply", tmp_path)
        assert (code, said.splitlines()[-1]) == (0, f"to put it back: rushhour tune {ends} --revert")
        code, screen, said = told(f"{ends} {given} --apply --verify", tmp_path)
        assert (code, "to put it back" in said) == (0, False)
        assert "a: nothing was changed" in screen
        assert "so there was nothing to verify" in screen
        there = sorted((tmp_path / "results" / "tune").rglob("*"))
        code, _, said = told(f"{ends} --profile giannoulatos-3.3 --apply", tmp_path)
        assert (code, "is changed already" in said) == (2, True)
        assert told(f"{bed.a} netns:nowhere", tmp_path)[0] == 2
        assert sorted((tmp_path / "results" / "tune").rglob("*")) == there, "folders of what failed"
        assert "net.ipv4" not in told(f"{ends} {given} --persist", tmp_path)[1]
        assert told(f"{ends} --revert", tmp_path)[0] == 0


def test_what_one_end_refuses_is_taken_back_at_the_other(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    name = "net.ipv4.ip_local_port_range"
    mine.write_text(
        f'title = "x"\n[[change]]\nkind = "sysctl"\nname = "{name}"\nvalue = [1500, 60999]\n',
        encoding="utf-8",
    )
    with path(rate=None, rtt=None) as bed:
        before = bed.nodes["a"].read(name)
        # Ports for everyone may not begin below those for root (ip_local_port_range, ip-sysctl.rst).
        bed.nodes["b"].sysctl("net.ipv4.ip_unprivileged_port_start", 2000)
        with pytest.raises(HostError) as caught:
            asked(bed, tmp_path / "out", "--profile", str(mine), "--apply")
        assert caught.value.where == bed.b
        assert bed.nodes["a"].read(name) == before
        code, told = asked(bed, tmp_path, "--revert")
        assert (code, told) == (0, {"a": [], "b": []})
