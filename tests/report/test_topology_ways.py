"""The drawing of a topology whose links are several cables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import builders as make

from rushhour.report.topology import topology_svg

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record


def two_cables(folder: Path, **second: Any) -> Record:
    """A host and a switch joined by two cables: ends 0, 1 and 2, 3."""
    cables = [{"ends": [{"node": "a"}, {"node": "switch"}], "name": f"a-switch#{k}"} for k in (1, 2)]
    plan = {
        "nodes": [{"name": "a", "forward": False}, {"name": "switch", "forward": False}],
        "links": cables,
        "devices": [{"node": "switch", "dev": "bridge"}],
    }
    ends = [make.end(0, "a → switch #1", node="a"), make.end(2, "a → switch #2", node="a", **second)]
    flow = make.flow(ends=[0], ways=[[0], [2]], reverse_ends=[1], bottleneck_end=0, bottleneck_ends=[0, 2])
    return make.record(folder, flows=[flow], ends=ends, plan=plan)


def test_cables_that_are_alike_are_counted(tmp_path: Path) -> None:
    svg = topology_svg(two_cables(tmp_path / "run"))
    assert "2 × 100 Mbit/s" in svg  # noqa: RUF001 the sign is meant
    assert svg.count('rx="4"') == 1  # the switch has the corners of what passes packets on


def test_cables_that_differ_are_told_apart(tmp_path: Path) -> None:
    svg = topology_svg(two_cables(tmp_path / "run", rate_bps=20_000_000))
    assert "100 Mbit/s · fifo" in svg
    assert "20 Mbit/s · fifo" in svg


def test_what_slanted_lines_do_stands_on_their_outer_sides(tmp_path: Path) -> None:
    links = [{"ends": [{"node": "a"}, {"node": name}]} for name in ("over", "under")]
    nodes = [{"name": name, "forward": False} for name in ("a", "over", "under")]
    ends = [
        make.end(0, "a → over", node="a", rate_bps=30_000_000),
        make.end(2, "a → under", node="a", rate_bps=20_000_000),
    ]
    flow = make.flow(ends=[0], ways=[[0], [2]], reverse_ends=[1], bottleneck_end=0, bottleneck_ends=[0, 2])
    svg = topology_svg(
        make.record(tmp_path / "run", flows=[flow], ends=ends, plan={"nodes": nodes, "links": links})
    )
    at = {
        text: float(y) for y, text in re.findall(r'<text class="t-\w+" x="[\d.]+" y="([\d.]+)">([^<]*)', svg)
    }
    (over,) = (y for text, y in at.items() if text.startswith("30 Mbit/s"))
    (under,) = (y for text, y in at.items() if text.startswith("20 Mbit/s"))
    assert over < at["a"] < under
    assert at["over"] < at["under"]


def test_a_link_says_when_no_route_leads_over_it(tmp_path: Path) -> None:
    def drawn(name: str, *changes: tuple[int, float], key: str = "route") -> str:
        listed = [{"t_ns": t * 10**9, "end": 0, "key": key, "value": value} for t, value in changes]
        links = [{"ends": [{"node": "a"}, {"node": "b"}]}]
        nodes = [{"name": one, "forward": True} for one in "ab"]
        plan = {"nodes": nodes, "links": links, "changes": listed}
        flow = make.flow(ends=[0], reverse_ends=[1], bottleneck_end=0)
        record = make.record(tmp_path / name, flows=[flow], ends=[make.end(0, "a → b", node="a")], plan=plan)
        return topology_svg(record)

    assert "no route" not in drawn("never")
    assert "no route" not in drawn("rate", (1, 0.0), key="rate")
    assert "no route from 1 s to 4 s<" in drawn("once", (1, 0.0), (4, 1.0))
    assert "no route from 1 s to 2 s and from 3 s on<" in drawn("on", (1, 0.0), (2, 1.0), (3, 0.0))
    often = [(2 * n + down, float(down)) for n in range(3) for down in (0, 1)]
    assert "no route 3 times<" in drawn("often", *often)


def test_what_a_long_queue_is_called_stays_between_its_nodes(tmp_path: Path) -> None:
    queue = "codel limit 1000 target 1s interval 1s ce_threshold 100us ecn"
    nodes = [{"name": name, "forward": name in "bc"} for name in "abcd"]
    links = [{"ends": [{"node": a}, {"node": b}]} for a, b in ("ab", "bc", "cd")]
    ends = [make.end(0, "a → b", node="a"), make.end(2, "b → c", node="b", queue=queue)]
    ends.append(make.end(4, "c → d", node="c"))
    flow = make.flow(ends=[0, 2, 4], reverse_ends=[5, 3, 1], bottleneck_end=2)
    svg = topology_svg(
        make.record(tmp_path / "run", flows=[flow], ends=ends, plan={"nodes": nodes, "links": links})
    )
    lines = re.findall(r'<text class="t-said" x="([\d.]+)" y="([\d.]+)">([^<]*)', svg)
    long = [(float(x), float(y), text) for x, y, text in lines if "codel" in text or "ce_threshold" in text]
    assert len(long) >= 2
    assert all(len(text) * 6.3 < 290 for _, _, text in long)
    assert all(y > 5 for _, y, _ in long)


def test_long_names_that_differ_at_their_ends_are_told_apart(tmp_path: Path) -> None:
    names = [f"server-of-the-data-centre-{n}" for n in (1, 2)]
    links = [{"ends": [{"node": names[0]}, {"node": names[1]}]}]
    nodes = [{"name": name, "forward": False} for name in names]
    flow = make.flow(ends=[0], reverse_ends=[1], bottleneck_end=0)
    ends = [make.end(0, node=names[0]), make.end(1, node=names[1])]
    svg = topology_svg(
        make.record(tmp_path / "run", flows=[flow], ends=ends, plan={"nodes": nodes, "links": links})
    )
    assert re.findall(r'class="t-name"[^>]*>([^<]*)', svg) == ["server-…ntre-1", "server-…ntre-2"]
    assert re.findall("<title>([^<]*)", svg) == names


def test_a_plan_without_links_or_names_has_no_drawing(tmp_path: Path) -> None:
    # Those of machines have none; a damaged one may lack any of these.
    planned = {"nodes": [{"name": "left"}], "links": [{"ends": [{"node": "left"}]}, {"ends": []}]}
    usual: dict[str, Any] = {
        "flows": [make.flow(ends=[0, 2], reverse_ends=[])],
        "ends": [make.end(0), make.end(2)],
    }
    for number, plan in enumerate(({}, {"links": None, "nodes": None}, {"links": []}, planned)):
        record = make.record(tmp_path / str(number), plan=plan, **usual)
        assert topology_svg(record) == ""
        assert record.plan["flows"]
    drawn = {"links": [{"ends": [{"node": "a"}, {"node": "unnamed"}]}] * 2}
    assert "unnamed" in topology_svg(make.record(tmp_path / "more", plan=drawn, **usual))
