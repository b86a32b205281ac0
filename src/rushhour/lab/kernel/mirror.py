"""Where Debian's archive is, and files from there."""

from __future__ import annotations

import os
import shutil
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING

from rushhour.errors import KernelError, UsageError
from rushhour.lab import packages

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "RUSHHOUR_DEBIAN_MIRROR"
_USUAL = "deb.debian.org"
# Where kernels are that a release does not have itself. One that has left the mirror does no harm.
_RELEASES = ("bullseye", "bookworm", "trixie")
_SUITES = (*_RELEASES, f"{_RELEASES[-1]}-backports", "unstable")
_TIMEOUT_S = 60
_ABSENT = {404, 410}


class GoneError(KernelError):
    """The server has no such file."""


class UnreachableError(KernelError):
    """The server, or the way to it, could not be used."""


@dataclass(frozen=True)
class Mirror:
    """Debian's archive: the URLs of the folders `debian` and `debian-security`."""

    main: str
    security: str

    def suites(self) -> list[tuple[str, str]]:
        """Every release that may have kernels: the URL above its `dists`, and its name."""
        main = [(self.main, suite) for suite in _SUITES]
        return main + [(self.security, f"{release}-security") for release in _RELEASES]


def mirror(scheme: str) -> Mirror:
    """The mirror that the environment names (`URL`, or `URL SECURITY-URL`), or Debian's own by `scheme`.

    Raises:
        UsageError: what it names is no address.
    """
    named = os.environ.get(VARIABLE, "").split()
    if len(named) > 2 or not all(url.startswith(("http://", "https://")) for url in named):
        raise UsageError(
            f"{VARIABLE} is {os.environ[VARIABLE]!r}",
            hint="it takes the address of a folder debian, and may take that of debian-security after it",
        )
    usual = [f"{scheme}://{_USUAL}/{folder}" for folder in ("debian", "debian-security")]
    main, security = [*(url.rstrip("/") for url in named), *usual[len(named) :]]
    return Mirror(main, security)


def fetch(url: str, target: Path) -> None:
    """Fetch a file, by way of the proxies that the environment names.

    Raises:
        GoneError: there is no such file.
        UnreachableError: the server could not be reached, or broke off.
    """
    try:
        with (
            # An opener of its own: the common one keeps the proxies of the moment it was first used.
            urllib.request.build_opener().open(url, timeout=_TIMEOUT_S) as answer,
            target.open("wb") as file,
        ):
            shutil.copyfileobj(answer, file, 1 << 20)
            length = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        if error.code in _ABSENT:
            raise GoneError(f"there is no such file ({error.code})", where=url) from error
        raise UnreachableError(f"the server answers {error.code} {error.reason}", where=url) from error
    except (OSError, HTTPException) as error:
        raise _unreachable(url, error) from error
    if length is not None and target.stat().st_size != int(length):
        raise UnreachableError(
            "the server closed the connection early", where=url, hint="give the same command again"
        )


def _unreachable(url: str, error: Exception) -> UnreachableError:
    reason = getattr(error, "reason", error)
    hint = f"is the network there? https_proxy names a proxy, {VARIABLE} another mirror"
    if isinstance(reason, ssl.SSLCertVerificationError):
        hint = f"does this machine know the usual certificates? {packages.advice('certificates')}"
    return UnreachableError(f"Debian's archive cannot be reached: {reason}", where=url, hint=hint)
