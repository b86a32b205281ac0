"""Two endpoints side by side: what limits a transfer between them, why, and what to do about it.

    found = rushhour.diagnose("local", "alice")
    found.answer, found.findings, found.document()

`rushhour.diagnose(…)` is `run(…)` here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.diagnosis.diagnosis import Diagnosis


def run(
    a: str,
    b: str,
    *,
    quick: bool = False,
    rate_bps: float | None = None,
    ssh_config: str | Path | None = None,
    sudo: bool = False,
    address_a: str | None = None,
    address_b: str | None = None,
    out: Path | str | None = None,
) -> Diagnosis:
    """Diagnose the path between two places, each `local`, `netns:NAME`, or a host as `ssh` knows it.

    Args:
        a: One end.
        b: The other end.
        quick: About 6 s instead of 25 s.
        rate_bps: Send no datagrams faster than this.
        ssh_config: Configuration of the OpenSSH client instead of the user's.
        sudo: Start the agents by `sudo -n`.
        address_a: Address of `a` to which data goes; by default by the routes.
        address_b: Of `b`, likewise.
        out: Folder of the diagnosis; by default `results/diagnose/A..B/DATE-TIME`.

    Raises:
        UsageError: the words make no sense.
        HostError: an end cannot be reached by its place, or went away.
    """
    from pathlib import Path  # noqa: PLC0415 - asked for here only

    from rushhour.diagnosis.live import Asked, carry_out  # noqa: PLC0415 - loads scientific packages

    folder = None if out is None else Path(out)
    return carry_out(Asked(a, b, quick, rate_bps, ssh_config, sudo, address_a, address_b, folder))
