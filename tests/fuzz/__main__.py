"""`python -m fuzz TARGET`: one fuzzer, guided by coverage, for as long as one likes."""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from fuzz.known import known

if TYPE_CHECKING:
    from collections.abc import Callable

_POOL = 2000
_MEMORY = 3000 << 20
_RECORDS = ["record", "metrics", "series", "files.regular"]
# What coverage guides: all else is imported as it is, which is ten times as fast.
_GUIDED = {
    "scenario": ["spec", "plan", "quantities.units"],
    "trace": ["spec.trace"],
    "record": _RECORDS,
    "results": [*_RECORDS, "report", "summary", "export"],
    "exchange": [*_RECORDS, "verdict", "store", "baseline", "summary.index"],
    "baseline": ["baseline", "summary.index", "verdict.side", "store", "record.document"],
    "verdict": ["export", "store", "report.verdict"],
    "database": ["store"],
}
_ROOM = "RUSHHOUR_FUZZ_ROOM"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=0, help="how long; without, until it is interrupted")
    parser.add_argument("--runs", type=int, default=-1, help="how many inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="keep what reaches new code here, to go on another day")
    parser.add_argument(
        "--go-on", action="store_true", help="keep one input of each fault, and look for others"
    )
    parser.add_argument(
        "--unguided", action="store_true", help="changes at random, without coverage: ten times as many"
    )
    asked = parser.parse_args()
    if _ROOM not in os.environ:
        ended = _in_a_room()
        sys.exit(ended or any(Path().glob(f"{_fault(asked.target)}*")))
    if asked.unguided:
        _unguided(asked)
        return
    try:
        import atheris  # noqa: PLC0415 - not there for every Python
    except ImportError:
        print("atheris is not installed: changes are random, coverage guides nothing", file=sys.stderr)
        _unguided(asked)
        return
    with atheris.instrument_imports(include=[f"rushhour.{name}" for name in _GUIDED[asked.target]]):
        from fuzz import targets  # noqa: PLC0415 - what is imported here is instrumented
    target = targets.TARGETS[asked.target]
    corpus = asked.corpus or Path(tempfile.mkdtemp(prefix="corpus-", dir=targets.room()))
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in (*target.seeds(), *known(asked.target)):
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        changed = target.mutate(data, Random(seed))
        return changed if len(changed) <= max_size else data[:max_size]

    options = [
        f"-max_total_time={asked.seconds}", f"-runs={asked.runs}", f"-seed={asked.seed}", "-max_len=200000",
        "-len_control=0", "-timeout=120", f"-rss_limit_mb={_MEMORY >> 20}",
        f"-artifact_prefix={Path.cwd()}/fuzz-{asked.target}-",
    ]  # fmt: skip
    faulthandler.enable()
    atheris.Setup(
        [sys.argv[0], *options, str(corpus)],
        _going_on(asked, target.run),
        custom_mutator=mutate,
        internal_libfuzzer=True,
    )
    atheris.Fuzz()


def _fault(target: str) -> str:
    return f"fuzz-{target}-fault-"


def _going_on(asked: argparse.Namespace, run: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """With --go-on: what fails is kept, once for each place at which it is raised."""
    if not asked.go_on:
        return run

    def kept(data: bytes) -> None:
        try:
            run(data)
        except Exception as error:  # noqa: BLE001 - whatever is raised is a fault
            raised = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} {raised.filename}:{raised.lineno}"
            path = Path(_fault(asked.target) + hashlib.sha256(place.encode()).hexdigest()[:12])
            if not path.exists() or len(path.read_bytes()) > len(data):
                new = not path.exists()
                path.write_bytes(data)
                if new:
                    traceback.print_exception(error)

    return kept


def _in_a_room() -> int:
    """Do it in a process whose files go with it, however it ends: libFuzzer exits without a word."""
    with tempfile.TemporaryDirectory(prefix="rushhour-fuzz-") as place:
        # Not the homes of the person who calls: what is kept there is made up.
        own = dict.fromkeys((_ROOM, "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"), place)
        with subprocess.Popen([sys.executable, "-m", "fuzz", *sys.argv[1:]], env=os.environ | own) as child:
            while True:
                with suppress(KeyboardInterrupt):  # the child has it, too
                    return child.wait()


def _unguided(asked: argparse.Namespace) -> None:
    """The same changes at random."""
    from fuzz import targets  # noqa: PLC0415

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    target = targets.TARGETS[asked.target]
    run = _going_on(asked, target.run)
    rng = Random(asked.seed)
    pool = [*target.seeds(), *known(asked.target)]
    end = time.monotonic() + asked.seconds if asked.seconds else None
    for number in count():
        if number == asked.runs or (end is not None and time.monotonic() > end):
            break
        data = target.mutate(rng.choice(pool), rng)
        try:
            run(data)
        except BaseException:
            Path(f"fuzz-{asked.target}-failed").write_bytes(data)
            raise
        pool = [*pool[-_POOL:], data]


if __name__ == "__main__":
    main()
