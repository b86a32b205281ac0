"""Runs a command, and ends it, with all that it started, as soon as whoever asked for it is gone.

`python keeper.py COMMAND …`: its standard input is a pipe that whoever asked holds open and never writes to.
It ends with the last of them, also when they are killed, which no handler sees. The keeper leads the process
group and ends as the command ends. Needs nothing but Python's own modules, so it starts at once.
"""

import os
import select
import signal
import sys
import time
from threading import Thread

_PATIENCE_S = 3.0
_NO_COMMAND = 127


def main(command: list[str]) -> None:
    """Run the command; never returns."""
    ended, at_end = os.pipe()
    nothing = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    # Python ignores it, and whoever is started would ignore it, too.
    usual = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=nothing, setsigdef=usual)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", flush=True)
        os._exit(_NO_COMMAND)
    status: list[int] = []

    def wait() -> None:
        status.append(os.waitpid(child, 0)[1])
        os.close(at_end)

    Thread(target=wait, daemon=True).start()
    ready, _, _ = select.select([0, ended], [], [])
    if ended not in ready:
        _end_all()
    code = os.waitstatus_to_exitcode(status[0])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _end_all() -> None:
    """First asked, so that half a file is removed, then killed: this process, too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    time.sleep(_PATIENCE_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
