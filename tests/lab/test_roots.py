"""Roots: archives, images and folders become one tree, and nothing of them reaches out of it."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rushhour.errors import LabError
from rushhour.files import laid
from rushhour.lab import root
from rushhour.lab.root import tree as trees
from rushhour.lab.tools import Tool

ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\x3e\x00" + bytes(100)
Member = tuple[str, bytes | str | None]


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o755) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode, made.mtime = kind, link, mode, 1_600_000_000
    return made


def tar(*members: tarfile.TarInfo | tuple[str, bytes], mode: str = "w") -> bytes:
    """An archive of members; a name with bytes is a program."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for one in members:
            if isinstance(one, tarfile.TarInfo):
                archive.addfile(one)
                continue
            about = member(one[0])
            about.size = len(one[1])
            archive.addfile(about, io.BytesIO(one[1]))
    return out.getvalue()


def find(data: bytes | Path, folder: Path) -> Tool:
    if isinstance(data, bytes):
        place = folder / f"{hashlib.sha256(data).hexdigest()[:8]}.tar"
        place.write_bytes(data)
    else:
        place = data
    place.chmod(0o755)
    return root.find("root:r", place)


def files(tool: Tool) -> dict[str, str]:
    """What a root has, besides what every one has: the target of links, the text of files."""
    place = root.laid_out(tool)
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file() and name not in {"etc/hosts", "etc/resolv.conf"}:
            found[name] = path.read_text("latin-1")
    return found


SOME = (("bin/sh", b"x"), member("lib", tarfile.SYMTYPE, "/usr/lib"), ("etc/hosts", b"1.2.3.4 a"))


def test_equal_files_are_one_root_whatever_they_come_in(tmp_path: Path) -> None:
    first = find(tar(*SOME), tmp_path)
    assert files(first) == {"bin/sh": "x", "lib": "-> /usr/lib"}
    assert (root.laid_out(first) / "etc/hosts").read_text() == ""
    assert all((root.laid_out(first) / name).is_dir() for name in ("dev", "proc", "var/tmp", "lab", "run"))
    assert root.laid_out(first).joinpath("bin/sh").stat().st_mode & 0o7777 == 0o555
    for mode in ("w:gz", "w:xz", "w:bz2"):
        assert find(tar(*reversed(SOME), mode=mode), tmp_path).sha256 == first.sha256
    folder = tmp_path / "folder"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/sh").write_bytes(b"x")
    (folder / "bin/sh").chmod(0o700 | 0o4)
    (folder / "lib").symlink_to("/usr/lib")
    for name in ("bin/sh", "lib"):
        os.utime(folder / name, (1_600_000_000, 1_600_000_000), follow_symlinks=False)
    (folder / "etc").mkdir()
    taken = find(folder, tmp_path)
    os.utime(folder / "bin", (0, 0))
    again = find(folder, tmp_path)
    assert files(taken) == files(first)
    assert again.sha256 != taken.sha256, "times are part of it"
    (folder / "bin/sh").write_bytes(b"y")
    assert find(folder, tmp_path).sha256 not in {taken.sha256, again.sha256}


def test_names_of_a_folder_need_not_be_text(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/sh").write_bytes(b"x")
    (folder / "bin/sh").chmod(0o755)
    strange = os.fsdecode(b"\xff")
    (folder / "bin" / strange).write_bytes(b"y")
    assert files(find(folder, tmp_path)) == {"bin/sh": "x", f"bin/{strange}": "y"}
    (folder / "bin" / strange).write_bytes(b"z")
    assert files(find(folder, tmp_path))[f"bin/{strange}"] == "z"


def test_zstd_is_read(tmp_path: Path) -> None:
    packed = subprocess.run(["zstd", "-qc"], input=tar(*SOME), capture_output=True, check=True).stdout
    assert find(packed, tmp_path).sha256 == find(tar(*SOME), tmp_path).sha256
    with pytest.raises(LabError, match="damaged or cut off"):
        find(packed[:-5], tmp_path)


def test_setuid_devices_and_owners_are_left_out(tmp_path: Path) -> None:
    device = member("bin/disk", tarfile.BLKTYPE)
    pipe = member("bin/pipe", tarfile.FIFOTYPE)
    about = member("bin/su", mode=0o6755)
    found = find(tar(device, pipe, about, ("bin/sh", b"x")), tmp_path)
    assert files(found) == {"bin/sh": "x", "bin/su": ""}
    assert root.laid_out(found).joinpath("bin/su").stat().st_mode & 0o7777 == 0o555


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/../x"])
def test_no_name_leads_out(name: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="leads out of it"):
        find(tar((name, b"x")), tmp_path)
    assert not (tmp_path / "x").exists()


def test_links_lead_to_places_in_the_root_only(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    found = find(
        tar(
            member("up", tarfile.SYMTYPE, "../../../../../../.."),
            member("away", tarfile.SYMTYPE, str(outside)),
            ("away/x", b"nowhere"),
            member("distant", tarfile.SYMTYPE, "/opt/away"),
            ("distant/x", b"in the root"),
            ("up/y", b"top"),
            ("/bin/abs", b"below"),
            member("bin", tarfile.DIRTYPE),
            member("loop", tarfile.SYMTYPE, "loop"),
            ("loop/z", b"a folder"),
        ),
        tmp_path,
    )
    said = files(found)
    assert list(outside.iterdir()) == []
    # What a root has in /tmp, where this test works, is covered by what all share.
    assert said["opt/away/x"] == "in the root"
    assert (said["y"], said["bin/abs"], said["loop/z"]) == ("top", "below", "a folder")


def test_a_file_in_the_way_becomes_what_comes_later(tmp_path: Path) -> None:
    found = find(tar(("a", b"1"), ("a/b", b"2"), ("c/d", b"3"), ("c", b"4")), tmp_path)
    assert files(found) == {"a/b": "2", "c": "4"}


def test_hard_links_are_files(tmp_path: Path) -> None:
    found = find(tar(("bin/busybox", b"x"), member("bin/sh", tarfile.LNKTYPE, "bin/busybox")), tmp_path)
    assert files(found) == {"bin/busybox": "x", "bin/sh": "x"}
    with pytest.raises(LabError, match="which it has not"):
        find(tar(("bin/x", b""), member("bin/sh", tarfile.LNKTYPE, "/etc/shadow")), tmp_path)


@pytest.mark.parametrize("cut", [0.5, 0.8])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_what_is_cut_off_is_told(mode: str, cut: float, tmp_path: Path) -> None:
    whole = tar(("bin/sh", os.urandom(50_000)), mode=mode)
    with pytest.raises(LabError, match="damaged or cut off"):
        find(whole[: int(len(whole) * cut)], tmp_path)


def test_what_ends_between_two_files_is_cut_off(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="mark of its end"):
        find(tar(("bin/sh", b"x"))[:1024], tmp_path)


def test_what_is_no_root_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="neither a folder nor an archive"):
        find(b"no archive" * 1000, tmp_path)
    with pytest.raises(LabError, match="no program in it"):
        find(tar(member("bin", tarfile.DIRTYPE)), tmp_path)
    with pytest.raises(LabError, match="cannot be read"):
        root.find("root:r", tmp_path / "nowhere")
    with pytest.raises(LabError, match="/etc is a symbolic link"):
        find(tar(member("etc", tarfile.SYMTYPE, "x"), ("bin/sh", b"")), tmp_path)


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_BYTES", 10)
    with pytest.raises(LabError, match="has more"):
        find(tar(("bin/sh", b"x" * 11)), tmp_path)


def test_what_others_may_not_read_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "r"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/sh").write_bytes(b"x")
    (folder / "bin/sh").chmod(0o700)
    with pytest.raises(LabError, match="kept from others"):
        find(folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert files(find(folder, tmp_path)) == {"bin/sh": "x"}


# Images


def blob(data: bytes) -> tuple[str, dict[str, Any], bytes]:
    digest = hashlib.sha256(data).hexdigest()
    return f"blobs/sha256/{digest}", {"digest": f"sha256:{digest}", "size": len(data)}, data


def image(
    layers: Iterable[bytes],
    platform: tuple[str, ...] = ("amd64",),
    change: Callable[[str], bool] | None = None,
) -> bytes:
    """An archive of an OCI layout; `change` says which files are damaged."""
    members: list[tuple[str, bytes]] = [("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')]
    made = [blob(layer) for layer in layers]
    described = []
    for machine in platform:
        config = blob(json.dumps({"os": "linux", "architecture": machine}).encode())
        text = {"schemaVersion": 2, "config": config[1], "layers": [one[1] for one in made]}
        manifest = blob(json.dumps(text | {"annotations": {"for": machine}}).encode())
        described.append(
            manifest[1]
            | {"mediaType": "application/vnd.oci.image.manifest.v1+json"}
            | {"platform": {"os": "linux", "architecture": machine}}
        )
        members += [(config[0], config[2]), (manifest[0], manifest[2])]
    nested = blob(json.dumps({"manifests": described}).encode())
    index = {"manifests": [nested[1] | {"mediaType": "application/vnd.oci.image.index.v1+json"}]}
    members += [(one[0], one[2]) for one in (*made, nested)]
    members.append(("index.json", json.dumps(index).encode()))
    return tar(*[(name, b"?" * len(data) if change and change(name) else data) for name, data in members])


LOWER = tar(("bin/sh", b"old"), ("etc/a", b"a"), ("opt/x/1", b"1"), ("opt/x/2", b"2"), ("bin/su", b""))
UPPER = tar(
    ("bin/sh", b"new"),
    ("etc/.wh.a", b""),
    ("opt/x/3", b"3"),
    ("opt/x/.wh..wh..opq", b""),
    ("bin/.wh.nothing", b""),
    mode="w:gz",
)
MERGED = {"bin/sh": "new", "bin/su": "", "opt/x/3": "3"}


def test_the_layers_of_an_image_lie_upon_each_other(tmp_path: Path) -> None:
    found = find(image([LOWER, UPPER]), tmp_path)
    assert files(found) == MERGED
    assert find(image([LOWER, UPPER], ("arm64", "amd64")), tmp_path).sha256 == found.sha256
    folder = tmp_path / "layout"
    with tarfile.open(fileobj=io.BytesIO(image([LOWER, UPPER]))) as archive:
        archive.extractall(folder, filter="data")
    assert find(folder, tmp_path).sha256 == found.sha256


def test_what_docker_saves_is_an_image(tmp_path: Path) -> None:
    config = json.dumps({"os": "linux", "architecture": "amd64"}).encode()
    saved = [{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["1/layer.tar", "2/layer.tar"]}]
    members = [("c.json", config), ("1/layer.tar", LOWER), ("2/layer.tar", UPPER)]
    found = find(tar(*members, ("manifest.json", json.dumps(saved).encode())), tmp_path)
    assert files(found) == MERGED
    with pytest.raises(LabError, match=r"2 images \(a:1, b:2\)"):
        find(tar(*members, ("manifest.json", json.dumps([*saved, {"RepoTags": ["b:2"]}]).encode())), tmp_path)
    with pytest.raises(LabError, match=r"lacks its file 1/layer\.tar"):
        find(tar(members[0], ("manifest.json", json.dumps(saved).encode())), tmp_path)


def test_an_image_for_other_machines_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"for linux/arm64, linux/s390x, and virtual kernels run linux/amd64"):
        find(image([LOWER], ("arm64", "s390x")), tmp_path)


def test_a_damaged_layer_is_told(tmp_path: Path) -> None:
    damaged = image([LOWER], change=lambda name: name == blob(LOWER)[0])
    with pytest.raises(LabError, match="is damaged"):
        find(damaged, tmp_path)


@pytest.mark.parametrize("said", [b"[]", b"{}", b'{"manifests": [1]}', b'{"manifests": [{}]}', b"x"])
def test_an_image_that_makes_no_sense_is_told(said: bytes, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="makes no sense"):
        find(tar(("oci-layout", b"{}"), ("index.json", said)), tmp_path)
    with pytest.raises(LabError, match=r"makes no sense|0 images"):
        find(tar(("manifest.json", said)), tmp_path)


def test_times_that_are_none_do_no_harm(tmp_path: Path) -> None:
    about = [member("bin/sh"), member("b"), member("c")]
    for one, time in zip(about, ("nan", "inf", "1e300"), strict=True):
        one.pax_headers = {"mtime": time}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for one in about:
            archive.addfile(one)
    assert files(find(out.getvalue(), tmp_path)) == {"bin/sh": "", "b": "", "c": ""}


# Programs in them


def needs_loader(path: str) -> bytes:
    """A program of which only the header and the name of its loader are there."""
    header = bytearray(ELF[:64])
    header[32:40] = (64).to_bytes(8, "little")
    header[54:58] = (56).to_bytes(2, "little") + (1).to_bytes(2, "little")
    name = path.encode() + b"\0"
    entry = (3).to_bytes(4, "little") + bytes(4) + (120).to_bytes(8, "little") + bytes(16)
    entry += len(name).to_bytes(8, "little") + bytes(16)
    return bytes(header) + entry + name


def test_a_program_must_be_able_to_start(tmp_path: Path) -> None:
    place = root.laid_out(
        find(
            tar(
                ("usr/bin/env", ELF),
                ("usr/bin/good", needs_loader("/lib/ld.so")),
                ("usr/lib/ld.so", ELF),
                ("usr/bin/bad", needs_loader("/lib/ld-musl-x86_64.so.1")),
                ("usr/bin/arm", ELF[:18] + b"\xb7" + ELF[19:]),
                ("usr/bin/old", ELF[:4] + b"\x01" + ELF[5:18] + b"\x03" + ELF[19:]),
                ("usr/bin/script", b"#!/usr/bin/env -S python3 -u\n"),
                member("usr/bin/text", mode=0o644),
                member("bin", tarfile.SYMTYPE, "usr/bin"),
                member("lib", tarfile.SYMTYPE, "/usr/lib"),
                member("usr/bin/link", tarfile.SYMTYPE, "/bin/good"),
                member("usr/bin/loop", tarfile.SYMTYPE, "loop"),
            ),
            tmp_path,
        )
    )
    for good in ("good", "/bin/good", "link", "env"):
        root.require(place, good, "r")
    for bad, said in {
        "goood": "no program",
        "loop": "no program",
        "/bin/no": "no program",
        "bad": "needs /lib/ld-musl-x86_64.so.1, which is not in the root r",
        "arm": "another processor: aarch64",
        "old": "another processor: x86 of 32 bits",
        "script": 'no program "python3"',
        "text": "may not be executed",
    }.items():
        with pytest.raises(LabError, match=said) as caught:
            root.require(place, bad, "r")
        assert caught.value.hint
    with pytest.raises(LabError) as caught:
        root.require(place, "goood", "r")
    assert "did you mean good" in str(caught.value)


def test_a_folder_too_many_is_told(tmp_path: Path) -> None:
    place = root.laid_out(find(tar(("rootfs/bin/sh", ELF)), tmp_path))
    with pytest.raises(LabError, match=r"tar -C rootfs -c \."):
        root.require(place, "sh", "r")


def test_a_root_is_laid_out_from_what_travels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker has the archive only, by its hash, and under another name."""
    found = find(tar(*SOME), tmp_path)
    blob = tmp_path / "blob"
    shutil.copy(found.files["root.tar"], blob)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    there = Tool(found.name, "", found.sha256, {"root.tar": blob}, found.sums, ())
    assert files(there) == {"bin/sh": "x", "lib": "-> /usr/lib"}
    assert found.sums["root.tar"] == hashlib.sha256(blob.read_bytes()).hexdigest() == found.sha256


def test_a_root_that_was_changed_in_the_cache_is_laid_out_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find(tar(*SOME), tmp_path)
    program = root.laid_out(found) / "bin/sh"
    program.chmod(0o755)
    program.write_bytes(b"y")
    monkeypatch.setattr(laid, "_seen", set())  # as by the next command
    assert files(found) == {"bin/sh": "x", "lib": "-> /usr/lib"}


def test_a_kept_root_that_was_changed_is_not_laid_out(tmp_path: Path) -> None:
    found = find(tar(*SOME), tmp_path)
    (kept,) = found.files.values()
    kept.write_bytes(kept.read_bytes().replace(b"x", b"y", 1))
    with pytest.raises(LabError, match="was changed"):
        root.laid_out(found)
