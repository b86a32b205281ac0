"""The files over which mutants by rule are drawn, in groups."""

from __future__ import annotations

from fnmatch import fnmatch

GROUPS = {
    "TCP core": tuple(
        f"net/ipv4/{name}.c"
        for name in (
            "tcp", "tcp_cong", "tcp_input", "tcp_ipv4", "tcp_minisocks", "tcp_output", "tcp_rate",
            "tcp_recovery", "tcp_timer",
        )
    ),
    "congestion controls": tuple(
        f"net/ipv4/tcp_{name}.c"
        for name in (
            "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
            "scalable", "vegas", "veno", "westwood", "yeah",
        )
    ),
    "queue disciplines": ("net/sched/sch_*.c",),
}  # fmt: skip
"""Patterns by group; each group gives as many mutants as the others, as far as it has them."""


def group_of(file: str) -> str:
    """The group of a file of the tree; `other` if it is in none."""
    return next(
        (name for name, patterns in GROUPS.items() if any(fnmatch(file, one) for one in patterns)), "other"
    )
