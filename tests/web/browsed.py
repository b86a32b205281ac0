"""A server with a results database: two kernels, a comparison, records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import verdict_documents as verdicts
from result_sets import kernel, result_set
from visitor import TestClient, visitor

from rushhour.store import Store
from rushhour.web.browse import section

if TYPE_CHECKING:
    from pathlib import Path

STABLE, NEXT = kernel("stable", "6.12.1"), kernel("next", "6.13.0")
PAGE = {"accept": "text/html"}


def compared(folder: Path) -> Path:
    """A comparison's folder: one cell worse, one the same."""
    folder.mkdir(parents=True)
    sides = {"base": STABLE, "candidate": NEXT}
    document = verdicts.document(
        [verdicts.cell(0, scenario="suite/start"), verdicts.cell(1, "same")],
        **{side: verdicts.side(one["name"], one["release"], kernel=one) for side, one in sides.items()},
    )
    (folder / "verdict.json").write_text(json.dumps(document))
    (folder / "report.html").write_text("<!doctype html><title>Report</title><script>1</script>")
    return folder


def filled(place: Path, repeat: int = 2) -> str:
    """A database in this folder, of records in it; its path."""
    where = str(place / "results.db")
    result_set(
        place / "20261121-090000", kernels=[STABLE, NEXT], repeat=repeat,
        goodput={"stable": 80.0, "next": 60.0}, apart=True,
    )  # fmt: skip
    with Store.open(where) as store:
        store.import_folder(place / "20261121-090000", tags=["nightly"])
        store.import_folder(compared(place / "compared"))
    return where


def browser(where: str) -> TestClient:
    """A client of a server with this database."""
    return visitor(sections=[section(where)])
