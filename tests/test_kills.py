"""A test that fails waits for nothing that it left running."""

import subprocess
import sys

import kills
import pytest


def test_what_a_failed_block_leaves_running_is_ended() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(3600)"]
    with pytest.raises(AssertionError), kills.at_the_end(subprocess.Popen(command)) as process:
        raise AssertionError
    assert process.returncode == -9
