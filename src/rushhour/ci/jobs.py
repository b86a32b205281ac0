"""Job files for other people's CI, made from templates.

Each job does the same: get Rush Hour, build the kernel (compilation is cached), run the suite on it, judge it
against the stored baseline, keep the report and the records, and fail if something became worse.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from rushhour.errors import UsageError
from rushhour.files import finished as files
from rushhour.lab.kernel.process import TOOLS
from rushhour.lab.packages import System

if TYPE_CHECKING:
    from collections.abc import Mapping

NEEDS = (*TOOLS, "libc.a", "tc", "python", "git", "certificates")
"""What building a kernel and running the suite takes, as needs of `lab.packages`."""
IMAGES: Mapping[str, tuple[str, System]] = {
    "github": ("ubuntu-24.04", System("Ubuntu 24.04", "apt", ("ubuntu:noble", "ubuntu", "debian"))),
    "gitlab": ("debian:13", System("Debian 13", "apt", ("debian:trixie", "debian"))),
    "tmt": ("Fedora or CentOS Stream 10", System("Fedora", "dnf", ("fedora",))),
    "beaker": ("RedHatEnterpriseLinux10", System("RHEL 10", "dnf", ("rhel", "fedora"))),
    "nipa": (
        "the machine that carries out NIPA's tests",
        System("Debian 13", "apt", ("debian:trixie", "debian")),
    ),
    "nightly": ("this machine", System("Debian 13", "apt", ("debian:trixie", "debian"))),
}
"""What each system's job runs on, by its name there, and whose packages that has."""
WHEELS = "wheels"
"""The folder beside the job's script from which Rush Hour is installed where nothing else is said."""


@dataclass(frozen=True)
class Settings:
    """What a job is to do.

    `kernel` is what `rushhour kernel build` takes; `.` is the checkout itself. `baseline` is a name, or a
    folder in the repository; what it ran is what the job runs. `install` is what pip is to install; None: the
    wheels in the folder `wheels` beside the job's script. `hours` bounds a job.

    The rest is of a nightly job: the `branch` of the repository `tree` (URL or folder) is judged by what it
    was the night before; `packetdrill` are scripts to run, `sanitizers` words of `rushhour check --with`.
    `place` is the folder that the files are written to.
    """

    kernel: str = "."
    baseline: str = "ci/baseline"
    install: str | None = None
    hours: int = 2
    tree: str = "."
    branch: str = "master"
    packetdrill: str | None = None
    sanitizers: tuple[str, ...] = ()
    place: Path = Path()


SYSTEMS: Mapping[str, Mapping[str, str]] = {
    "github": {".github/workflows/rushhour.yml": "github.yml", "ci/rushhour.sh": "judge.sh"},
    "gitlab": {".gitlab/rushhour.yml": "gitlab.yml", "ci/rushhour.sh": "judge.sh"},
    "tmt": {
        ".fmf/version": "fmf-version", "plans/rushhour.fmf": "plan.fmf",
        "tests/rushhour/main.fmf": "test.fmf", "tests/rushhour/test.sh": "tmt.sh",
        "ci/rushhour.sh": "judge.sh",
    },
    "beaker": {
        "beaker/job.xml": "job.xml", "beaker/metadata": "metadata", "beaker/runtest.sh": "beaker.sh",
        "beaker/rushhour.sh": "judge.sh",
    },
    "nipa": {"rushhour/info.json": "nipa.json", "rushhour/rushhour.sh": "nipa.sh"},
    "nightly": {
        "nightly/rushhour.sh": "nightly.sh", "nightly/rushhour-nightly.service": "nightly.service",
        "nightly/rushhour-nightly.timer": "nightly.timer",
    },
}  # fmt: skip
"""The files of each system's job, and their templates."""


def job_files(system: str, settings: Settings) -> dict[str, str]:
    """The job's files: path → text.

    Raises:
        UsageError: there is no such system, or a setting cannot be written into a job.
    """
    if system not in SYSTEMS:
        raise UsageError(f"there are no job files for {system!r}", hint=f"there are: {', '.join(SYSTEMS)}")
    for name, value in asdict(settings).items():
        if isinstance(value, str) and (not value or not value.isprintable()):
            raise UsageError(f"{name} is {value!r}", hint="it takes one line of text")
    return {path: _render(template, system, settings) for path, template in SYSTEMS[system].items()}


def write(system: str, settings: Settings, folder: Path, *, force: bool = False) -> list[Path]:
    """Write a job's files below the folder; a file that is there and differs is only replaced by force.

    Raises:
        UsageError: a file is there already.
        ReportError: a file cannot be written.
    """
    made = {folder / name: text for name, text in job_files(system, settings).items()}
    # The version of fmf's format is the same in all trees.
    there = [path for path, text in made.items() if path.is_file() and path.read_text("utf-8") != text]
    if there and not force:
        names = ", ".join(str(path) for path in there)
        raise UsageError(f"{names}: there already", hint="--force replaces it; --out names another folder")
    for path, text in made.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder: {error.strerror}", where=str(path.parent)) from error
        files.put(text, path)
        if text.startswith("#!"):
            path.chmod(path.stat().st_mode | (path.stat().st_mode & 0o444) >> 2)
    return [*made]


def _render(template: str, system: str, settings: Settings) -> str:
    import jinja2  # noqa: PLC0415 - only to write

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        # Braces are GitHub's own, brackets and angles the shell's.
        variable_start_string="@[", variable_end_string="]@", block_start_string="<%", block_end_string="%>",
        comment_start_string="<#", comment_end_string="#>",
        keep_trailing_newline=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        autoescape=False,  # noqa: S701 - these are no pages; each template quotes by its own rules
    )  # fmt: skip
    environment.filters |= {"sh": quote, "attribute": quoteattr, "yaml": _yaml, "unit": _unit}
    image, of = IMAGES[system]
    needs = [*NEEDS, "rust"] if _is_source(settings.install) else NEEDS
    words = asdict(settings) | {
        "packetdrill": settings.packetdrill or "", "sanitizers": " ".join(settings.sanitizers),
        "script": str(settings.place.resolve() / "nightly/rushhour.sh"),
    }  # fmt: skip
    return environment.get_template(template).render(
        image=image, packages=of.names(*needs), refresh=of.refresh(), add=of.command(*needs, unasked=True),
        requirement=quote(settings.install) if settings.install else None, wheels=WHEELS, **words,
    )  # fmt: skip


def _is_source(install: str | None) -> bool:
    """Whether pip would have to build it, which takes Rust for the agent."""
    return install is not None and "/" in install and not install.endswith(".whl")


def _yaml(text: str) -> str:
    """A string in single quotes: nothing in it means anything."""
    return "'" + text.replace("'", "''") + "'"


def _unit(text: str) -> str:
    """A word of a systemd unit's command line: nothing in it means anything."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
