"""What is not needed to run: packages that only some people want, and what to say where one is missing.

The extras of pyproject.toml, by name. A package is named itself in the advice: `rushhour[NAME]` would let the
index decide what `rushhour` is.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec

from rushhour.errors import ExtraError


@dataclass(frozen=True)
class Extra:
    """A package that is not always there: as it is imported, as it is required, and what needs it."""

    module: str
    requirement: str
    purpose: str


EXTRAS = {
    "fleet": Extra("distributed", "distributed>=2025.1", "runs on other machines (`--on`) go through it"),
    "fleet-k8s": Extra("dask_kubernetes", "dask-kubernetes>=2025.1", "it starts workers in Kubernetes"),
    "fleet-slurm": Extra("dask_jobqueue", "dask-jobqueue>=0.9", "it starts workers in Slurm's queue"),
    "fleet-up": Extra("cryptography", "cryptography>=42", "workers on ssh hosts get certificates by it"),
    "frames": Extra("pyarrow", "pyarrow>=18", "frames (`record.frame`, `results.index`) are its tables"),
    "postgres": Extra("psycopg", "psycopg[binary]>=3.2", "results in a PostgreSQL server are stored by it"),
    "store": Extra("fsspec", "fsspec>=2024.6", "records in shared storage are reached by it"),
    "store-s3": Extra("s3fs", "s3fs>=2024.6", "S3 and its like are reached by it"),
}


def need(name: str, where: str | None = None) -> None:
    """Refuse to go on without an extra.

    Args:
        name: One of `EXTRAS`.
        where: What was asked for that needs it.

    Raises:
        ExtraError: it is not installed, with the command that installs it.
    """
    extra = EXTRAS[name]
    if find_spec(extra.module) is None:
        raise ExtraError(
            f"the Python package {extra.module} is not installed; {extra.purpose}",
            where=where,
            hint=f"to install it: {sys.executable} -m pip install '{extra.requirement}'",
        )
