"""What an image is linked of: lists of real archives, and in what two of them differ."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rushhour.lab.kernel import linked, store

CONFIG = "arch/um/kernel/config.o"
OBJECTS = {"init/main.o": "main", CONFIG: "# CONFIG_A is not set", "net/one.o": "one"}
MAKEFILE = "ifdef CONFIG_STATIC_LINK\nLDFLAGS += -static\nendif\n"
SETTINGS = "CONFIG_STATIC_LINK=y\nCONFIG_NET=y\n"


Make = Callable[..., store.Kernel]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    count = iter(range(9))

    def made(
        objects: dict[str, str] = OBJECTS, settings: str = SETTINGS, makefile: str = MAKEFILE, used: str = "x"
    ) -> store.Kernel:
        number = next(count)
        tree, place = tmp_path / f"tree-{number}", tmp_path / f"build-{number}"
        tree.mkdir()
        (tree / "Makefile").write_text(makefile)
        image = place / "linux"
        texts = {**objects, "lib/used.o": used, ".config": settings, "linux": str(number)}
        for name, text in texts.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        for archive, members in {"vmlinux.a": [*objects], "lib/lib.a": ["lib/used.o"]}.items():
            subprocess.run(["ar", "cDPrST", archive, *members], cwd=place, check=True)
        facts: dict[str, object] = {"name": str(number), "release": "6.99"}
        files = {"linux": image, "config": place / ".config", **linked.kept(tree, place)}
        return store.save(str(number), facts, f"{number:064}", {}, files)

    return made


def test_the_text_of_the_configuration_is_no_difference(kernel: Make) -> None:
    other = OBJECTS | {CONFIG: "# CONFIG_A is not set, nor is CONFIG_B"}
    assert linked.differing(kernel(), kernel(other)) == ()
    # Nor is an option that is on and that nobody reads.
    assert linked.differing(kernel(), kernel(other, f"{SETTINGS}CONFIG_B=y\n")) == ()


def test_objects_that_differ_come_and_go_are_named(kernel: Make) -> None:
    assert linked.differing(kernel(), kernel(OBJECTS | {"net/one.o": "other"})) == ("net/one.o",)
    assert linked.differing(kernel(), kernel(OBJECTS | {"net/two.o": "two"})) == ("net/two.o",)
    fewer = {name: text for name, text in OBJECTS.items() if name != "init/main.o"}
    assert linked.differing(kernel(), kernel(fewer)) == ("init/main.o",)
    assert linked.differing(kernel(), kernel(used="y")) == ("lib/used.o",)


@pytest.mark.parametrize(
    "otherwise",
    [
        {"objects": dict(reversed(OBJECTS.items()))},  # initcalls go by this order
        {"makefile": MAKEFILE.replace("-static", "-static-pie")},
        {"settings": SETTINGS.replace("CONFIG_STATIC_LINK=y\n", "")},
    ],
)
def test_what_is_linked_otherwise_is_not_told(kernel: Make, otherwise: dict[str, object]) -> None:
    assert linked.differing(kernel(), kernel(**otherwise)) is None


def test_of_a_kernel_without_a_list_nothing_is_told(kernel: Make, tmp_path: Path) -> None:
    one, other = kernel(), kernel()
    assert linked.differing(one, other) == ()
    (other.folder / linked.OBJECTS).unlink()
    assert linked.differing(one, other) is None
    assert not linked.has_list(other)
    # Of a kernel before 6.1 there is a list, with nothing in it.
    empty = linked.kept(tmp_path, tmp_path)[linked.OBJECTS]
    assert empty.read_text() == ""
    (other.folder / linked.OBJECTS).write_text("")
    assert linked.differing(one, other) is None
    assert linked.differing(other, other) is None
