"""Where the server listens, who may come in, and what may be asked of it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from pydantic import Field, ValidationError

from rushhour.errors import UsageError
from rushhour.lab import cpus
from rushhour.quantities.units import Duration, Rate, Size
from rushhour.spec.explain import explain
from rushhour.spec.model import Count, Model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SHORTEST_TOKEN = 16


class Bounds(Model):
    """What one request may cost; each is a `--limit NAME=VALUE`."""

    flows: Count = Field(8, le=64, description="flows of an experiment")
    duration: Duration = Field(Duration(30 * 10**9), description="its length, in virtual time")
    rate: Rate = Field(Rate(10**9), description="of the link, and of each flow that has one")
    rtt: Duration = Field(Duration(2 * 10**9), description="base round-trip time")
    buffer: Size = Field(Size(64 * 10**6), description="bytes that a queue may hold")
    packets: Count = Field(
        400_000,
        description="full packets over all links in the whole experiment, and pings: they take host's time",
    )
    runs: Count = Field(default_factory=lambda: len(cpus.own()), le=256, description="experiments at once")
    waiting: Count = Field(32, le=10_000, description="experiments that wait; more are turned away")
    seconds: Count = Field(60, le=3600, description="wall-clock time of a run")
    body: Size = Field(Size(64 * 1024), description="size of a request")
    connections: Count = Field(200, le=10_000, description="connections at once")
    client: Count = Field(100, le=10_000, description="of them from one address")

    @classmethod
    def parse(cls, words: Sequence[str]) -> Self:
        """The bounds with `NAME=VALUE` words put over the defaults.

        Raises:
            UsageError: an unknown name, or a value of the wrong kind.
        """
        pairs = (word.partition("=") for word in words)
        given: dict[str, object] = {
            name: int(value) if value.isdecimal() and len(value) < 12 else value for name, _, value in pairs
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = explain(error, {(): cls})[0]
        raise UsageError(first.message, where=f"--limit {first.path[0]}", hint=first.hint)


@dataclass(frozen=True)
class Settings:
    """The server's settings.

    Attributes:
        host: Name or address to listen at.
        token: What a visitor must show; None: nobody is asked.
        names: Further names under which the server is reached (behind a proxy, by a host name).
        bounds: What a request may cost.
        database: The results database, a path or URL; None: `RUSHHOUR_DB`, or the user's own.
    """

    host: str = "127.0.0.1"
    token: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    database: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse what would let everybody in.

        Raises:
            UsageError: other machines could come in, and nobody would be asked for a token.
        """
        if not self.loopback and self.token is None:
            raise UsageError(
                f"{self.host} can be reached by others, who could run experiments here",
                where="--host",
                hint="give --token-file FILE with a secret of 16 letters or more, or stay at 127.0.0.1",
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can come in."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine, for itself only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(file: Path) -> str:
    """The token in a file, without the space around it.

    Raises:
        UsageError: it cannot be read, is too short, or holds what a header cannot carry.
    """
    try:
        token = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is not ASCII text"
        raise UsageError(f"cannot read the token: {said}", where=str(file)) from error
    if len(token) < SHORTEST_TOKEN or not token.isprintable() or " " in token:
        raise UsageError(
            f"a token is one word of {SHORTEST_TOKEN} letters or more",
            where=str(file),
            hint=f"make one: (umask 077; openssl rand -hex 24 > {file})",
        )
    return token
