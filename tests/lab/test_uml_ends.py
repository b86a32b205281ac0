"""Guests that go wrong end within their limit, with the reason and their last words."""

from pathlib import Path

import guests
import pytest

from rushhour.lab.confine import Ending, Limits
from rushhour.lab.console import explain, last_lines

pytestmark = pytest.mark.virtual


def explained(ending: Ending, console: str, folder: Path) -> str:
    path = folder / "console.log"
    path.write_text(console)
    return str(explain(ending, path, "here"))


def test_an_orderly_end(tmp_path: Path) -> None:
    ending, files, console = guests.run(tmp_path, 'say("x", "y");')
    assert (ending.reason, ending.exit, ending.signal, ending.warnings) == ("done", 0, None, ())
    assert files["x"] == b"y"
    assert "reboot: Power down" in console


def test_a_panic(tmp_path: Path) -> None:
    ending, _, console = guests.run(tmp_path, "abort();")
    assert ending.reason == "panic"
    said = explained(ending, console, tmp_path)
    assert "panicked" in said
    assert "Attempted to kill init" in said


def test_a_guest_that_spins(tmp_path: Path) -> None:
    ending, _, console = guests.run(tmp_path, "for (;;);", limits=Limits(60, 0.5))
    assert ending.reason == "stall"
    assert ending.elapsed_s < 5
    assert "virtual time stood still" in explained(ending, console, tmp_path)


def test_a_guest_that_is_never_done(tmp_path: Path) -> None:
    ending, _, console = guests.run(tmp_path, "for (;;) { beat(); nap(1000000); }", limits=Limits(1, 30))
    assert ending.reason == "timeout"
    assert ending.elapsed_s < 5
    assert "not done after 1 s" in explained(ending, console, tmp_path)


def test_a_guest_that_eats_its_memory(tmp_path: Path) -> None:
    body = "for (;;) { char *p = malloc(1 << 20); memset(p, 1, 1 << 20); beat(); }"
    ending, _, console = guests.run(tmp_path, body, memory_mb=64)
    assert ending.reason == "panic"
    assert "ran out of memory" in explained(ending, console, tmp_path)


def test_a_guest_that_floods_its_console(tmp_path: Path) -> None:
    # The kernel itself holds back what its users log, unless told otherwise.
    body = 'int on = open("/proc/sys/kernel/printk_devkmsg", 1); write(on, "on\\n", 3); '
    body += 'device("/tmp/kmsg", 1, 11); int k = open("/tmp/kmsg", 1); '
    body += 'for (;;) { write(k, "spam\\n", 5); beat(); }'
    limit = 100_000
    ending, _, console = guests.run(tmp_path, body, limits=Limits(60, 30, limit))
    assert ending.reason == "flood"
    assert len(console) <= limit, "the file is cut to its limit"
    assert "spam" in explained(ending, console, tmp_path)


def test_a_guest_without_a_result(tmp_path: Path) -> None:
    ending, _, console = guests.run(tmp_path, "")
    assert "without a result" in explained(ending, console, tmp_path)


def test_last_lines_are_fit_for_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "console"
    path.write_bytes(
        b"[    0.000000] one\x1b[31m\x07\n\n\xff\n[   12.5] two\n  [<60020874>] ? interrupt_end+0x84\n"
    )
    assert last_lines(path) == ["one[31m", "\ufffd", "two"]


def test_what_a_kernel_says_at_once_as_it_dies_is_no_dump_of_a_stack(tmp_path: Path) -> None:
    path = tmp_path / "console"
    path.write_text(
        "kmsg_dump:\n<6>[    0.012000] IP idents hash table entries: 2048\n"
        "<0>[    0.012000] Kernel panic - not syncing: tcp_init is broken\n"
        "<4>[    0.012000] Call Trace:\n<4>[    0.012000]  [<6056643a>] ? panic+0xe0/0x238\n"
        "<4>[    0.012000]  ffffff00 606ef015 6070dedc ffffff00\n"
    )
    assert last_lines(path)[1:] == [
        "IP idents hash table entries: 2048",
        "Kernel panic - not syncing: tcp_init is broken",
        "Call Trace:",
    ]
