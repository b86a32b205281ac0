"""Loads on this machine's own processors and memory, in the netns lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushhour.errors import UnsupportedError
from rushhour.lab.base import Job
from rushhour.lab.netns import NetnsLab
from rushhour.lab.realtime import running_kernel
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.spec import parse_scenario

PAIR = """\
duration = "1s"
labs = ["netns"]
[[link]]
between = ["a", "b"]
jitter = "0us"
offload = true
[[flow]]
cc = "cubic"
[[load]]
node = "a"
"""

pytestmark = [pytest.mark.host, pytest.mark.alone]


def carry_out(text: str, place: Path) -> Record:
    lowered = lower(parse_scenario(text), 1)
    lab = NetnsLab()
    job = Job(lowered.plan, lowered.context, running_kernel(), {}, "now")
    return Record.open(lab.run(job, place / "run"))


def loads_running() -> list[str]:
    """Command lines of loads on this machine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"load"] or words[0].endswith(b"stress-ng"):
            found.append(b" ".join(words).decode())
    return found


def test_a_worker_has_at_most_the_share_that_was_asked_for(tmp_path: Path) -> None:
    record = carry_out(PAIR + "workers = 2\nshare = 0.25\n", tmp_path)
    (load,) = record.result["loads"]
    assert (load["name"], load["node"], load["kind"]) == ("cpu", "a", "cpu")
    shares = load["report"]["cpu_share"]
    assert len(shares) == 2
    # A tick more: it looks at its own time in between.
    assert all(0 < share <= 0.26 for share in shares)
    assert record.result["flows"][0]["bytes_received"] > 0
    assert loads_running() == []


def test_memory_is_written_to_again_and_again(tmp_path: Path) -> None:
    (load,) = carry_out(PAIR + 'kind = "memory"\nsize = "16MiB"\nworkers = 2\n', tmp_path).result["loads"]
    assert load["report"]["bytes"] == 16 << 20
    assert all(passes > 1 for passes in load["report"]["passes"])


def test_stress_ng_makes_a_load_and_leaves_nothing(tmp_path: Path) -> None:
    record = carry_out(PAIR + 'generator = "stress-ng"\nshare = 0.5\nworkers = 1\n', tmp_path)
    assert record.result["loads"][0]["report"] is None
    assert "stress-ng" in record.manifest["tools"]
    assert loads_running() == []


def test_memory_that_the_machine_needs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="leave too little") as caught:
        carry_out(PAIR + 'kind = "memory"\nsize = "1000GiB"\n', tmp_path)
    assert "A quarter" in str(caught.value.hint)


def test_what_shall_be_swapped_needs_swap(tmp_path: Path) -> None:
    swap = sum(int(line.split()[2]) for line in Path("/proc/swaps").read_text().splitlines()[1:])
    text = f'kind = "memory"\nsize = "{(swap + (64 << 10)) * 1024}B"\nlimit = "{32 << 20}B"\n'
    with pytest.raises(UnsupportedError, match="swap"):
        carry_out(PAIR + text, tmp_path)
    left = [
        *Path("/sys/fs/cgroup").glob("rushhour-load-*"),
        *Path("/sys/fs/cgroup/memory").glob("rushhour-load-*"),
    ]
    assert left == []
