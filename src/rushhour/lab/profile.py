"""Profiles: how a machine is prepared for an experiment, each change with its reason and its source.

Takes a name of those that ship, or a TOML file; gives a `Profile`. Nothing is changed here:
`lab.host.settings` does that.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import Field, ValidationError

from rushhour.errors import UsageError
from rushhour.spec.check.problem import Problem
from rushhour.spec.document import faults_in, parse_toml, read_text
from rushhour.spec.explain import explain
from rushhour.spec.keys import nearest
from rushhour.spec.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

Kind = Literal[
    "sysctl",
    "ethtool-feature",
    "ring",
    "coalesce",
    "channels",
    "flow-control",
    "qdisc",
    "mtu",
    "txqueuelen",
    "governor",
    "service",
    "irq-affinity",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_BEGIN = "begin with a title and a [[change]]; `rushhour profile show measurement` is an example"
_SUFFIX = ".toml"
_WORDS = frozenset({"kind", "dev", "reason", "source", "if_there", "optional"})
_MODERATION = frozenset(
    f"{way}-{word}" for way in ("rx", "tx") for word in ("usecs", "frames", "usecs-irq", "frames-irq")
) | {"adaptive-rx", "adaptive-tx"}
# What a kind must have, and may have; of the second sort at least one where nothing is needed.
_KEYS: dict[Kind, tuple[frozenset[str], frozenset[str]]] = {
    "sysctl": (frozenset({"name", "value"}), frozenset()),
    "ethtool-feature": (frozenset({"name", "value"}), frozenset()),
    "ring": (frozenset(), frozenset({"rx", "tx"})),
    "coalesce": (frozenset(), _MODERATION),
    "channels": (frozenset(), frozenset({"rx", "tx", "combined"})),
    "flow-control": (frozenset(), frozenset({"autoneg", "rx", "tx"})),
    "qdisc": (frozenset({"words"}), frozenset()),
    "mtu": (frozenset({"value"}), frozenset()),
    "txqueuelen": (frozenset({"value"}), frozenset()),
    "governor": (frozenset({"value"}), frozenset()),
    "service": (frozenset({"name", "state"}), frozenset()),
    "irq-affinity": (frozenset({"cpus"}), frozenset()),
}
_OF_NO_DEVICE = frozenset({"sysctl", "governor", "service"})
Number = bool | int


class Change(Model):
    """One change: its kind, what the kind needs, and why."""

    kind: Kind = Field(description="what is changed")
    name: str | None = Field(None, description="of a sysctl, an offload (as for ethtool -K) or a service")
    value: str | int | bool | list[int | str] | None = Field(None, description="what it becomes")
    dev: str | None = Field(None, description="the device; default: the experiment's")
    words: str | None = Field(None, description="a queue discipline and its options, as for tc")
    state: Literal["stopped", "running"] | None = Field(None, description="of a service")
    cpus: str | None = Field(None, description="the CPUs that take interrupts, like 0-3,8")
    rx: Number | None = Field(
        None, description="of rings: packets; of channels: how many; of pause frames: whether"
    )
    tx: Number | None = Field(None, description="likewise")
    combined: int | None = Field(None, description="channels for both directions")
    autoneg: bool | None = Field(None, description="whether pause frames are agreed on with the partner")
    rx_usecs: int | None = Field(None, alias="rx-usecs")
    rx_frames: int | None = Field(None, alias="rx-frames")
    rx_usecs_irq: int | None = Field(None, alias="rx-usecs-irq")
    rx_frames_irq: int | None = Field(None, alias="rx-frames-irq")
    tx_usecs: int | None = Field(None, alias="tx-usecs")
    tx_frames: int | None = Field(None, alias="tx-frames")
    tx_usecs_irq: int | None = Field(None, alias="tx-usecs-irq")
    tx_frames_irq: int | None = Field(None, alias="tx-frames-irq")
    adaptive_rx: bool | None = Field(None, alias="adaptive-rx")
    adaptive_tx: bool | None = Field(None, alias="adaptive-tx")
    reason: str = Field("", description="why")
    source: str = Field("", description="who says so: a document and its section")
    if_there: bool = Field(default=False, description="left out where the machine has no such thing")
    optional: bool = Field(default=False, description="made only when optional changes are asked for")

    @property
    def needs_device(self) -> bool:
        """Whether it is made at a device that is not named."""
        return self.dev is None and self.kind not in _OF_NO_DEVICE

    def words_for_agent(self, device: str | None) -> dict[str, object]:
        """The change as the agent takes it; `device` is the experiment's."""
        told = self.model_dump(
            by_alias=True, exclude_none=True, exclude={"reason", "source", "optional", "if_there"}
        )
        if self.kind not in _OF_NO_DEVICE:
            told["dev"] = self.dev or device
        return told | ({"if_there": True} if self.if_there else {})


class Profile(Model):
    """Changes that belong together."""

    title: str = Field(description="what it is, in a line")
    about: str = Field("", description="what it is for, and what it leaves alone")
    source: str = Field("", description="the document it follows")
    change: list[Change] = Field(description="a table [[change]] for each change, in the order they are made")

    def changes(self, device: str | None, *, optional: bool = False) -> list[dict[str, Any]]:
        """The changes as the agent takes them, with or without the optional ones.

        Raises:
            UsageError: one is made at a device, and none is known.
        """
        wanted = [change for change in self.change if optional or not change.optional]
        if device is None and any(change.needs_device for change in wanted):
            raise UsageError(
                "the profile changes a network device, and it is not known which",
                hint='name it: --device DEV, or device = "DEV" in the inventory',
            )
        return [change.words_for_agent(device) for change in wanted]


class Found(Model):
    """A profile with the name it was found by and the hash of its file."""

    name: str
    sha256: str
    profile: Profile


def shipped() -> list[Found]:
    """The profiles that ship, by name."""
    folder = files("rushhour.lab") / "profiles"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(_SUFFIX))
    return [_load(folder / name, name.removesuffix(_SUFFIX), name) for name in names]


def find_profile(word: str) -> Found:
    """The profile of a name that ships, or of a file (a word with a slash or `.toml`).

    Raises:
        ScenarioError: with every fault of the file.
        UsageError: no profile has this name.
    """
    if "/" in word or word.endswith(_SUFFIX):
        return _load(Path(word), word, word)
    known = {one.name: one for one in shipped()}
    if word in known:
        return known[word]
    near = nearest(word, list(known)) or f"there are: {', '.join(known)}"
    raise UsageError(
        f"there is no profile {word!r}", hint=f"{near}; a file is named with its path, ./{word}.toml"
    )


def _load(file: Traversable, name: str, shown: str) -> Found:
    text = read_text(file)
    document = parse_toml(text, shown, _BEGIN)
    try:
        profile = Profile.model_validate(document)
    except ValidationError as error:
        raise faults_in(text, shown, explain(error, {(): Profile, ("change",): Change})) from error
    if problems := list(_faults(profile)):
        raise faults_in(text, shown, problems)
    return Found(name=name, sha256=hashlib.sha256(text.encode()).hexdigest(), profile=profile)


def _faults(profile: Profile) -> Iterator[Problem]:
    if not profile.change:
        yield Problem(("change",), "there is no change", _BEGIN)
    for index, change in enumerate(profile.change):
        needed, allowed = _KEYS[change.kind]
        given = frozenset(change.model_dump(by_alias=True, exclude_unset=True)) - _WORDS
        takes = f"{change.kind} takes: {', '.join(sorted(needed | allowed))}"
        for key in sorted(needed - given):
            yield Problem(("change", index), f"{key} is missing", takes)
        for key in sorted(given - needed - allowed):
            yield Problem(("change", index, key), f"{change.kind} has no {key}", takes)
        if not needed and not given & allowed:
            yield Problem(("change", index), "nothing is changed", takes)
        if change.dev is not None and change.kind in _OF_NO_DEVICE:
            yield Problem(("change", index, "dev"), f"{change.kind} is not of a device")
