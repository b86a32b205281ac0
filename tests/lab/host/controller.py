"""A controller for the tests that kill: it opens sessions at the places it is given and keeps them busy."""

import sys
import time
from contextlib import ExitStack

from rushhour.errors import RushHourError
from rushhour.lab.host.session import Session

SECONDS = 2.0


def main() -> int:
    try:
        with ExitStack() as stack:
            sessions = [stack.enter_context(Session.open(place)) for place in sys.argv[1:]]
            print("open", flush=True)
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                for session in sessions:
                    session.call("files", paths=["/proc/net/*"])
                    session.call("clock")
        print("closed", flush=True)
    except RushHourError as error:
        print(error, flush=True)
        return error.exit_code
    return 0


sys.exit(main())
