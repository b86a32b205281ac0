"""The build: a little tree whose Makefile answers as the kernel's, through the real make, lock and store."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from little_tree import MAKEFILE, make_tree, starts

from rushhour.cli import cli
from rushhour.errors import DOCTOR, KernelError, LabError
from rushhour.lab import agent, boot, packages
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import config, process, store


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "little")


def test_a_build_is_found_by_name_id_and_source(tree: Path) -> None:
    built = kernels.build(str(tree), "mine")
    assert built.release == "6.99.0"
    for name in ("mine", built.id, f"mine-{built.id}", str(tree)):
        assert kernels.find(name) == built
    assert kernels.default() == built
    assert built.identity["missing"] == ["NET_SCH_CBQ"]


def released(folder: Path, release: str) -> str:
    """A tree of this release."""
    text = (make_tree(folder) / "Makefile").read_text()
    (folder / "Makefile").write_text(text.replace("echo 6.99.0", f"echo {release}"))
    return str(folder)


def test_the_default_is_the_latest_version_whatever_was_built_after_it(tmp_path: Path) -> None:
    first = kernels.build(released(tmp_path / "first", "6.9.0"))
    assert kernels.default() == first
    kernels.build(released(tmp_path / "candidate", "6.12.0-rc7"))
    latest = kernels.build(released(tmp_path / "latest", "6.12.0"))
    for older in ("5.10.262", "6.9.10", "6.12.0-rc8"):
        kernels.build(released(tmp_path / older, older))
        assert kernels.default() == latest
    again = kernels.build(released(tmp_path / "again", "6.12.0"))
    assert kernels.default() == again
    kernels.remove("again")
    kernels.remove("latest")
    assert kernels.default().release == "6.12.0-rc8"


def test_a_kernel_with_a_patch_is_the_default_only_where_there_is_no_other(tmp_path: Path) -> None:
    patch = tmp_path / "0001-two.patch"
    patch.write_text("--- a/one.c\n+++ b/one.c\n@@ -1 +1 @@\n-int one;\n+int one = 2;\n")
    changed = kernels.build(released(tmp_path / "new", "6.12.0"), patches=[str(patch)])
    assert kernels.default() == changed
    plain = kernels.build(released(tmp_path / "old", "6.1.0"))
    assert kernels.default() == plain


def test_a_build_says_which_kernel_runs_will_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "boot", starts)
    monkeypatch.setattr(agent, "find", lambda: None)  # that which is found first is remembered
    new, old = released(tmp_path / "new", "6.12.0"), released(tmp_path / "old", "5.10.0")
    said = [CliRunner().invoke(cli, ["kernel", "build", tree]).stderr for tree in (new, old)]
    assert "it is the default kernel: runs use it where none is named" in said[0]
    assert "the default kernel is new (6.12.0); to use this one: --kernel old" in said[1]
    alone = CliRunner().invoke(cli, ["kernel", "build", new, "--aside", "--name", "step"]).stderr
    assert "to use this one: --kernel step" in alone


def test_an_identity_holds_no_path(tree: Path, tmp_path: Path) -> None:
    text = json.dumps(kernels.build(str(tree)).identity)
    assert str(tmp_path) not in text


def test_building_again_does_nothing_and_says_so(tree: Path) -> None:
    first = kernels.build(str(tree))
    steps: list[str] = []
    again = kernels.build(str(tree), None, lambda step: steps.append(step.text))
    assert again == first
    assert steps[-1].startswith("unchanged")
    assert "compiling" not in steps


def test_a_change_that_does_not_reach_the_image_is_not_compiled_twice(tree: Path) -> None:
    first = kernels.build(str(tree))
    first_inputs = first.origin()["inputs"]
    origin = {**first.origin(), "inputs": "another day's"}
    store.save(first.name, first.identity, first.id, origin, {})
    assert kernels.find(first.name).origin()["inputs"] == "another day's"
    assert kernels.build(str(tree)).origin()["inputs"] == first_inputs
    steps: list[str] = []
    kernels.build(str(tree), None, lambda step: steps.append(step.text))
    assert steps[-1].startswith("unchanged")


def test_an_unchanged_kernel_can_have_two_names(tree: Path) -> None:
    one, two = kernels.build(str(tree), "one"), kernels.build(str(tree), "two")
    assert (one.name, two.name) == ("one", "two")
    assert one.id == two.id
    assert two.identity["name"] == "two"
    kernels.remove("one")
    assert kernels.find("two").image.is_file()


def test_a_changed_tree_is_another_kernel_and_the_newest_of_its_name(tree: Path) -> None:
    before = kernels.build(str(tree), "k")
    (tree / "one.c").write_text("int one = 1;\n")
    after = kernels.build(str(tree), "k")
    assert before.id != after.id
    assert kernels.find("k") == after
    assert kernels.find(before.id) == before


def test_going_back_makes_the_old_kernel_the_newest_again(tree: Path) -> None:
    text = (tree / "one.c").read_text()
    old = kernels.build(str(tree), "k")
    (tree / "one.c").write_text("int one = 1;\n")
    kernels.build(str(tree), "k")
    (tree / "one.c").write_text(text)
    assert kernels.build(str(tree), "k") == old
    assert kernels.find("k") == old


def test_a_failed_build_shows_the_compilers_words_and_the_log(tree: Path) -> None:
    (tree / "one.c").write_text("int one = nonsense;\n")
    with pytest.raises(KernelError) as caught:
        kernels.build(str(tree))
    assert "one.c:1:11: error" in str(caught.value)
    log = Path(str(caught.value.hint).rpartition(" ")[2])
    assert "nonsense" in log.read_text()
    assert not kernels.installed()


def test_a_full_disk_is_said_and_leaves_no_half_kernel(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: Path, target: Path) -> None:
        target.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    monkeypatch.setattr("shutil.copy2", full)
    with pytest.raises(KernelError, match="No space left on device"):
        kernels.build(str(tree))
    assert not kernels.installed()
    assert not list(store.cache("kernels").iterdir())


def test_a_kernel_without_virtual_time_is_refused(tree: Path) -> None:
    (tree / "lacks").write_text("CONFIG_UML_TIME_TRAVEL_SUPPORT=y\nCONFIG_HZ=1000\n")
    with pytest.raises(KernelError, match="UML_TIME_TRAVEL_SUPPORT, HZ=1000"):
        kernels.build(str(tree))


def test_missing_tools_are_named_by_package(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(KernelError, match=r"gcc, ld, make, flex, bison, bc, .*, libc\.a\n") as caught:
        kernels.build(str(tree))
    assert caught.value.hint == f"{packages.advice(*process.TOOLS, 'libc.a')}\n  {DOCTOR}"


def test_a_persons_own_flags_do_not_leak_in(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kernels.build(str(tree), "plain")
    kernels.remove("plain", sources=True)
    for name in ("KCFLAGS", "CFLAGS", "LOCALVERSION", "KBUILD_BUILD_USER", "MAKEFLAGS"):
        monkeypatch.setenv(name, "-n")
    assert kernels.build(str(tree), "plain").identity == first.identity
    (flags,) = store.cache("build", "x").parent.glob("*/flags")
    assert flags.read_text().split() == ["-mcmodel=small", "-fbuiltin"], "our own, and nobody else's"


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "-x", "a b"])
def test_a_name_that_could_leave_the_store_is_refused(tree: Path, name: str) -> None:
    if not name:
        assert kernels.build(str(tree), name).name == "little"
        return
    with pytest.raises(KernelError, match="cannot name a kernel"):
        kernels.build(str(tree), name)


def test_no_kernel_says_how_to_build_one() -> None:
    with pytest.raises(KernelError, match=r"rushhour kernel build debian:6\.12"):
        kernels.default()
    with pytest.raises(KernelError, match=r"rushhour kernel build debian:6\.1$"):
        kernels.find("debian:6.1")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}'])
def test_a_damaged_kernel_is_said_and_how_to_be_rid_of_it(tree: Path, text: str) -> None:
    built = kernels.build(str(tree))
    (built.folder / "identity.json").write_text(text)
    with pytest.raises(KernelError, match="rm -r"):
        kernels.find(built.name)


def test_a_kernel_that_another_process_removes_meanwhile_is_none(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, goes = kernels.build(str(tree), "stays"), kernels.build(str(tree), "goes")
    load = store.load

    def removed_first(folder: Path) -> kernels.Kernel:
        if folder == goes.folder:
            shutil.rmtree(folder)
        return load(folder)

    monkeypatch.setattr(store, "load", removed_first)
    assert kernels.installed() == [stays]


def test_an_interrupted_save_leaves_no_half_kernel(tree: Path) -> None:
    built = kernels.build(str(tree))
    half = store.cache("kernels", ".tmp-x-123456789012", "kernel", "identity.json")
    half.write_text("{}")
    assert kernels.installed() == [built]


def test_two_builds_of_one_tree_do_not_clash(tree: Path) -> None:
    (tree / "Makefile").write_text(MAKEFILE.replace("@gcc", "@sleep 0.5; gcc"))
    code = (
        "import sys; from rushhour.lab.kernel import build; build(sys.argv[1], None, lambda s: print(s.text))"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(tree)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [one.communicate(timeout=60)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert sum("compiling" in text for text in said) == 1
    assert sum("unchanged" in text for text in said) == 1


@pytest.mark.parametrize("said", ["echo '  CC      x.o' || exit 1", "true"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_build_leaves_no_process(
    tree: Path, tmp_path: Path, number: signal.Signals, said: str
) -> None:
    # A build that says nothing for minutes never learns that nobody reads it.
    marker = tmp_path / "pid"
    loop = f"echo $$$$ > {marker}; {said}; sleep 0.1"
    wait = f"@for i in $$(seq 600); do {loop}; done; gcc"
    (tree / "Makefile").write_text(MAKEFILE.replace("@gcc", wait))
    code = "from rushhour.cli import main; main()"
    command = [sys.executable, "-c", code, "kernel", "build", str(tree)]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not marker.exists() or not marker.read_text():
        time.sleep(0.02)
    child.send_signal(number)
    assert child.wait(timeout=10) != 0
    shell = int(marker.read_text())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{shell}").exists():
        assert time.monotonic() < deadline, "the build's shell outlives it"
        time.sleep(0.02)
    (tree / "Makefile").write_text(MAKEFILE)
    assert kernels.build(str(tree)).release == "6.99.0"  # the lock is free and the cache whole


def test_a_kernel_that_does_not_start_is_told_and_kept(tree: Path) -> None:
    done = CliRunner().invoke(cli, ["kernel", "build", str(tree), "--name", "k"])
    assert done.exit_code == 1
    assert isinstance(done.exception, LabError)
    assert re.search(r"^starts +not here$", done.stdout, re.MULTILINE)
    assert [one.name for one in kernels.installed()] == ["k"]


def test_a_source_at_fault_has_an_exit_code_of_its_own(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a script tells it from a machine at fault."""
    (tree / "one.c").write_text("int one\n")
    assert cli.main(["kernel", "build", str(tree)], standalone_mode=False) == 1
    assert "one.c:1" in capsys.readouterr().err
    with pytest.raises(KernelError):
        cli.main(["kernel", "build", str(tree / "none")], standalone_mode=False)


def test_commands_speak_json_to_machines_and_words_to_people(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "boot", starts)

    def run(*words: str) -> Result:
        # By way of the root, as a user does.
        return CliRunner().invoke(cli, ["kernel", *words])

    done = run("build", str(tree), "--name", "k", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["release"] == "6.99.0"
    assert json.loads(done.stdout)["starts"] == "here, in 0.1 s"
    assert "compiling" in done.stderr
    assert [one["name"] for one in json.loads(run("list", "--json").stdout)] == ["k"]
    assert "k" in run("list").stdout
    assert "HZ=1000" in run("show", "k").stdout
    assert run("remove", "k").exit_code == 0
    assert "to free it: rushhour kernel clean" in run("list").stdout
    assert run("clean").exit_code == 0
    assert run("list").stdout == ""
    assert list((tree.parent / "cache/rushhour/sources").iterdir()) == []


def test_the_fragment_asks_for_each_option_once_and_for_all_that_is_required() -> None:
    asked = config.asked()
    assert len(asked) == len(set(asked))
    assert set(config.REQUIRED) <= set(asked)


def test_only_an_old_kernel_needs_block_devices_to_mount_its_root(tree: Path) -> None:
    assert "CONFIG_BLOCK=y" not in config.fragment(tree)
    (tree / "Makefile").write_text("# SPDX\nVERSION = 5\nPATCHLEVEL = 14\nSUBLEVEL = 1\n")
    assert "CONFIG_BLOCK=y" in config.fragment(tree)


def test_a_makefile_without_a_version_is_no_kernels(tree: Path) -> None:
    (tree / "Makefile").write_text("all:\n")
    with pytest.raises(KernelError, match="VERSION and PATCHLEVEL"):
        kernels.build(str(tree))


def test_the_overlay_defines_hz_before_anything_else(tree: Path) -> None:
    text = config.overlay(tree)
    assert text.startswith("mainmenu")
    assert text.index("config HZ") < text.index("source")


def test_the_cache_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(KernelError, match="XDG_CACHE_HOME"):
        kernels.installed()
    assert os.path.exists(tmp_path / "file")  # noqa: PTH110
