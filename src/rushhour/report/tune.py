"""A plan of settings on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from rushhour.quantities.short import duration, rate
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.tune.advice import Advice
    from rushhour.tune.plan import Plan

_VERDICTS = {
    "better": ("it helped", "bold green"),
    "same": ("it made no difference larger than chance", "bold"),
    "worse": ("it is worse than before", "bold red"),
    "unknown": ("it could not be measured", "bold yellow"),
}


def screen(plan: Plan, console: Console | None = None, *, verify: bool = False) -> None:
    """Print a plan: the path, each setting at both ends with its reason, what was done, whether it helped.

    `verify`: it was to be verified.
    """
    out = console or Console(highlight=False)
    for line in _lines(plan, verify=verify):
        out.print(line, soft_wrap=True)


def _lines(plan: Plan, *, verify: bool) -> Iterator[Text]:
    yield Text.assemble("a ", (plan.places["a"], "bold"), "   b ", (plan.places["b"], "bold"))
    yield from _path(plan)
    for note in plan.notes:
        yield Text(note, "yellow")
    groups: dict[str, list[Advice]] = {}
    for one in plan.advice:
        groups.setdefault(one.setting, []).append(one)
    for setting, both in groups.items():
        yield Text()
        yield from _setting(setting, both)
    if not plan.advice:
        yield Text("\nnothing to recommend: both ends are set well for this path", "bold green")
    yield from _applied(plan)
    if plan.verified is not None:
        yield from _verified(plan.verified)
    elif verify:
        yield Text("\nso there was nothing to verify", "bold")


def _path(plan: Plan) -> Iterator[Text]:
    if plan.profile is not None:
        yield Text(f"profile {plan.profile}")
        return
    if plan.rtt_ns is None:
        return
    how = f" ({' and '.join(plan.given)} as given)" if plan.given else " (measured)"
    rates = "  ".join(f"{way} {rate(bps)}" for way, bps in plan.rate_bps.items() if bps)
    yield Text(f"round trip {duration(plan.rtt_ns)}  {rates}{how}")


def _setting(setting: str, both: list[Advice]) -> Iterator[Text]:
    yield Text(setting, "bold")
    for one in both:
        if one.cannot is not None:
            yield Text.assemble(
                f"  {one.end}  {one.now} → {one.wanted}  ", (f"cannot: {one.cannot}", "yellow")
            )
        elif one.change is None:
            yield Text.assemble(f"  {one.end}  {one.now} → by hand: ", (one.wanted, "bold"))
        else:
            yield Text.assemble(f"  {one.end}  {one.now} → ", (one.wanted, "bold"))
    # Both ends of a path that carries the same in both directions: one reason will do.
    reasons: dict[str, list[Advice]] = {}
    for one in both:
        reasons.setdefault(one.reason, []).append(one)
    for reason, ends in reasons.items():
        who = "" if len(reasons) == 1 else f"{', '.join(one.end for one in ends)}: "
        yield Text(f"     {who}{reason} [{ends[0].source}]", "dim")


def _applied(plan: Plan) -> Iterator[Text]:
    for end, done in (plan.applied or {}).items():
        many = len(done["changed"])
        said = f"{plural(many, 'setting')} changed and read back" if many else "nothing was changed"
        yield Text(f"\n{end}: {said}")
        for left in done["left"]:
            if left["why"] != "already so":
                yield Text(f"  left out: {left['setting']}: {left['why']}", "yellow")


def _verified(verified: Mapping[str, Any]) -> Iterator[Text]:
    words, style = _VERDICTS[verified["verdict"]]
    yield Text()
    for way, entry in verified["directions"].items():
        yield Text(f"{way}  one flow {_change(entry, 'single_bps', rate)}   "
                   f"several {_change(entry, 'several_bps', rate)}   "
                   f"round trip under load {_change(entry, 'loaded_rtt_ns', duration)}")  # fmt: skip
    yield Text(words, style)


def _change(entry: Mapping[str, Any], name: str, words: Any) -> str:
    before, after = (entry[when].get(name) for when in ("before", "after"))
    return " → ".join("unknown" if value is None else words(value) for value in (before, after))
