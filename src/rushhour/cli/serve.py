"""`rushhour serve`: the playground and the results in a browser."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rushhour.cli import SETTINGS
from rushhour.cli.db import DB
from rushhour.cli.screen import echo


@click.command(context_settings=SETTINGS, short_help="A playground and the results in the browser.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="A file with the token that visitors must show; needed for addresses that others can reach.",
)
@click.option("--name", "names", multiple=True, help="A further name of this server, as behind a proxy.")
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="What an experiment may cost: flows, duration, rate, rtt, buffer, packets, seconds; "
    "how many run at once and wait: runs, waiting; the size of a request: body; connections, and those "
    "of one address: connections, client.",
)
@DB
@click.option("--open", "open_browser", is_flag=True, help="Open it in a browser.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output: the address.")
def serve(
    host: str,
    port: int,
    token_file: Path | None,
    names: tuple[str, ...],
    limits: tuple[str, ...],
    *,
    db: str | None,
    open_browser: bool,
    as_json: bool,
) -> None:
    """Serve the playground, where the kernel runs what the sliders say, and the browser of stored results.

    It listens on this machine only, unless --host names another address; visitors then need a token.

    Example: rushhour serve --open
    """
    from rushhour.web.listen import listen, url
    from rushhour.web.settings import Bounds, Settings, read_token

    token = None if token_file is None else read_token(token_file)
    settings = Settings(host, token, names, Bounds.parse(limits), db)
    server = listen(host, port)
    address = url(server, settings)

    def ready() -> None:
        echo(f"Rush Hour is at {address} (Ctrl-C ends it)", err=True)
        if as_json:
            echo(json.dumps({"url": address}))
        if open_browser:
            click.launch(address)

    # Slow to load, and of no use to whom a mistake was told.
    from rushhour.web.serve import serve as run

    try:
        run(settings, server, ready)
    except KeyboardInterrupt:
        # To be asked to end is how a server ends.
        echo("Ended.", err=True)
