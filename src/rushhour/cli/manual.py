"""The manual page: share/man/man1/rushhour.1, rendered from the commands.

Run `python docs/generate.py` after a change; a test compares the two.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS, cli, grouped
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
.\\" Rendered from the commands by docs/generate.py; do not edit.
.TH RUSHHOUR 1 "" "Rush Hour {version}" "User Commands"
.SH NAME
rushhour \\- a congestion laboratory for the Linux network stack
.SH SYNOPSIS
.B rushhour
.I COMMAND
[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]
.SH DESCRIPTION
A scenario describes a network and the traffic on it in a few lines of TOML. Rush Hour runs it on the real
kernel's TCP, in virtual time and without privileges, and reports what came of it. The same run twice gives
the same bytes; two kernels under one seed meet the same losses.
.PP
.B rushhour demo
shows it in some seconds,
.B rushhour new
writes a scenario to begin with,
.B rushhour help scenario
describes every key of one. Results go to standard output, people's words to standard error.
"""
_TAIL = """\
.SH EXIT STATUS
.TP
.B 0
All went well; what the kernel lacks was skipped.
.TP
.B 1
Something failed, is not as the scenario expects, or is worse.
.TP
.B 2
Nothing could be done: a wrong word, a missing kernel or file.
.TP
.B 3
A comparison cannot tell.
.TP
.B 4
A run is invalid: its links were not what was asked.
.TP
.B 130
Interrupted.
.SH ENVIRONMENT
.TP
.B RUSHHOUR_DB
The results database; if it is set,
.B run
and
.B compare
store what they did there.
.TP
.B XDG_CACHE_HOME
Where kernels and known runs are kept, in
.IR rushhour/ ;
by default
.IR ~/.cache .
.TP
.B XDG_DATA_HOME
Where baselines and the results database are kept, in
.IR rushhour/ ;
by default
.IR ~/.local/share .
.TP
.BR COLUMNS ", " NO_COLOR
The width of what is printed; whether it has colours.
.SH FILES
.TP
.I results/NAME/DATE-TIME/
What
.B run
writes: the records, their index and
.IR report.html .
.I results/NAME/latest
is the last one.
.SH SEE ALSO
.BR ip (8),
.BR tc (8),
.BR tcp (7)
"""


_LETTERS = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
"""Letters that roff would draw otherwise than a shell reads them."""


def render() -> str:
    """The page in the language of man(7)."""
    context = click.Context(cli, info_name="rushhour", help_option_names=SETTINGS["help_option_names"])
    parts = [_HEAD.format(version=__version__), ".SH COMMANDS\n"]
    for name in (name for names in grouped().values() for name in names):
        command = cli.get_command(context, name)
        assert command is not None
        parts += _pages(command, context, name)
    return "".join(parts) + _TAIL


def _pages(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = click.Context(command, parent, info_name=name, help_option_names=SETTINGS["help_option_names"])
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            if found is not None:
                yield from _pages(found, context, part)
        return
    yield f".SS {_quoted(context.command_path)}\n"
    yield f".B {_text(context.command_path)}\n" + "".join(
        f"{_text(piece)}\n" for piece in command.collect_usage_pieces(context)
    )
    yield from _paragraphs(cleandoc(command.help or ""))
    for param in command.params:
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is not None:
            yield f".TP\n.B {_text(record[0])}\n{_text(record[1])}\n"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        lines = paragraph.removeprefix("\b\n").splitlines()
        if paragraph.startswith("Example: "):
            lines = [" ".join(lines)]
        if paragraph.startswith(("\b\n", "Example: ")):
            yield ".PP\n.nf\n" + "".join(f"{_text(line)}\n" for line in lines) + ".fi\n"
        else:
            yield ".PP\n" + "".join(f"{_text(line)}\n" for line in lines)


def _text(text: str) -> str:
    """A line as roff shows it: no letter of it is a request."""
    escaped = "".join(_LETTERS.get(letter, letter) for letter in text)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def _quoted(text: str) -> str:
    return '"' + _text(text).replace('"', '""') + '"'
