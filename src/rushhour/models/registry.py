"""Every model that a figure can be asked to draw, by name.

To add one: write it in `laws` beside its kin and name it here; docs/figures.md lists them.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from rushhour.models import laws
from rushhour.models.case import Prediction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.models.case import Case, Model

_ALL = (
    laws.MATHIS,
    laws.MATHIS_UNIT,
    laws.PFTK,
    laws.CUBIC,
    laws.HIGHSPEED,
    laws.HIGHSPEED_ACKS,
    laws.BDP,
    laws.QUEUE,
    laws.OVERLOAD,
    laws.FRAGMENTS,
    laws.SAWTOOTH,
    laws.DCTCP,
    laws.RED,
)

MODELS: Mapping[str, Model] = {model.name: model for model in _ALL}


def predict(model: Model, quantity: str, cases: Iterable[Case]) -> Prediction:
    """What a model says of a metric or series: of one flow, or of several together (scope `total`)."""
    law = model.laws[quantity]
    every = list(cases)
    found = [law.of(case) for case in every]
    known = [one for one in found if one.value is not None]
    if not known:
        return next(iter(found), Prediction(None, "the run has no flow"))
    doubt = next((one.doubt for one in known if one.doubt), "")
    if law.total == "same":
        return known[0]
    pairs = [(one.value, case) for one, case in zip(found, every, strict=True) if one.value is not None]
    if law.total == "sum":
        return Prediction(fsum(value for value, _ in pairs), doubt)
    whole = fsum(case.offered_bps for _, case in pairs)
    return Prediction(fsum(value * case.offered_bps for value, case in pairs) / whole, doubt)
