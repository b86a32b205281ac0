"""Every picture, and what it is made of."""

from __future__ import annotations

from pictures import gallery, moving, stills
from pictures.made import Picture

FAULT = "mutants/faults/cubic-beta-half.patch"
PICTURES = (
    Picture("demo", moving.moving, "demo.gif", (moving.SCENARIO,)),
    Picture("report", stills.report, "report.png", (stills.REPORT,)),
    Picture("playground", stills.playground, "playground.png", (), ("src/rushhour/web/play/presets.py",)),
    Picture("verdict", stills.verdict, "verdict.png", (stills.VERDICT,), (FAULT,)),
    Picture("history", stills.history, "history.png", (stills.VERDICT,), (FAULT,)),
    Picture("results", stills.results, "results.png", stills.RESULTS, (FAULT,)),
    *(
        Picture("gallery", gallery.gallery, f"gallery/{gallery.stem(name)}.*", (name,))
        for name, _ in gallery.FIGURES
    ),
)
