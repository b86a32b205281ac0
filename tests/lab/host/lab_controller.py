"""A controller for the tests that kill: it runs one experiment after the other between two places."""

import sys
from pathlib import Path

from rushhour.errors import RushHourError
from rushhour.lab.host.inventory import between
from rushhour.lab.hosts import HostsLab
from rushhour.plan import lower
from rushhour.spec.load import load_scenario


def main() -> int:
    scenario, folder, one, other = sys.argv[1:]
    lowered = lower(load_scenario(scenario), 1)
    try:
        with HostsLab(between(s1=one, r1=other)) as lab:
            for number in range(4):
                lab.measure(lowered, Path(folder) / str(number))
                print("run", number, flush=True)
    except RushHourError as error:
        print(error, flush=True)
        return error.exit_code
    return 0


sys.exit(main())
