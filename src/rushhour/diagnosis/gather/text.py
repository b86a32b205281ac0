"""The kernel's small text formats: numbers, lists of processors, tables of names and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Value = int | str | list[int] | list[str]


def number(text: str | None) -> int | None:
    """The first word of a text as a whole number; None where it is none."""
    words = (text or "").split()
    try:
        return int(words[0])
    except (IndexError, ValueError):
        return None


def value(text: str) -> Value:
    """A setting as it is best compared: a number, a list of numbers, or the text itself."""
    words = text.split()
    numbers = [number(word) for word in words]
    if not words or any(found is None for found in numbers):
        return text.strip()
    known = [found for found in numbers if found is not None]
    return known[0] if len(known) == 1 else known


def processors(text: str | None) -> list[int] | None:
    """A list such as `0-3,8` (`Documentation/admin-guide/cputopology.rst`) as numbers."""
    found: list[int] = []
    for part in (text or "").strip().split(","):
        first, _, last = part.partition("-")
        low, high = number(first), number(last or first)
        if low is None or high is None:
            return None
        found += range(low, high + 1)
    return found


def mask(text: str | None) -> list[int] | None:
    """A bit mask such as `00000000,00000003` as the numbers of its processors."""
    try:
        bits = int((text or "").strip().replace(",", ""), 16)
    except ValueError:
        return None
    return [place for place in range(bits.bit_length()) if bits >> place & 1]


def written(numbers: list[int] | None) -> str | None:
    """Numbers as the kernel writes lists of them: `0-3,8`."""
    if numbers is None:
        return None
    runs: list[list[int]] = []
    for one in sorted(set(numbers)):
        if runs and one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def pairs(text: str | None, separator: str = ":") -> dict[str, str]:
    """Lines of `name: value`; of a name that comes again the first is kept."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        name, between, rest = line.partition(separator)
        if between:
            found.setdefault(name.strip(), rest.strip())
    return found


def doubled(text: str | None) -> dict[str, int]:
    """Pairs of lines as in `/proc/net/snmp`: names above their values, as `Protocol.Name`."""
    lines = (text or "").splitlines()
    found: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        kind, _, titles = names.partition(":")
        told = values.partition(":")[2].split()
        for title, word in zip(titles.split(), told, strict=False):
            if (count := number(word)) is not None:
                found[f"{kind}.{title}"] = count
    return found


def below(files: Mapping[str, str], folder: str) -> Iterator[tuple[str, str]]:
    """Files under a folder that were read, as `(path relative to it, text)`."""
    start = folder.rstrip("/") + "/"
    return ((path[len(start) :], text) for path, text in files.items() if path.startswith(start))
