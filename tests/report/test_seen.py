"""What an eye reads off a page: no number that was not measured, nothing covered, nothing too pale."""

from pathlib import Path

import pytest
from report_records import make_set
from test_browser import drive

from rushhour.record import ResultSet
from rushhour.report.html import render
from rushhour.report.words import NONE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One run of 6 s whose second flow sends from 1 s to 4 s."""
    return render(ResultSet.open(make_set(tmp_path_factory.mktemp("single"), [{}], seconds=6)))


READ = """
const said_at = (seconds) => {
  const over = $("#panels .u-over");
  const box = over.getBoundingClientRect();
  const x = box.left + (seconds / 6) * box.width;
  over.dispatchEvent(new MouseEvent("mousemove", { clientX: x, clientY: box.top + 20, bubbles: true }));
  const found = {};
  for (const panel of all("#panels .panel")) {
    for (const entry of panel.querySelectorAll(".legend li")) {
      const name = `${panel.dataset.panel} ${entry.querySelector("span").textContent}`;
      found[name] = entry.querySelector("output").textContent;
    }
  }
  return found;
};
"""


def test_no_number_is_said_of_a_flow_that_is_not_there(single: str, tmp_path: Path) -> None:
    steps = READ + "said.before = said_at(0.5); said.between = said_at(3); said.after = said_at(5.5);"
    said = drive(single, tmp_path, steps, 1200)
    shown = {name: value for name, value in said["between"].items() if not name.startswith("events")}
    names = [name for name, value in shown.items() if value != NONE]
    second = [name for name in names if "short" in name]
    assert len(second) >= 3, names
    for when in ("before", "after"):
        assert {name: said[when][name] for name in second} == dict.fromkeys(second, NONE), when
    first = [name for name in names if name.split()[1] == "long" and "ssthresh" not in name]
    assert len(first) >= 3
    assert all(said["before"][name] != NONE for name in first)
