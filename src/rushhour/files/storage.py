"""Storage that several machines share: a folder, or whatever else fsspec reaches by a URL (`s3://…`).

Takes and gives bytes by name. Nothing here is trusted: who reads compares checksums.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rushhour.errors import ExtraError, LabError, UsageError
from rushhour.extras import need
from rushhour.files import places, rooms

if TYPE_CHECKING:
    from collections.abc import Iterator

_FULL = (errno.ENOSPC, errno.EDQUOT)
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
# What this user has named with --store: from elsewhere nothing is fetched because a file says so.
_NAMED = "stores"


def checked(url: str) -> str:
    """A URL of a storage as everybody writes it.

    Raises:
        UsageError: it is none, or has a password in it.
        ExtraError: what reaches it is not installed.
    """
    need("store", f"--store {url}")
    parts = urlsplit(url)
    if not parts.scheme or not (parts.netloc or parts.path.startswith("/")):
        raise UsageError(
            f"--store {url}: it is no URL", hint="for example file:///srv/runs or s3://bucket/runs"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "--store: passwords and options do not belong into the URL, for records keep it",
            hint="fsspec reads them from ~/.config/fsspec, S3 from ~/.aws and AWS_… of the environment",
        )
    if parts.scheme == "file" and parts.netloc:
        raise UsageError(
            f"--store {url}: a folder has three slashes", hint=f"file:///{parts.netloc}{parts.path}"
        )
    _system(url)
    return url.rstrip("/")


def put(url: str, name: str, data: bytes) -> None:
    """Put bytes there under a name, whole or not at all; what is there is replaced.

    Raises:
        LabError: that cannot be done; the cause is an `OSError`.
        ExtraError: what reaches it is not installed.
    """
    system, path = _system(f"{url}/{name}")
    try:
        if "file" in system.protocol:
            place = Path(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            rooms.put(place, data)
        else:
            system.pipe_file(path, data)
    except Exception as error:  # noqa: BLE001 - each of these systems has errors of its own
        full = isinstance(error, OSError) and error.errno in _FULL
        cause = error if full else OSError(errno.EIO, str(error))
        raise _failed("written", url, error) from cause


def get(url: str, name: str) -> bytes:
    """The bytes of this name.

    Raises:
        LabError: they are not there, or cannot be read.
        ExtraError: what reaches them is not installed.
    """
    system, path = _system(f"{url}/{name}")
    try:
        found: bytes = system.cat_file(path)
    except Exception as error:
        raise _failed("read", f"{url}/{name}", error) from error
    return found


def name(url: str) -> None:
    """Remember that this user has named a storage, so that it may be read from, too."""
    if not is_named(url):
        file = places.config(_NAMED)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as sink:
                sink.write(f"{url}\n")


def is_named(url: str) -> bool:
    """Whether this user has named the storage, with `--store` or in `RUSHHOUR_STORE`."""
    return url in _named()


def _named() -> Iterator[str]:
    yield os.environ.get("RUSHHOUR_STORE", "").rstrip("/")
    with suppress(OSError, UnicodeError):
        yield from places.config(_NAMED).read_text(encoding="utf-8").splitlines()


def _system(url: str) -> tuple[Any, str]:
    need("store", url)
    import fsspec  # noqa: PLC0415 - an extra

    scheme = urlsplit(url).scheme
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        package = _PACKAGES.get(scheme, "a package")
        raise ExtraError(
            f"{scheme}:// needs {package}, which is not installed here",
            where=url,
            hint=f"pip install {package}" if scheme in _PACKAGES else str(error),
        ) from error
    except ValueError as error:
        raise UsageError(f"{scheme}:// is no storage that fsspec knows", where=url) from error
    return system, str(path)


def _failed(what: str, where: str, error: Exception) -> LabError:
    said = str(error) or type(error).__name__
    failed = LabError(f"the storage cannot be {what}: {said}", where=where, hint="can this machine reach it?")
    failed.machine = True
    return failed
