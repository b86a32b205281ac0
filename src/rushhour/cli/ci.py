"""`rushhour ci`: job files for other people's CI."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo
from rushhour.errors import UsageError
from rushhour.lab.kernel.sanitizers import SANITIZERS

_NEXT = {
    "github": "commit them; the job runs on every push and pull request",
    "gitlab": "commit them and include .gitlab/rushhour.yml in your .gitlab-ci.yml",
    "tmt": "commit them; `tmt run` carries the plan out",
    "nightly": "nightly/rushhour.sh judges now; each night: systemctl --user enable --now "
    "$PWD/nightly/rushhour-nightly.{service,timer}",
    "nipa": "put the folder into NIPA's tests/patch, and rushhour on the PATH of its machine",
    "beaker": "name your repository in beaker/job.xml; `bkr job-submit beaker/job.xml` starts it",
}


@click.command(
    context_settings=SETTINGS,
    short_help="Write job files for GitHub, GitLab, NIPA, tmt, Beaker, cron.",
)
@click.argument("system", type=click.Choice([*_NEXT]))
@click.option(
    "--kernel", default=".", show_default=True, metavar="SOURCE",
    help="The kernel to judge, as `rushhour kernel build` takes it; . is the checkout.",
)  # fmt: skip
@click.option(
    "--baseline", default="ci/baseline", show_default=True, metavar="BASELINE",
    help="What to judge it by: a folder in the repository, or a name.",
)  # fmt: skip
@click.option(
    "--install", metavar="REQUIREMENT",
    help="What pip installs: a wheel, git+https://…  [default: the wheels in wheels/, beside the script]",
)  # fmt: skip
@click.option("--tree", metavar="URL", help="nightly: the repository, also a folder.")
@click.option("--branch", default="master", show_default=True, metavar="NAME", help="nightly: its branch.")
@click.option("--packetdrill", metavar="PATH", help="nightly: also run these scripts.")
@click.option(
    "--with", "sanitizers", multiple=True, type=click.Choice([*SANITIZERS]),
    help="nightly: also run the cells with this sanitizer. May be repeated.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=".", help="The repository.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
def ci(
    system: str,
    *,
    kernel: str,
    baseline: str,
    install: str | None,
    tree: str | None,
    branch: str,
    packetdrill: str | None,
    sanitizers: tuple[str, ...],
    out: Path,
    force: bool,
) -> None:
    """Write the files of a job that judges a kernel by a stored baseline.

    The job builds the kernel (with a cache), runs what the baseline ran, compares, keeps report and
    records, and fails if something became worse. A baseline of `rushhour run suite --quick`
    makes a quick job.

    For NIPA, netdev's CI, it is a test of each patch by `rushhour check`; it takes no baseline. Nor does
    `nightly`: a script that fetches a branch and judges it by what it was the night before.

    Example: rushhour ci github --kernel . --baseline ci/baseline
    """
    from rushhour.ci import IMAGES, WHEELS, Settings, write

    if (system == "nightly") != (tree is not None):
        raise UsageError("--tree is what `rushhour ci nightly` judges", hint="rushhour ci nightly --tree URL")
    settings = Settings(
        kernel, baseline, install, tree=_place(tree or "."), branch=branch,
        packetdrill=packetdrill and str(Path(packetdrill).resolve()), sanitizers=sanitizers, place=out,
    )  # fmt: skip
    for path in write(system, settings, out, force=force):
        echo(path)
    echo(f"Runs on: {IMAGES[system][0]}, x86-64", err=True)
    echo(f"Next: {_NEXT[system]}", err=True)
    if system in ("nipa", "nightly"):
        return
    wheels = out / ("beaker" if system == "beaker" else "ci") / WHEELS
    if install is None and not [*wheels.glob("*.whl")]:
        echo(f"No wheel yet: put Rush Hour's into {wheels}, or name what pip installs: --install", err=True)
    place = out / ("beaker" if system == "beaker" else ".") / baseline
    if "/" in baseline and not place.exists():
        echo(f"No baseline yet: rushhour baseline save {shlex.quote(str(place))} RESULTS --slim", err=True)


def _place(tree: str) -> str:
    """A folder by its whole path, for the job begins elsewhere; a URL as it is."""
    path = Path(tree).expanduser()
    return str(path.resolve()) if path.is_dir() else tree
