"""What a run needs before it begins loads nothing large: numpy is for what is measured."""

from __future__ import annotations

import subprocess
import sys


def test_planning_loads_no_numpy() -> None:
    code = "import sys, rushhour.plan, rushhour.lab.agent; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
