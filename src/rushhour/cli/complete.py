"""What the shell offers after TAB.

The shell's function hands over the line up to the cursor in `_RUSHHOUR_COMPLETE` and gets a candidate a line:
the whole word, a tab, what it means. A word that ends in `/`, `=` or `.` goes on.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from rushhour.cli import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Candidates = Mapping[str, str]
    """What each word means, by the word."""

LINE = "_RUSHHOUR_COMPLETE"
SOURCES = {"debian:6.1": "Debian's linux-source-6.1", "debian:6.12": "Debian's linux-source-6.12"}
LABS = {"uml": "virtual time", "netns": "this machine's kernel", "hosts": "machines"}
SIDES = ("kernel", "agent", "scenario", "lab", "tools", "rushhour")


def answer(line: str) -> None:
    """Print what may stand where the line ends; nothing if that cannot be found out."""
    from rushhour.cli import cli

    words = split_arg_string(line)[1:]
    last = "" if not line or line[-1].isspace() or not words else words.pop()
    # `--set=KEY` is one word for the shell and two for click.
    option, equals, value = last.partition("=")
    head = option + equals if option.startswith("--") and equals else ""
    if head:
        words.append(option)
    try:
        found = _Completion(cli, {}, "rushhour", LINE).get_completions(words, value if head else last)
    except Exception:  # noqa: BLE001 - a traceback in somebody's prompt helps nobody
        return
    lines = [f"{head}{item.value}\t{_line(item.help or '')}\n" for item in found]
    with suppress(BrokenPipeError):
        sys.stdout.write("".join(lines))
        sys.stdout.flush()


class _Completion(ShellComplete):
    name = "rushhour"
    source_template = ""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        path, command = _command(self.cli, args)
        # The parser gives up at an option without its value, so parameters are not to be asked.
        self.ctx_args["obj"] = args[path.count(" ") :]
        for param in command.params:
            words = _OF.get(f"{path}{param.name}") or _OF.get(str(param.name))
            if words is not None and not isinstance(param.type, click.Choice):
                param.type = _Words(words)
        found = super().get_completions(args, incomplete)
        return [
            each for item in found for each in (_files(incomplete, item) if item.type != "plain" else [item])
        ]


class _Words(click.ParamType[str]):
    """A text, of which the shell offers some."""

    name = "text"

    def __init__(self, words: Callable[[click.Context], Candidates]) -> None:
        self._words = words

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,
        incomplete: str,
    ) -> list[CompletionItem[str]]:
        found = {word: about for word, about in self._words(ctx).items() if word.startswith(incomplete)}
        if any(word.endswith("=") for word in found):
            found = _by_level(found, incomplete)
        if param.name in _FILES:
            found = {**dict.fromkeys(_paths(incomplete, _FILES[param.name]), ""), **found}
        return [CompletionItem(word, help=about) for word, about in found.items()]


def _command(group: click.Command, words: Iterable[str]) -> tuple[str, click.Command]:
    """The command that the words lead to, and the way there: `kernel show `."""
    path, found = "", group
    for word in words:
        inner = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
        if inner is not None:
            path, found = f"{path}{word} ", inner
    return path, found


def _scenarios(_ctx: click.Context) -> Candidates:
    studies = {f"{name}": "all of a study" for name in names.studies()}
    return (
        studies | {name: names.title(name) for name in names.scenarios()} | dict.fromkeys(names.short(), "")
    )


def _of_catalogue(ctx: click.Context) -> Candidates:
    return {name: about for name, about in _scenarios(ctx).items() if about}


def _kernels(_ctx: click.Context) -> Candidates:
    from rushhour.lab import kernel

    return {one.name: f"Linux {one.release}" for one in kernel.installed()}


def _baselines(_ctx: click.Context) -> Candidates:
    from rushhour.files.places import data

    return {path.parent.name: "a baseline" for path in sorted(data("baselines").glob("*/name.json"))}


def _sides(ctx: click.Context) -> Candidates:
    return {**_kernels(ctx), **_baselines(ctx)}


def _keys(ctx: click.Context) -> Candidates:
    found = (names.document(word) for word in ctx.obj if not word.startswith("-"))
    scenario = next((document for document in found if document), {})
    return {f"{key}=": about for key, about in names.keys(scenario).items()}


def _topics(_ctx: click.Context) -> Candidates:
    from rushhour.cli import cli
    from rushhour.cli.help import TOPICS

    context = click.Context(cli)
    found = ((name, cli.get_command(context, name)) for name in cli.list_commands(context))
    topics = dict.fromkeys(TOPICS, "all that is said of it")
    return {name: command.get_short_help_str(80) for name, command in found if command is not None} | topics


_OF: dict[str, Callable[[click.Context], Candidates]] = {
    "scenario": _scenarios,
    "scenarios": _scenarios,
    "list words": _of_catalogue,
    "new like": _scenarios,
    "help words": _topics,
    "kernels": _kernels,
    "kernel": _kernels,
    "ci kernel": lambda _: SOURCES,
    "kernel build source": lambda _: SOURCES,
    "kernel remove names": _kernels,
    "kernel show name": _kernels,
    "base": _sides,
    "candidate": _sides,
    "baseline delete names": _baselines,
    "baseline promote name": _baselines,
    "baseline save name": _baselines,
    "baseline show name": _baselines,
    "metric": lambda _: names.metrics(),
    "sets": _keys,
    "lab": lambda _: LABS,
    "variables": lambda _: dict.fromkeys(SIDES, ""),
    "profile": lambda _: dict.fromkeys(names.profiles(), ""),
    "profile show name": lambda _: dict.fromkeys(names.profiles(), ""),
    "profile check name": lambda _: dict.fromkeys(names.profiles(), ""),
}
_FILES = {
    **dict.fromkeys(("scenario", "scenarios", "like"), ".toml"),
    **dict.fromkeys(("base", "candidate", "source"), "/"),
}
"""Parameters that take a path as well, and how such a path ends (`/`: a folder)."""


def _by_level(found: Candidates, typed: str) -> dict[str, str]:
    """Keys up to their next dot, as a shell offers paths up to the next slash."""
    levels: dict[str, str] = {}
    for key, about in found.items():
        level, dot, _ = key[len(typed) :].partition(".")
        levels.setdefault(typed + level + dot, "" if dot else about)
    return levels


def _files(typed: str, item: CompletionItem[str]) -> list[CompletionItem[str]]:
    """What click leaves to the shell: files, or folders alone."""
    return [CompletionItem(path) for path in _paths(typed, "/" if item.type == "dir" else "")]


def _paths(typed: str, ending: str) -> list[str]:
    """Paths that begin so: folders, and files with this ending."""
    folder, slash, begin = typed.rpartition("/")
    try:
        entries = sorted(Path(f"{folder}{slash}" or ".").expanduser().iterdir())
    except OSError:
        return []
    shown = [entry for entry in entries if entry.name.startswith(begin) and (begin or entry.name[0] != ".")]
    folders = [f"{folder}{slash}{entry.name}/" for entry in shown if entry.is_dir()]
    files = [f"{folder}{slash}{entry.name}" for entry in shown if not entry.is_dir()]
    return folders + [path for path in files if path.endswith(ending)]


def _line(text: str) -> str:
    return " ".join(text.split())
