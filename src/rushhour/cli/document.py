"""The document of the commands: docs/commands.md, rendered from their help pages.

Run `python docs/generate.py` after a change; a test compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rushhour.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
# The commands

*Rendered from the help pages by `python docs/generate.py`; do not edit.*

Results and documents go to standard output, people's words to standard error. With `--json` standard output
is one JSON document and nothing else. Errors say what was tried, what came back, and what to do next; a wrong
word on the command line gives exit code 2.
"""
_WIDTH = 80


def render() -> str:
    """The whole document as Markdown."""
    return "\n".join([_HEAD, *_pages(cli, None, "rushhour")])


def _pages(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    context = click.Context(
        command, parent, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            if found is not None:
                yield from _pages(found, context, part)
