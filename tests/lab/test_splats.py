"""What kernels say of themselves, in their own words: found, told apart, cut to what matters."""

from pathlib import Path

import pytest

from rushhour.errors import GuestError
from rushhour.lab import splats

QUIET = """\
Core dump limits :
[    0.000000] Linux version 6.12.117 (rushhour@lab)
[    0.000000] NET: Registered PF_INET protocol family
[    0.010000] TCP: cubic registered
[    0.020000] random: WARNING is only a word here
"""
KASAN = """\
[    1.234567] ==================================================================
[    1.234567] BUG: KASAN: slab-use-after-free in mine_cong_avoid+0x3f/0x90
[    1.234568] Read of size 4 at addr 0000000062a1b280 by task init/1
[    1.234568]
[    1.234569] CPU: 0 UID: 0 PID: 1 Comm: init Not tainted 6.12.117 #1
[    1.234569] Stack:
[    1.234569]  60a3f9b0 60035f0d 60a3f9d0 603fd20f
[    1.234570] Call Trace:
[    1.234570]  [<60035f00>] ? show_stack+0x0/0x120
[    1.234570]  [<60035f0d>] ? dump_stack+0x2a/0x2e
[    1.234571] ==================================================================
[    1.234580] Disabling lock debugging due to kernel taint
"""
REFERENCES = """\
[    2.000000] ------------[ cut here ]------------
[    2.000000] refcount_t: underflow; use-after-free.
[    2.000001] WARNING: CPU: 0 PID: 1 at lib/refcount.c:28 refcount_warn_saturate+0x10/0x20
[    2.000001] Modules linked in:
[    2.000002] ---[ end trace 0000000000000000 ]---
"""
LOCKS = """\
[    0.500000] ======================================================
[    0.500000] WARNING: possible circular locking dependency detected
[    0.500001] 6.12.117 #1 Not tainted
[    0.500001] ------------------------------------------------------
[    0.500002] init/1 is trying to acquire lock:
"""


def found(tmp_path: Path, text: str) -> list[splats.Splat]:
    console = tmp_path / "console"
    console.write_text(text, encoding="utf-8")
    return splats.splats(console)


def test_a_kernel_that_is_well_says_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, QUIET) == []
    splats.check(tmp_path / "console", "here", begun_s=0.0)
    splats.check(tmp_path / "none", "here", begun_s=0.0)


def test_a_use_after_free_with_its_instant_and_its_own_words(tmp_path: Path) -> None:
    (one,) = found(tmp_path, QUIET + KASAN)
    assert one.title == "BUG: KASAN: slab-use-after-free in mine_cong_avoid+0x3f/0x90"
    assert one.at_s == 1.234567
    assert one.lines[1] == "Read of size 4 at addr 0000000062a1b280 by task init/1"
    assert one.lines[-2:] == ("Call Trace:", " [<60035f0d>] ? dump_stack+0x2a/0x2e")


def test_who_freed_it_is_told_and_doubted_calls_make_room_for_it(tmp_path: Path) -> None:
    doubted = "".join(f"[    1.234570]  [<60035f{n:02x}>] ? memcpy+0x51/0x70\n" for n in range(200))
    sure = "[    1.234570]  [<60700000>] tcp_rcv_established+0x429/0xcd0\n"
    freed = "[    1.234570] Freed by task 0:\n[    1.234570]  kfree_skbmem+0x79/0xf0\n"
    end = "[    1.234571] ==="
    (one,) = found(tmp_path, KASAN.replace(end, f"{doubted}{sure}{freed}{end}"))
    assert one.lines[-4:] == (
        "Call Trace:", " [<60700000>] tcp_rcv_established+0x429/0xcd0", "Freed by task 0:",
        " kfree_skbmem+0x79/0xf0",
    )  # fmt: skip


def test_the_reason_of_a_warning_and_the_warning_are_one_complaint(tmp_path: Path) -> None:
    (one,) = found(tmp_path, REFERENCES)
    assert one.title == "refcount_t: underflow; use-after-free."
    assert one.lines[1].startswith("WARNING: CPU: 0 PID: 1 at lib/refcount.c:28")


# As User-Mode Linux has it (6.12.117, planted).
REFERENCES_OF_UML = """\
[   64.092000] ------------[ cut here ]------------
[   64.092000] WARNING: CPU: 0 PID: 0 at lib/refcount.c:25 refcount_warn_saturate+0x14b/0x1c0
[   64.092000] refcount_t: addition on 0; use-after-free.
[   64.092000] CPU: 0 UID: 0 PID: 0 Comm: swapper Not tainted 6.12.117 #1
[   64.092000] ---[ end trace 0000000000000000 ]---
"""
PLAIN_WARNING = """\
[   64.092000] ------------[ cut here ]------------
[   64.092000] WARNING: CPU: 0 PID: 0 at net/with/tcp_planted.c:98 warns+0x2c/0x30
[   64.092000] CPU: 0 UID: 0 PID: 0 Comm: swapper Not tainted 6.12.117 #1
[   64.092000] ---[ end trace 0000000000000000 ]---
"""


def test_a_reason_behind_its_warning_belongs_to_it(tmp_path: Path) -> None:
    first, second = found(tmp_path, REFERENCES_OF_UML + PLAIN_WARNING)
    assert first.title == (
        "WARNING: CPU: 0 PID: 0 at lib/refcount.c:25 refcount_warn_saturate+0x14b/0x1c0: "
        "refcount_t: addition on 0; use-after-free."
    )
    assert first.lines[1] == "refcount_t: addition on 0; use-after-free."
    assert second.title == "WARNING: CPU: 0 PID: 0 at net/with/tcp_planted.c:98 warns+0x2c/0x30"


def test_a_file_is_named_by_its_place_in_the_source(tmp_path: Path) -> None:
    where = "/home/me/.cache/rushhour/sources/git-7ae9f6551348-with-ubsan/net/with/tcp_mine.c:43:10"
    (one,) = found(tmp_path, f"[   64.092000] UBSAN: shift-out-of-bounds in {where}\n")
    assert one.title == "UBSAN: shift-out-of-bounds in net/with/tcp_mine.c:43:10"


def test_several_are_told_apart(tmp_path: Path) -> None:
    titles = [one.title for one in found(tmp_path, KASAN + REFERENCES + LOCKS)]
    assert titles == [
        "BUG: KASAN: slab-use-after-free in mine_cong_avoid+0x3f/0x90",
        "refcount_t: underflow; use-after-free.",
        "WARNING: possible circular locking dependency detected",
    ]


@pytest.mark.parametrize(
    "title",
    [
        "WARNING: CPU: 0 PID: 12 at net/ipv4/tcp_input.c:2800 tcp_ack+0x12/0x34",
        "WARNING: net/ipv4/tcp_input.c:2800 at tcp_ack+0x12/0x34, CPU#0: init/1",
        "WARNING: suspicious RCU usage",
        "[ BUG: Invalid wait context ]",
        "INFO: trying to register non-static key.",
        "BUG skbuff_head_cache (Not tainted): Poison overwritten",
        "BUG: sleeping function called from invalid context at mm/slab.h:337",
        "UBSAN: array-index-out-of-bounds in net/sched/sch_mine.c:44:9",
        "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
        "kmemleak: unreferenced object 0x0000000062a1b280 (size 32):",
        "list_add corruption. prev->next should be next (0000), but was 0001. (prev=0002).",
        "ref_tracker: net notrefcnt@0000000062a1b280 has 1/1 users at",
        "unregister_netdevice: waiting for lo to become free. Usage count = 2",
    ],
)
def test_the_words_of_the_kernels_own_checks(tmp_path: Path, title: str) -> None:
    (one,) = found(tmp_path, f"{QUIET}[    3.000000] {title}\n")
    assert one.title == title


LEAKS = """\
[   20.000000] kmemleak: unreferenced object 0x0000000061c7b200 (size 96):
[   20.000000] kmemleak:   comm "init", pid 1, jiffies 4294938296
[   20.000000] kmemleak:   hex dump (first 32 bytes):
[   20.000000] kmemleak:     00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
[   20.000000] kmemleak:   backtrace (crc 0):
[   20.000000] kmemleak:     mine_init+0x23/0x40
[   20.000000] kmemleak: unreferenced object 0x0000000061c7b300 (size 96):
[   20.000000] kmemleak:   backtrace (crc 0):
[   20.000000] kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
"""


def test_a_title_that_ends_in_a_colon_is_the_middle_of_a_sentence(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    console.write_text(LEAKS)
    with pytest.raises(GuestError, match=r"kmemleak: unreferenced object 0x\w+ \(size \d+\), and 1 more\n"):
        splats.check(console, "here", 0)


def test_each_leak_is_a_complaint_and_their_number_none(tmp_path: Path) -> None:
    first, second = found(tmp_path, QUIET + LEAKS)
    assert first.title == "kmemleak: unreferenced object 0x0000000061c7b200 (size 96):"
    assert first.lines[-1] == "kmemleak:     mine_init+0x23/0x40"
    assert second.lines[-1].startswith("kmemleak: 2 new suspected")


def test_a_run_is_refused_with_the_first_one(tmp_path: Path) -> None:
    found(tmp_path, KASAN + REFERENCES)
    with pytest.raises(
        GuestError, match=r"complains, 0\.234567 s after the experiment began: BUG: KASAN: .*, and 1 more"
    ) as told:
        splats.check(tmp_path / "console", "debian-6.12, seed 1", begun_s=1.0)
    assert "Read of size 4" in told.value.message
    assert told.value.where == "debian-6.12, seed 1"
    assert not told.value.hangs


def test_what_comes_before_the_experiment_has_no_instant_of_it(tmp_path: Path) -> None:
    found(tmp_path, KASAN)
    with pytest.raises(GuestError, match=r"the kernel complains, before the experiment began: BUG: KASAN: "):
        splats.check(tmp_path / "console", "debian-6.12, seed 1", begun_s=64.0)


def test_what_a_kernel_says_cannot_reach_the_terminal(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "[    3.000000] WARNING: \x1b[2Jgone\n")
    assert "\x1b" not in one.title
