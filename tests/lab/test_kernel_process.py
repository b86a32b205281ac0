"""Programs that a build runs."""

import pytest

from rushhour.errors import KernelError
from rushhour.lab.kernel import process


def test_the_first_error_is_told_however_many_come_of_it() -> None:
    """A structure that is wrong has an error, with its excerpt, wherever it is used."""
    errors = (
        "echo 'a.h:1: error: the cause'; for i in $(seq 900); do echo 'a.c:2: error: of it'; done; exit 1"
    )
    with pytest.raises(KernelError, match="the cause"):
        process.run(["sh", "-c", errors], what="build")
