"""Functions as programs: what goes along, what cannot, how answers come back. No kernel is needed."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import carried
import pytest

from rushhour.errors import LabError, UsageError
from rushhour.lab import imports
from rushhour.record.output import Line
from rushhour.testing import CallError, calls

if TYPE_CHECKING:
    from collections.abc import Callable


def called(packed: calls.Packed, folder: Path) -> tuple[list[str], calls.Answer | None]:
    """What a packed call prints, and its answer, as in a guest: by the bare interpreter, somewhere else."""
    for name, text in packed.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    done = subprocess.run(packed.command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    lines = [Line(0, 0, "out", text) for text in done.stdout.splitlines()]
    printed, text = calls.spoken(lines)
    return [line.text for line in printed], calls.unpack(text)


def answer(folder: Path, function: Callable[..., Any], *words: Any, **named: Any) -> Any:
    found = called(calls.pack("call", function, words, named), folder)[1]
    assert found is not None
    if found.error is not None:
        raise found.error
    return found.value


def test_a_value_of_the_users_own_class_comes_back(tmp_path: Path) -> None:
    assert answer(tmp_path, carried.doubled, carried.Point(3), times=5) == carried.Point(15)
    assert answer(tmp_path, functools.partial(carried.doubled, times=3), carried.Point(3)).x == 9
    assert answer(tmp_path, carried.large) == carried.large(), "in many lines"
    assert answer(tmp_path, carried.later, 0.01) == "later"
    version, file = answer(tmp_path, carried.python)
    assert (version, file) == (tuple(sys.version_info[:3]), carried.__file__)


def test_an_exception_comes_back_with_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        answer(tmp_path, carried.wrong, "json")
    told = str(caught.value.__cause__)
    assert 'return json.loads("{")' in told, "with the line of the source"
    assert carried.__file__ in told
    assert "inside.py" not in told
    with pytest.raises(CallError, match=r"AwkwardError: 1 and 2\n(.|\n)*raise AwkwardError"):
        answer(tmp_path, carried.wrong, "awkward")
    with pytest.raises(CallError, match="gave a function, which cannot be carried here"):
        answer(tmp_path, carried.wrong, "lambda")
    with pytest.raises(ModuleNotFoundError, match="colours_of_nowhere"):
        answer(tmp_path, carried.wrong, "lazy")
    printed, found = called(calls.pack("call", carried.wrong, ["exit"], {}), tmp_path)
    assert (printed, found) == (["just before"], None)


class Kept:
    """A class within a test module, whose methods can be called."""

    def __init__(self, x: int) -> None:
        self.x = x

    def doubled(self) -> int:
        return 2 * self.x


def test_a_function_of_the_test_module_itself_is_carried(tmp_path: Path) -> None:
    assert answer(tmp_path, Kept(4).doubled) == 8


def test_what_cannot_be_carried_is_said() -> None:
    held = 3

    def inner() -> None: ...

    def closure() -> int:
        return held

    for function, words in (
        (lambda: 1, "a lambda has no name"),
        (inner, "defined within a function"),
        (closure, "a closure, which holds held"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            calls.pack("call", function, (), {})
        assert "top level of a module" in str(caught.value.hint)
    with pytest.raises(UsageError, match=r"argument times of doubled cannot be carried"):
        calls.pack("call", carried.doubled, (carried.Point(1),), {"times": lambda: 1})
    with pytest.raises(UsageError, match=r"argument 1 of doubled cannot be carried"):
        calls.pack("call", carried.doubled, (iter(lambda: 1, 2),), {})


def test_only_what_is_imported_goes_along() -> None:
    packed = calls.pack("call", carried.doubled, (carried.Point(1),), {})
    assert packed.needs == ()
    assert packed.command[0] == imports.interpreter()
    assert not Path(packed.command[0]).is_symlink()
    of_tests = calls.pack("call", Kept(1).doubled, (), {})
    names = {Path(place).name for place in of_tests.needs}
    assert {"pytest", "_pytest", "pluggy"} <= names
    assert any(name.startswith("pluggy-") for name in names), "what it says of itself"


def test_modules_that_are_imported_later_go_along_with_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "brought_package"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "def late():\n    from brought_package.deep import one\n    return one.X\n"
    )
    (package / "deep/__init__.py").write_text("")
    (package / "deep/data.txt").write_text("data")
    (package / ".hidden").write_text("")
    (package / "deep/one.py").write_text("from . import two\nX = two.Y + 1\n")
    (package / "deep/two.py").write_text("Y = 41\n")
    (tmp_path / "brought_alone.py").write_text(
        "def late():\n    import brought_other\n    return brought_other.Z\n"
    )
    (tmp_path / "brought_other.py").write_text("Z = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    import brought_alone  # type: ignore[import-not-found] # noqa: PLC0415
    import brought_package  # type: ignore[import-not-found] # noqa: PLC0415

    first = calls.pack("call", brought_package.late, (), {})
    second = calls.pack("call", brought_alone.late, (), {}, modules=["brought_other"])
    assert first.needs == (str(package / "deep/data.txt"),)
    for file in tmp_path.rglob("*.py"):
        file.unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert called(first, elsewhere)[1] == calls.Answer(42)
    assert called(second, elsewhere)[1] == calls.Answer(5)


def test_a_module_that_only_pytest_can_import_is_taken_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util  # noqa: PLC0415

    file = tmp_path / "by_file.py"
    file.write_text("def f():\n    return __name__\n")
    spec = importlib.util.spec_from_file_location("somewhere.by_file", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "somewhere", types.ModuleType("somewhere"))
    monkeypatch.setitem(sys.modules, "somewhere.by_file", module)
    spec.loader.exec_module(module)
    assert answer(tmp_path, module.f) == "somewhere.by_file"


def test_a_module_that_a_new_process_cannot_import_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "only_here.py"
    file.write_text(
        "import sys\nif 'pytest' not in sys.modules:\n    raise OSError('not there')\ndef f(): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found] # noqa: PLC0415

    with pytest.raises(LabError, match="cannot be imported: OSError: not there"):
        calls.pack("call", only_here.f, (), {})


def test_an_answer_behind_half_a_line_is_found() -> None:
    lines = [
        Line(1, 0, "out", "half[rushhour answer 1/2] abc"),
        Line(1, 0, "out", "[rushhour answer 2/2] def"),
    ]
    printed, text = calls.spoken(lines)
    assert ([line.text for line in printed], text) == (["half"], "abcdef")
    assert calls.spoken(lines[:1])[1] == "", "not whole"
    assert calls.unpack("") is None
