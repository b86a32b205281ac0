"""The document of the commands: docs/commands.md, rendered from their help pages.

Run `python docs/generate.py` after a change; a test compares the two.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from rushhour.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
# The commands

*Rendered from the help pages by `python docs/generate.py`; do not edit.*

Results and documents go to standard output, messages to standard error. `--json` prints one JSON document and
nothing else. Every command takes `-h` and `--help`. A wrong command line gives exit code 2.
"""
_WIDTH = 80
# What the head says of all commands.
_COMMON = re.compile(
    r"^ +(?:-h, --help +Show this message and exit|--json +One JSON document on standard output)\.\n?",
    re.MULTILINE,
)
_NOTHING = re.compile(r"\n*^Options:\s*(?=\n\S|\Z)", re.MULTILINE)


def render() -> str:
    """The whole document as Markdown."""
    return "\n".join([_HEAD, *_pages(cli, None, "rushhour")])


def _pages(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    context = click.Context(
        command, parent, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    said = _NOTHING.sub("\n", _COMMON.sub("", command.get_help(context) + "\n")).strip()
    yield f"## {context.command_path}\n\n```text\n{said}\n```\n"
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            if found is not None:
                yield from _pages(found, context, part)
