"""Control-C, or whatever else asks for an end: while a command is loaded, while it works, while it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import kills
import pytest

if TYPE_CHECKING:
    from pathlib import Path

# What `nohup` has ignored stays ignored by all that is started, and so by a command, which is right in that.
HEARD = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
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
    command = [sys.executable, "-c", HEARD + PROGRAM, how]
    with kills.at_the_end(subprocess.Popen(command, env=env, stdout=-1, stderr=-1, text=True)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ending\n"
        process.send_signal(number)
        said = process.communicate(timeout=30)
    assert said == ("", "interrupted\n" if how == "interrupted" else "")
    # As a shell shows them these are 130, 143 and 129.
    assert process.returncode == -number


LOADING = """\
import sys, time
from rushhour import cli

def loads(**_: object) -> int:
    import lossy
    time.sleep(60)
    return 0

cli.cli.main = loads
cli.main()
"""
# Interrupted where no exception gets out, as in the callbacks and C code of an import.
LOSSY = """\
import signal, weakref

class Thing:
    pass

thing = Thing()
kept = weakref.ref(thing, lambda _: signal.raise_signal(signal.{number}))
del thing
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupt_while_a_module_is_loaded_is_not_lost(number: str, tmp_path: Path) -> None:
    (tmp_path / "lossy.py").write_text(LOSSY.format(number=number))
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)])}
    done = subprocess.run(
        [sys.executable, "-c", HEARD + LOADING],
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


CLEANING = """\
import os, signal, time
from rushhour import cli

def works(**_: object) -> int:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(20):
            time.sleep(0.01)
        print("all is removed", flush=True)
        if late:
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
    return 0

cli.cli.main = works
late = {late}
cli.main()
"""


@pytest.mark.parametrize("late", [False, True])
def test_pressed_twice_it_is_one_request_and_pressed_again_it_is_another(late: bool) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CLEANING.format(late=late)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "all is removed\n", "interrupted\n")


CHANGED = """\
import os, signal, sys
from rushhour import cli

class Panic(BaseException):
    pass

def works(**_: object) -> int:
    try:
        if sys.argv[1:] == ["interrupted"]:
            os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt as error:
        raise Panic("no NumPy") from error
    raise Panic("a fault")

cli.cli.main = works
cli.main()
"""


def test_an_interrupt_of_which_foreign_code_makes_something_else_is_one() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def ended(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-c", CHANGED, *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stderr.splitlines()[-1]

    assert ended("interrupted") == (130, "interrupted")
    assert ended() == (1, "Panic: a fault")


# As a person does it who presses Control-C while a certain module is loaded.
STRUCK = """\
import sys
module = sys.argv.pop(1)

class Interrupting:
    def find_spec(self, name, *_):
        if name == module:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from rushhour.__main__ import main
main()
"""
KEPT, KNOWN = "what finished is kept", "what has run is known"


@pytest.mark.parametrize(
    ("words", "module", "said"),
    [
        ("run window-scaling", "rushhour.running.runner", KEPT),
        ("demo --no-open", "rushhour.running.runner", KEPT),
        ("coverage suite/slow-start", "rushhour.coverage.index", KEPT),
        ("compare a b", "rushhour.verdict", KNOWN),
        ("check .", "rushhour.check", KNOWN),
        ("kernel build debian:6.12", "rushhour.lab.kernel", "what is compiled is kept"),
    ],
)
def test_what_may_be_gone_on_with_is_said_however_early(
    words: str, module: str, said: str, tmp_path: Path
) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, module, *words.split()],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, f"\ninterrupted; {said}. To go on: the same command\n")
    assert not [*tmp_path.iterdir()]


THREADED = """\
import os, random, signal, threading, time
from concurrent.futures import ThreadPoolExecutor
from rushhour.cli.asked import Asked

__name__ = "rushhour.cli.tried"  # who may catch an interrupt

def interrupt(after_s: float) -> None:
    time.sleep(after_s)
    os.kill(os.getpid(), signal.SIGINT)

dice = random.Random(1)
for _ in range(150):
    Asked().heed()
    signal.setitimer(signal.ITIMER_REAL, 0)
    threading.Thread(target=interrupt, args=(dice.uniform(0, 0.004),)).start()
    with ThreadPoolExecutor(4) as pool:  # waits for its threads at the end
        try:
            while True:
                pool.submit(sum, range(50))
                sum(range(500))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


def test_an_interrupt_leaves_no_lock_that_a_thread_waits_for() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", THREADED], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["interrupted"] * 150


# Where Python tells nobody of an exception: as an object goes.
GOING = """\
import signal, time
from rushhour import cli

class Thing:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)

def works(**_: object) -> int:
    Thing()
    time.sleep(60)
    return 0

cli.cli.main = works
cli.main()
"""


def test_an_interrupt_as_an_object_goes_is_not_lost() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", GOING]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


# Python's own handler has run, in whatever thread, and the main thread waits: as if the signal had come just
# before it began to.
WAITING = """\
import queue, signal, threading
from rushhour import cli

def works(**_: object) -> int:
    threading.Timer(0.5, lambda: signal.pthread_kill(threading.get_ident(), signal.{number})).start()
    queue.SimpleQueue().get()
    return 0

cli.cli.main = works
cli.main()
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_who_waits_already_is_woken_up(number: str) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HEARD + WAITING.format(number=number)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


# What C code calls, as sqlite here: it makes an error of its own of any exception.
CALLED = """\
import signal, sqlite3, time
from rushhour import cli

def works(**_: object) -> int:
    base = sqlite3.connect(":memory:")
    base.create_function("struck", 0, lambda: signal.raise_signal(signal.SIGINT))
    try:
        base.execute("select struck()")
    except sqlite3.Error:
        pass
    time.sleep(60)
    return 0

cli.cli.main = works
cli.main()
"""


def test_an_interrupt_that_foreign_code_drops_comes_again() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CALLED]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


# A server begins to heed signals while an interrupt waits for its moment.
SERVING = """\
import signal, time
from rushhour import cli

heard = []

class Thing:
    def __del__(self) -> None:
        signal.raise_signal(signal.{number})
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: heard.append(number))

def works(**_: object) -> int:
    Thing()
    while not heard:
        time.sleep(0.01)
    time.sleep(0.1)
    print(*map(int, heard))
    return 0

cli.cli.main = works
cli.main()
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_who_has_begun_to_heed_a_signal_gets_the_one_that_waits(number: str) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HEARD + SERVING.format(number=number)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(int(signal.Signals[number]))]
