"""What scenarios of this program may name: its metrics, series, distributions and models.

They are imported when they are first asked for: a scenario without figures needs no numerical library to be
checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rushhour.metrics.value import Metric
    from rushhour.models.case import Model
    from rushhour.series.series import Kind
    from rushhour.spec.vocabulary import Vocabulary


class _Known:
    @property
    def metrics(self) -> Mapping[str, Metric]:
        from rushhour.metrics.catalog import METRICS  # noqa: PLC0415 - numpy

        return METRICS

    @property
    def series(self) -> Mapping[str, Kind]:
        from rushhour.series.series import SERIES  # noqa: PLC0415 - numpy

        return SERIES

    @property
    def distributions(self) -> Collection[str]:
        from rushhour.metrics.completion import DISTRIBUTIONS  # noqa: PLC0415 - numpy

        return DISTRIBUTIONS

    @property
    def models(self) -> Mapping[str, Model]:
        from rushhour.models.registry import MODELS  # noqa: PLC0415 - numpy

        return MODELS


VOCABULARY: Vocabulary = _Known()
"""The names that `rushhour.spec.load_scenario` is given."""
