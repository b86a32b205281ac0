"""A second Ctrl-C, or whatever else asks for an end, while a command is ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

# Of a command that ends one thread goes on, as one that waits for a guest's end does.
PROGRAM = """\
import signal, sys, threading, time
from rushhour import cli

def goes_on() -> None:
    while signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:  # the last that the command lets go
        time.sleep(0.01)
    print("ending", flush=True)
    time.sleep(60)

def ends(**_: object) -> int:
    threading.Thread(target=goes_on).start()
    if sys.argv[1] == "interrupted":
        raise KeyboardInterrupt
    return 0

cli.cli.main = ends
cli.main()
"""


@pytest.mark.parametrize("how", ["interrupted", "done"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_ends_at_once_and_without_a_traceback(how: str, number: signal.Signals) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, how]
    with subprocess.Popen(command, env=env, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ending\n"
        process.send_signal(number)
        said = process.communicate(timeout=30)
    assert said == ("", "")
    # As a shell shows them these are 130, 143 and 129.
    assert process.returncode == -number
