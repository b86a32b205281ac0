"""Workers of Dask's whose runs cost nothing: each is a copy of a record that was made and measured before.

Several may live in one process: what they take of it shows how many a controller and a scheduler can feed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import time
from contextlib import AsyncExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.config
from distributed import Worker

from rushhour.fleet import message, packing, parts, worker
from rushhour.lab import manifest, uml
from rushhour.record import seal
from rushhour.record.record import Record
from rushhour.summary import measured

if TYPE_CHECKING:
    from collections.abc import Mapping


def stub(template: Path, takes_s: float) -> None:
    """Have runs of this process be copies of the record at `template`, after so many seconds.

    What a run's own files are is made anew: plan and manifest. The others are in memory, and packed once.
    """
    record = Record.open(template)
    names, pieces = packing.packed(template)
    values = measured.written(record.metrics())
    told = record.manifest
    same = {name: told[name] for name in ("warnings", "valid", "invalid_reasons", "virtual_s")}

    def made(
        lab: uml.UmlLab, one: Mapping[str, Any], header: Mapping[str, Any], into: list[bytes]
    ) -> dict[str, Any]:
        job = parts.put_together(one, header["needs"])
        time.sleep(takes_s)
        files = dict(zip(names, pieces, strict=True))
        files["plan.json"] = f"{job.plan_text}\n".encode()
        about = {"version": lab.agent.version, "sha256": lab.agent.sha256}
        facts = manifest.Facts(lab.key(job), lab.name, about, {}, manifest.host(), 0.0, ())
        sums = {**told.files, "plan.json": hashlib.sha256(files["plan.json"]).hexdigest()}
        document = {**vars(manifest)["_manifest"](job, facts, record.result), **same, "files": sums}
        files[seal.MANIFEST] = json.dumps(seal.sealed(document), indent=1).encode()
        into.extend([*files.values(), values])
        return {"names": names}

    vars(worker)["_made"] = made
    vars(message)["_shrunk"] = lru_cache(256)(vars(message)["_shrunk"])


QUIET = {
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "1h",
    "distributed.worker.profile.enabled": False,
}
"""What each of Dask's workers does many times a second, beside its work. Twice a second it counts the files
that its process has open: so many workers of one process do nothing else from some hundred on."""


async def main(scheduler: str, folder: str, count: int) -> None:
    """Work until the scheduler is gone."""
    os.environ["XDG_CACHE_HOME"] = folder
    dask.config.set(QUIET)
    async with AsyncExitStack() as held:
        workers = [
            await held.enter_async_context(
                Worker(scheduler, nthreads=1, name=f"{os.getpid()}-{number}", local_directory=folder)
            )
            for number in range(count)
        ]
        await asyncio.gather(*(one.finished() for one in workers))


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("scheduler")
    words.add_argument("cache")
    words.add_argument("template", type=Path, help="folder of a sealed record")
    words.add_argument("--workers", type=int, default=1, help="how many in this process")
    words.add_argument("--takes", type=float, default=0.0, help="seconds that a run sleeps")
    given = words.parse_args()
    stub(given.template, given.takes)
    asyncio.run(main(given.scheduler, given.cache, given.workers))
