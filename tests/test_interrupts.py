"""A second Ctrl-C, while the first one is heeded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

# Of a command that was interrupted one thread goes on, as one that waits for a guest's end does.
PROGRAM = """\
import sys, threading, time
from rushhour import cli

def interrupted(**_: object) -> None:
    threading.Thread(target=time.sleep, args=(60,)).start()
    threading.Timer(0.2, lambda: print("ending", flush=True)).start()
    raise KeyboardInterrupt

cli.cli.main = interrupted
cli.main()
"""


def test_a_second_interrupt_ends_at_once_and_without_a_traceback() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, env=env, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ending\n"
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)
    assert said == ("", "")
    # As a shell shows it that is 130, too.
    assert process.returncode == -signal.SIGINT
