"""What is said when `rushhour tune` is interrupted: only of what it was to do."""

import pytest
from click.testing import CliRunner

from rushhour.cli.tune import tune
from rushhour.tune import live


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "interrupted; nothing was changed"),
        (["--apply"], "interrupted; what was applied so far is put back by: rushhour tune a 'b c' --revert"),
        (["--verify"], "interrupted; what was applied so far is put back by: rushhour tune a 'b c' --revert"),
    ],
)
def test_what_was_applied_is_spoken_of_where_something_was(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(live, "tune", interrupted)
    done = CliRunner().invoke(tune, ["a", "b c", *options], catch_exceptions=False, standalone_mode=False)
    assert done.return_value == 130
    assert done.stderr.splitlines()[-1] == said
