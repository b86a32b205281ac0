"""Scripts: found, with what they name, and for which addresses."""

from pathlib import Path

import pytest

from rushhour.errors import UsageError
from rushhour.packetdrill import scripts
from rushhour.packetdrill.scripts import VARIANTS, Script


def tree(folder: Path) -> Path:
    for name, text in {
        "net/common/defaults.sh": "#!/bin/sh\n",
        "net/common/set.py": "",
        "net/common/notes.txt": "",
        "net/tcp/a/one.pkt": "`../../common/defaults.sh`\n",
        "net/tcp/a/two-v6.pkt": "// nothing is named\n",
        "net/tcp/b/three.pkt": "`./here.sh`\n",
        "net/tcp/b/here.sh": "",
        "net/tcp/b/private": "",
    }.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder / "net/tcp"


def test_a_folder_gives_its_scripts_and_what_they_name(tmp_path: Path) -> None:
    found = scripts.find([tree(tmp_path)])
    assert [one.path for one in found.scripts] == ["tcp/a/one.pkt", "tcp/a/two-v6.pkt", "tcp/b/three.pkt"]
    others = {name for name in found.files if not name.endswith(".pkt")}
    assert others == {"common/defaults.sh", "common/set.py", "tcp/b/here.sh"}
    assert found.scripts[0].folder == "/scripts/tcp/a"
    assert "scripts/common/defaults.sh" in found.laid_out()


def test_a_single_script_takes_nothing_that_it_does_not_name(tmp_path: Path) -> None:
    found = scripts.find([tree(tmp_path) / "a/two-v6.pkt"])
    assert list(found.files) == ["two-v6.pkt"]


@pytest.mark.parametrize(
    ("name", "variants"),
    [("x.pkt", ["ipv4", "ipv6", "mapped"]), ("x-v4.pkt", ["ipv4", "mapped"]), ("x-ipv6.pkt", ["ipv6"])],
)
def test_the_end_of_a_name_says_for_which_addresses(name: str, variants: list[str]) -> None:
    assert [one for one in VARIANTS if Script(name).takes(one)] == variants


def test_what_a_script_says_itself_counts(tmp_path: Path) -> None:
    place = tmp_path / "own.pkt"
    place.write_text("--local_ip=192.168.0.2\n--remote_ip=10.248.0.2\n\n// --mtu=9 is no option here\n")
    (own,) = scripts.find([place]).scripts
    assert [one for one in VARIANTS if own.takes(one)] == ["ipv4", "mapped"]
    words = own.words("ipv4")
    assert "--ip_version=ipv4" in words
    assert not any("_ip=" in word for word in words)


def test_further_addresses_of_an_end_have_a_route(tmp_path: Path) -> None:
    """Those of MPTCP's scripts; what has one address goes on with a route to it only."""
    first = "+0.0 < addr[caddr0] > addr[saddr0] S 0:0(0)\n"
    (tmp_path / "join.pkt").write_text(f"{first}+0 < addr[caddr1] > addr[saddr1] S 0:0(0)\n")
    (tmp_path / "one.pkt").write_text(first)
    join, one = scripts.find([tmp_path]).scripts
    assert "--remote_ip=192.0.2.1/24" in join.words("ipv4")
    assert "--remote_ip=fd3d:fa7b:d17d::1/64" in join.words("ipv6")
    assert "--remote_ip=192.0.2.1" in one.words("ipv4")


@pytest.mark.parametrize(
    ("version", "variant"), [("ipv4", "ipv4"), ("ipv6", "ipv6"), ("ipv4-mapped-ipv6", "mapped")]
)
def test_the_version_that_a_script_says_is_the_only_one(version: str, variant: str, tmp_path: Path) -> None:
    place = tmp_path / "own-v4.pkt"
    place.write_text(f"--ip_version={version}\n")
    (own,) = scripts.find([place]).scripts
    assert [one for one in VARIANTS if own.takes(one)] == [variant]


def test_where_there_is_nothing_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no script"):
        scripts.find([tmp_path])
    (tmp_path / "gene").mkdir()
    with pytest.raises(UsageError, match=r'no such file or folder\n.*did you mean ".*/gene"\?'):
        scripts.find([tmp_path / "gone"])
