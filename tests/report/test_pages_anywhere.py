"""Pages are the same with any Python: what they add up themselves, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from another_python import STRICT
from commandline import rush

PAGES = """
{before}
from pathlib import Path
from rushhour.record.result_set import ResultSet
from rushhour.report import html, markdown
results = ResultSet.open(Path(sys.argv[1]))
print(html.render(results), markdown.render(results))
"""


def pages(results: Path, before: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", PAGES.format(before=before), str(results)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.virtual
def test_with_another_python_pages_are_the_same(tmp_path: Path) -> None:
    """With a sweep, figures, and reasons for what each flow got."""
    done = rush("run", "aqm/marks-instead-of-drops", "--quick", "--out", "out", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    here = pages(tmp_path / "out", "import sys")
    assert "the queue" in here
    assert pages(tmp_path / "out", STRICT) == here
