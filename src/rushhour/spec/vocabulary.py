"""What scenarios may name that is not theirs: metrics, series, distributions and models.

Who loads a scenario passes the vocabulary in (`rushhour.metrics.vocabulary.VOCABULARY` is that of this
program). Without one such names are not checked, nor is what hangs on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class MetricWord(Protocol):
    """A metric, as far as a scenario can be wrong about it."""

    @property
    def name(self) -> str:
        """How it is called."""
        ...

    @property
    def unit(self) -> str:
        """The unit of its values."""
        ...

    @property
    def scopes(self) -> tuple[str, ...]:
        """The kinds of scope that it has: `flow`, `end` or `total`, for example."""
        ...


class SeriesWord(Protocol):
    """A series over time, as far as a scenario can be wrong about it."""

    @property
    def scope(self) -> str:
        """What it belongs to: `flow`, `end`, or `run` for the run as a whole."""
        ...


class ModelWord(Protocol):
    """A model, as far as a scenario can be wrong about it."""

    @property
    def laws(self) -> Mapping[str, object]:
        """What it predicts, by metric or series."""
        ...


class Vocabulary(Protocol):
    """All names, each with what is to be known of it. What is not asked for need not be loaded."""

    @property
    def metrics(self) -> Mapping[str, MetricWord]:
        """The metrics by name."""
        ...

    @property
    def series(self) -> Mapping[str, SeriesWord]:
        """The series by name."""
        ...

    @property
    def distributions(self) -> Collection[str]:
        """Quantities that each flow has one value of."""
        ...

    @property
    def models(self) -> Mapping[str, ModelWord]:
        """The models by name."""
        ...
