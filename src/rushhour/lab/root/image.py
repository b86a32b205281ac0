"""Images of containers, saved as a folder or an archive: which of their files are layers of a root.

OCI's image layout (https://github.com/opencontainers/image-spec), and what `docker save` writes beside or
instead of it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError
from rushhour.lab.root import archive
from rushhour.lab.root.tree import Data

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INDEX, _SAVED = "index.json", "manifest.json"
_OURS = ("linux", "amd64")
_LARGEST_TEXT = 16 << 20
_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_DEEPEST = 4


@dataclass(frozen=True)
class Image:
    """Files of an image by their names; `where` is what it is of, for errors."""

    files: Mapping[str, Data]
    where: str

    def layers(self) -> list[Data]:
        """The layers of the one root that is in it, the lowest first.

        Raises:
            LabError: there are several, none for this processor, or a file is missing or damaged.
        """
        try:
            return self._layers()
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise self._senseless(error) from error

    def _layers(self) -> list[Data]:
        if _INDEX in self.files:
            found = {str(one["digest"]): one for one in self._manifests(self._text(_INDEX), 0)}
            chosen = self._chosen([*found.values()])
            return [self._blob(layer) for layer in chosen["layers"]]
        saved = self._text(_SAVED)
        if len(saved) != 1:
            names = ", ".join(str(name) for one in saved for name in one.get("RepoTags") or ["(no name)"])
            raise self._several(f"{len(saved)} images ({names})")
        config = self._text(saved[0]["Config"])
        self._check([(config.get("os"), config.get("architecture"))])
        return [self._file(name) for name in saved[0]["Layers"]]

    def _manifests(self, index: Any, depth: int) -> Iterator[dict[str, Any]]:
        for one in index["manifests"] if depth < _DEEPEST else ():
            if one.get("annotations", {}).get("vnd.docker.reference.type"):
                continue  # what says how the image came to be
            if one.get("mediaType", "").endswith(("index.v1+json", "manifest.list.v2+json")):
                names = one.get("annotations", {})
                for below in self._manifests(self._json(self._blob(one)), depth + 1):
                    yield below | {"annotations": names | below.get("annotations", {})}
            else:
                yield one

    def _chosen(self, manifests: list[dict[str, Any]]) -> dict[str, Any]:
        read = []
        for one in manifests:
            # Of a saved index mostly the layers of one platform are there.
            if self._name(one) not in self.files and len(manifests) > 1:
                read.append((one, None, one.get("platform", {})))
                continue
            told = self._json(self._blob(one))
            read.append((one, told, one.get("platform") or self._json(self._blob(told["config"]))))
        platforms = [(about.get("os"), about.get("architecture")) for _, _, about in read]
        self._check(platforms)
        ours = [
            (one, told) for (one, told, _), platform in zip(read, platforms, strict=True) if platform == _OURS
        ]
        if len(ours) > 1:
            names = [next(filter(None, map(one.get("annotations", {}).get, _NAMES)), "?") for one, _ in ours]
            raise self._several(f"{len(ours)} images for {'/'.join(_OURS)} ({', '.join(names)})")
        told = ours[0][1]
        return self._json(self._blob(ours[0][0])) if told is None else told  # type: ignore[no-any-return]

    def _check(self, platforms: list[tuple[object, object]]) -> None:
        if _OURS not in platforms:
            there = ", ".join(f"{one}/{machine}" for one, machine in platforms) or "none"
            raise LabError(
                f"the image is for {there}, and virtual kernels run {'/'.join(_OURS)}",
                where=self.where,
                hint="docker pull --platform linux/amd64 IMAGE; docker save IMAGE > root.tar",
            )

    def _several(self, what: str) -> LabError:
        return LabError(
            f"it holds {what}, and a root is one", where=self.where, hint="docker save ONE > root.tar"
        )

    def _senseless(self, error: Exception) -> LabError:
        return LabError(
            f"the image's description makes no sense: {type(error).__name__} {error}",
            where=self.where,
            hint="save or copy it again",
        )

    def _text(self, name: str) -> Any:
        return self._json(self._file(name))

    def _json(self, data: Data) -> Any:
        try:
            with data.file.open("rb") as file:
                file.seek(data.offset)
                return json.loads(file.read(min(data.size, _LARGEST_TEXT)))
        except ValueError as error:
            raise self._senseless(error) from error

    def _file(self, name: object) -> Data:
        found = self.files.get(str(name))
        if found is None:
            raise LabError(
                f"the image lacks its file {name}", where=self.where, hint="save or copy it again, whole"
            )
        return found

    def _name(self, about: Mapping[str, Any]) -> str:
        kind, _, digest = str(about["digest"]).partition(":")
        return f"blobs/{kind}/{digest}"

    def _blob(self, about: Mapping[str, Any]) -> Data:
        """A file that is named by its content, which it has to have."""
        name = self._name(about)
        data = self._file(name)
        if name.startswith("blobs/sha256/") and _sum(data) != name.rpartition("/")[2]:
            raise LabError(
                f"the image's file {name} is damaged", where=self.where, hint="save or copy it again"
            )
        return data


def of_folder(folder: Path) -> Image | None:
    """The image that a folder is; None if it is none."""
    if not (folder / "oci-layout").is_file():
        return None
    files = {
        path.relative_to(folder).as_posix(): Data(path, 0, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file()
    }
    return Image(files, str(folder))


def of_archive(data: Data, where: str) -> Image | None:
    """The image that an archive without compression is; None if it is none."""
    files: dict[str, Data] = {}
    links: dict[str, str] = {}
    for member, _ in archive.members(data, where):
        name = member.name.removeprefix("./")
        if member.isreg():
            files[name] = Data(data.file, member.offset_data, member.size)
        elif member.issym() or member.islnk():  # layers that are equal, as older programs save them
            base = Path(name).parent if member.issym() else Path()
            links[name] = _joined(base / member.linkname)
    if not {"oci-layout", _SAVED} & files.keys() or not {_INDEX, _SAVED} & files.keys():
        return None
    files |= {name: files[target] for name, target in links.items() if target in files}
    return Image(files, where)


def _joined(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1]
        elif part not in {".", "/"}:
            parts.append(part)
    return "/".join(parts)


def _sum(data: Data) -> str:
    digest, left = hashlib.sha256(), data.size
    with data.file.open("rb") as file:
        file.seek(data.offset)
        while left and (piece := file.read(min(left, 1 << 20))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()
