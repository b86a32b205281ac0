"""The table of causes: everything that `explain`, `diagnose` and `tune` can name, once.

To add a cause: one row in one of the files that stand here, and the rule that finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes import at_hosts, on_devices, on_flows, on_full_paths, on_paths, on_senders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.causes.cause import Cause

SECTIONS: Mapping[str, tuple[Cause, ...]] = {
    "What the ends of a flow hold back": on_flows.AT_THE_HOSTS,
    "What a sender's kernel was told": on_senders.SENDERS,
    "Where losses come from": on_flows.LOSSES,
    "A full path": on_full_paths.PATHS,
    "Nothing passes": on_paths.NOTHING_PASSES,
    "Paths that treat packets unevenly": on_paths.UNEVEN,
    "Packet sizes": on_paths.SIZES,
    "Connections of programs": on_paths.CONNECTIONS,
    "Sockets": at_hosts.SOCKETS,
    "TCP's settings": at_hosts.TCP,
    "Packet filters": at_hosts.FILTERS,
    "Routes": at_hosts.ROUTES,
    "Queues on devices": on_devices.QUEUES,
    "Lines": on_devices.LINES,
    "Cards": on_devices.CARDS,
    "Machines": on_devices.MACHINES,
    "Set beforehand": at_hosts.PRECAUTIONS,
}
"""Heading → its causes, in the order of documents."""


def _rows() -> Iterator[Cause]:
    return (cause for section in SECTIONS.values() for cause in section)


CAUSES: Mapping[str, Cause] = {cause.key: cause for cause in _rows()}
"""Key → cause."""

WORDS: Mapping[str, str] = {cause.word: cause.key for cause in _rows() if cause.word}
"""The word of an explanation → key."""
