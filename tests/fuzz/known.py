"""What once failed, by target: files, and what is too long to be one."""

from __future__ import annotations

from pathlib import Path

_LONG = {
    "scenario": [
        b'title = "x"\nseed = ' + b"9" * 5000 + b"\n",
        b"a." * 100_000 + b"b = 1\n",
        b'title = "x"\nseed = 0x' + b"f" * 50_000 + b"\n",
        b'title = "x"\nx = [' + b"\n" * 200_000 + b"]\n",
    ],
    "trace": [b"9" * 5000, b"time_s,rate_mbit\n1" + "\u00a0".encode() * 40_000 + b"x\n"],
}


def known(name: str) -> list[bytes]:
    """The inputs on which a target once failed."""
    folder = Path(__file__).parent / "found" / name
    found = sorted(folder.glob("*")) if folder.is_dir() else []
    return [*(path.read_bytes() for path in found), *_LONG.get(name, [])]
