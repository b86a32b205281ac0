"""A worker by itself: what it does with a message, in this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from furnished import furnish

from rushhour.fleet import blobs, message, parts, worker
from rushhour.lab import agent
from rushhour.lab.uml import UmlLab
from rushhour.record.record import Record
from rushhour.running import runner


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUSHHOUR_AGENT", str(agent.find().binary))
    monkeypatch.setenv("XDG_CACHE_HOME", str(furnish(tmp_path)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.virtual
def test_what_is_sent_away_at_once_is_not_written_to_the_disk(place: Path) -> None:
    lab, needs = UmlLab(), parts.Needs()
    (batch,) = runner.prepare(["short.toml"], out=Path("out"))
    job = batch.job(next(batch.runs()))
    for digest, path in parts.files_of(lab, job).items():
        blobs.put(digest, path.read_bytes())
    told = parts.taken_apart(lab, job, lab.key(job), needs)
    asked = {"do": "run", "lab": parts.about_lab(lab), "tables": True, "storage": None}

    def sync(_: int) -> None:
        raise OSError(5, "nothing of a worker has to outlast it")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        request = message.pack(asked | {"needs": needs.document(), "runs": [told]})
        answer, pieces = message.unpack(worker.serve(request))
    (run,) = answer["runs"]
    for name, piece in zip(run["names"], pieces, strict=False):
        (place / "came" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "came" / name).write_bytes(piece)
    assert Record.verified(place / "came").key == told["key"]
    assert not [*(place / "cache/rushhour/fleet/work").iterdir()]
