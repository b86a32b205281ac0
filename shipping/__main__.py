"""`python -m shipping`: make wheels, or everything that a release is made of (docs/wheels.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rushhour.errors import RushHourError
from shipping import again, notices, release

KERNELS = ("debian:6.12", "debian:6.1")


def _say(text: str) -> None:
    click.echo(text, err=True)


_out = click.option("--out", type=click.Path(path_type=Path), default=Path("dist"), show_default=True)
_kernels = click.option(
    "--kernel", "specs", multiple=True, default=KERNELS, show_default=True, help="A source; may be repeated."
)
_contact = click.option(
    "--contact", envvar="CONTACT", default="", help="Who gives out the kernels' sources: NAME <ADDRESS>."
)


@click.group(help=__doc__)
def main() -> None:
    """Group."""


@main.command()
@_out
@_kernels
@_contact
@click.option("--from-nothing", is_flag=True, help="Compile kernels anew that are there already.")
def wheels(out: Path, specs: tuple[str, ...], contact: str, *, from_nothing: bool) -> None:
    """Make the wheels of Rush Hour and of kernels."""
    made, _ = release.wheels(specs, out, contact, _say, from_nothing=from_nothing)
    release.sums(out)
    for path in made:
        click.echo(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


@main.command("release")
@_out
@_kernels
@_contact
def release_(out: Path, specs: tuple[str, ...], contact: str) -> None:
    """Make everything that a release is made of."""
    release.release(specs, out, contact, _say)
    if not contact:
        _say("no CONTACT was given: these kernels are for your own use, do not pass them on")
    for path in sorted(out.iterdir()):
        click.echo(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--python", metavar="X.Y", help="For which Python; default: this one.")
def wheelhouse(folder: Path, python: str | None) -> None:
    """Download the wheels of what running needs into FOLDER, checked by the lock."""
    release.wheelhouse(folder, python)


@main.command("notices")
def notices_() -> None:
    """Write the notices of the agent's crates into agent/NOTICES.md."""
    notices.NOTICES.write_text(notices.notices(), encoding="utf-8")


@main.command("again")
@_kernels
def again_(specs: tuple[str, ...]) -> None:
    """Make all wheels twice, in two places, from nothing, and compare their bytes."""
    sys.exit(0 if again.same(specs, _say) else 1)


if __name__ == "__main__":
    try:
        main()
    except RushHourError as error:
        _say(f"error: {error}")
        sys.exit(error.exit_code)
