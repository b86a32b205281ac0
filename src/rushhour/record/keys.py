"""How `--set` calls what an advice changes: keys of links and hosts in a record's scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rushhour.record.context import End, LinkClass
    from rushhour.record.record import Record


def of_link(record: Record, end: End | None, name: str) -> str:
    """The key of a queue's `name` (queue, buffer, rate) at this link end; empty where that is not plain."""
    resolved = record.manifest.scenario.resolved
    return "" if end is None or end.role != "queue" else _of_end(resolved, end, name)


def of_queue(record: Record, end: End, entry: LinkClass | None, key: str) -> str:
    """The key of a `queue` or `buffer` here: a class's own where it has one, else the link's."""
    whole = of_link(record, end, key)
    if entry is None or not whole:
        return whole
    resolved = record.manifest.scenario.resolved
    *way, _ = whole.split(".")
    places: list[tuple[Sequence[str], Mapping[str, Any]]] = [(way, resolved.get("topology") or {})]
    if way[0] == "link":
        link: Mapping[str, Any] = next((one for one in resolved["link"] if _name(one) == way[1]), {})
        places = [(way, link.get(way[-1]) or {}), (way[:-1], link)]
    for path, table in places:
        if any(one.get("name") == entry.name and one.get(key) for one in table.get("class") or ()):
            return ".".join((*path, "class", entry.name, key))
    return whole


def _name(link: Mapping[str, Any]) -> str:
    return str(link.get("name") or "-".join(link.get("between", ())))


def of_burst(record: Record, policers: Sequence[End]) -> str:
    """The key of the burst of the one policer on a way; empty: there are several, or it is not plain."""
    if len(policers) != 1:
        return ""
    resolved = record.manifest.scenario.resolved
    key = _of_end(resolved, policers[0], "police.burst")
    first, _, rest = key.partition(".")
    if first == "topology":
        return key if resolved["topology"].get("police") else ""
    side = rest.split(".")[-3:-2]
    named = [link for link in resolved.get("link", []) if side and (link.get(side[0]) or {}).get("police")]
    label = policers[0].label.partition(",")[0].split(" → ")
    return key if any({*link["between"]} == {*label} for link in named) else ""


def _of_end(resolved: Mapping[str, Any], end: End, name: str) -> str:
    # A stage that an emulator carries has the emulator's node; the label names the link's own nodes.
    here, arrow, there = end.label.partition(",")[0].partition(" → ")
    if not arrow:
        return ""
    if "topology" in resolved:
        return _of_preset(resolved["topology"], here, there, name)
    links = [link for link in resolved.get("link", []) if {*link.get("between", ())} == {here, there}]
    if len(links) != 1:
        return ""
    side = "forward" if here == links[0]["between"][0] else "reverse"
    return f"link.{_name(links[0])}.{side}.{name}"


def _of_preset(topology: Mapping[str, Any], here: str, there: str, name: str) -> str:
    """Routers follow each other in the data's direction, between the senders s1 … and the receivers r1 …."""
    routers = {"dumbbell": ("left", "right"), "star": ("hub",)}.get(str(topology.get("preset")))
    ranks = {router: place for place, router in enumerate(routers or ())}
    if routers is None and here[0] == there[0] == "n":
        ranks = {node: int(node[1:]) for node in (here, there)}
    first, last = -1, 1 << 30
    ahead = [ranks.get(node, first if node.startswith("s") else last) for node in (here, there)]
    if ahead[0] < ahead[1]:
        return f"topology.{name}"
    return f"topology.reverse_{name}" if name in ("queue", "buffer", "rate") else ""


def own_sysctls(resolved: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Node → the sysctls that it has of its own, over those of all nodes."""
    return {
        str(node.get("name")): frozenset(_names(node.get("sysctl") or {}))
        for node in resolved.get("node", [])
        if isinstance(node, dict)
    }


def _names(table: Mapping[str, object], before: str = "") -> Iterable[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _names(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"
