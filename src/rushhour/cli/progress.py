"""Shows the progress of a sweep on standard error: a bar on a terminal, else a line per run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from rushhour.cli.waiting import one_line
from rushhour.running.conductor import Watch

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from rushhour.running.runner import Outcome


class Display(Watch, Protocol):
    """Shows outcomes as they come, and what goes on where nothing runs; a context manager."""

    def tell(self, text: str) -> None:
        """Say on a terminal what goes on; elsewhere nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def display(console: Console) -> Display:
    """The display that suits the console, of as many runs as it will be told of (`more`)."""
    return _Bar(console) if console.is_terminal else _Lines(console)


class _Lines:
    def __init__(self, console: Console) -> None:
        self._total, self._console, self._done = 0, console, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def show(self, outcome: Outcome) -> None:
        self._done += 1
        width = len(str(self._total))
        line = f"[{self._done:>{width}}/{self._total}] {describe(outcome)}"
        if line.isprintable():  # rich would take as long for it as a message of the fleet's takes
            self._console.file.write(f"{line}\n")
            self._console.file.flush()
        else:
            self._console.print(Text(line), soft_wrap=True)

    def more(self, count: int) -> None:
        self._total += count

    def tell(self, text: str) -> None:
        pass


class _Bar:
    """A bar while there are runs to come, a line while something else goes on: one of them, or nothing."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[last]}"),
        )
        self._total = 0
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("Running", total=0, last="")
        self._line = console.status("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        self._line.stop()

    def show(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            self._bar.console.print(Text(describe(outcome), "yellow" if outcome.skipped else "red"))
        self._bar.update(self._task, advance=1, last=outcome.run.cell.label)

    def more(self, count: int) -> None:
        self._total += count
        self._bar.update(self._task, total=self._total)
        if count:
            self._line.stop()
            self._bar.start()

    def tell(self, text: str) -> None:
        self._bar.stop()
        self._line.update(one_line(self._bar.console, text))
        self._line.start()


def describe(outcome: Outcome) -> str:
    """One line: which run, and what became of it."""
    if outcome.skipped:
        state = f"skipped: {outcome.error.message.splitlines()[0]}" if outcome.error else "skipped"
    elif outcome.error is not None:
        state = f"failed: {outcome.error.message.splitlines()[0]}"
    else:
        state = "known" if outcome.cached else "done"
    return f"{outcome.batch.name} · {outcome.run}: {state}"
