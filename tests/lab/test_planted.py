"""Planted faults (`planted/tcp_planted.c`): each is found by what has to find it, and by nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import Kernel, given

PLANTED = Path(__file__).parent / "planted/tcp_planted.c"
# By algorithm: the sanitizers (none: every kernel), and how the kernel complains, an expression.
FOUND = {
    "p_freed": ("kasan", "BUG: KASAN: slab-use-after-free"),
    "p_beyond": ("kasan", "BUG: KASAN: slab-out-of-bounds"),
    "p_shift": ("ubsan", r"UBSAN: shift-out-of-bounds in net/with/tcp_planted\.c"),
    "p_index": ("ubsan", r"UBSAN: array-index-out-of-bounds in net/with/tcp_planted\.c"),
    "p_order": ("lockdep", "WARNING: possible circular locking dependency detected"),
    "p_sleeps": ("lockdep", "Illegal context switch in RCU read-side critical section"),
    "p_rcu": ("lockdep", "WARNING: suspicious RCU usage"),
    "p_leak": ("kmemleak", "kmemleak: unreferenced object"),
    "p_device": ("debug-net kmemleak", "unregister_netdevice: waiting for left to become free"),
    "p_refs": ("", r"refcount_t: addition on 0; use-after-free\."),
    "p_warns": ("", r"WARNING: (CPU: 0 PID: 0 at )?net/with/tcp_planted\.c:"),
}
SCENARIO = f"""
title = "A fault in each congestion control"
duration = "800ms"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
[[flow]]
cc = "reno"
[sweep]
cc = {json.dumps(["reno", *FOUND])}
"""


def test_the_file_has_what_is_expected_of_it() -> None:
    made = given.read([str(PLANTED)], [])
    assert made is not None
    assert sorted(name.text for _, name in made.names) == sorted(FOUND)


def planted() -> list[Kernel]:
    return [one for one in kernels.installed() if "p_freed" in str(one.identity.get("brings", ""))]


@pytest.mark.virtual
def test_each_fault_is_found_by_what_has_to_find_it(tmp_path: Path) -> None:
    if not planted():
        pytest.skip(f"takes 15 min: rushhour kernel build debian:6.12 --with lockdep --with {PLANTED}")
    (tmp_path / "planted.toml").write_text(SCENARIO)
    for kernel in planted():
        out = tmp_path / kernel.name
        words = ["run", "planted.toml", "--kernel", kernel.name, "--no-report", "--fresh", "--out", str(out)]
        done = subprocess.run(
            [str(Path(sys.executable).with_name("rushhour")), *words],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        failed = {
            one["cell"]["factors"]["cc"]: one["message"]
            for one in json.loads((out / "set.json").read_text())["failures"]
        }
        there = set(kernel.identity["source"].get("sanitizers", "").split())
        assert set(failed) == {name for name, (by, _) in FOUND.items() if not by or there & set(by.split())}
        for name, said in failed.items():
            assert re.search(FOUND[name][1], said), f"{kernel.name}: {name}: {said}"
