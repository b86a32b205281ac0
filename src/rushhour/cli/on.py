"""`--on` and what goes with it: the options of every command that makes runs in virtual time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli.options import with_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from rushhour.cli.options import F
    from rushhour.lab.base import Lab
    from rushhour.record.slim import Wanted
    from rushhour.running.executor import Executor


class _Share(click.ParamType):  # type: ignore[type-arg]
    """A share of runs: `2%`, or `0.02`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f'"{value}" is no share; for example 2%', param, ctx)
        return share


def elsewhere(command: F) -> F:
    """Give a command the options that say on which machines its runs are made.

    They come as the arguments `on` and `audit`.
    """
    return with_options(
        command,
        click.option(
            "--on", metavar="ADDRESS",
            help="Make the runs elsewhere: tcp://HOST:8786, tls://…, fleet:NAME, ssh:FILE, slurm:N or k8s:N.",
        ),
        click.option(
            "--audit", type=_Share(), default="1%", show_default=True, metavar="SHARE",
            help="With --on: share of the runs that two machines make, to compare their bytes.",
        ),
    )  # fmt: skip


def keeping(command: F) -> F:
    """Give a command the options that say what is kept of its runs.

    They come as the arguments `keep` and `store`, for `rushhour.running.runner.keeping`.
    """
    return with_options(
        command,
        click.option(
            "--keep", type=click.Choice(["records", "metrics"]),
            help="metrics: keep what runs measured, without their tables.  [default: records]",
        ),
        click.option(
            "--store", metavar="URL", help="Put records there, and keep metrics: file:///… or s3://…"
        ),
    )  # fmt: skip


@contextmanager
def executing(
    on: str | None,
    audit: float,
    lab: Lab | None,
    words: Console,
    *,
    jobs: int | None = None,
    wanted: Wanted | None = None,
) -> Iterator[Executor | None]:
    """What carries out the runs of a lab: the machines of `--on`; None stands for this one.

    Raises:
        UsageError: the address means nothing, or the lab is in real time.
        FleetError: nobody answers there.
    """
    if on is None or lab is None:
        yield None
        return
    from rushhour.fleet.use import fleet
    from rushhour.record.slim import WHOLE

    def tell(text: str) -> None:
        words.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)

    with fleet(on, lab, audit=audit, jobs=jobs, wanted=wanted or WHOLE, tell=tell) as made:
        yield made
