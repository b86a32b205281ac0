"""A scenario written as TOML: what `load` reads back to an equal scenario.

Takes a document (dicts, lists, texts, numbers), gives a text. Empty tables, lists and texts are left out by
`scenario_toml`: they say what is said without them.

tomli-w writes what reads worse: flows as one list of inline tables, not as the `[[flow]]` tables
by which faults name them, and each list over several lines (the catalogue gets 14 % longer). And it cannot
write one value on a line, as `--set` takes it.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def scenario_toml(canonical: Mapping[str, object]) -> str:
    """A scenario in its canonical form (`Scenario.canonical`) as a file that `rushhour run` takes."""
    return dumps({key: value for key, value in canonical.items() if value not in ("", {}, [], None)})


def dumps(document: Mapping[str, Any]) -> str:
    """The document as TOML; `tomllib.loads` gives an equal one."""
    return "\n".join(_table(document, ())).strip() + "\n"


def inline(value: Any) -> str:
    """One value as it stands on the right of `=`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(inline(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {inline(item)}' for key, item in value.items())} }}"
    return repr(value)


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    # Plain values first: what follows the head of a table belongs to that table.
    for key, value in table.items():
        if not _is_table(value) and not _are_tables(value):
            yield f"{_key(key)} = {_long(value) if isinstance(value, str) else inline(value)}"
    for key, value in table.items():
        head = ".".join(_key(part) for part in (*path, key))
        if _is_table(value):
            yield from ("", f"[{head}]", *_table(value, (*path, key)))
        elif _are_tables(value):
            for item in value:
                yield from ("", f"[[{head}]]", *_table(item, (*path, key)))


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _are_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, dict) for item in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's; only DEL is allowed in one and not in the other.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _long(text: str) -> str:
    if "\n" not in text:
        return _text(text)
    return '"""\n' + "\n".join(_text(line)[1:-1] for line in text.split("\n")) + '"""'


def plain_word(value: object) -> str:
    """A value in the name of a cell: a text as it is, all else as TOML has it."""
    return value if isinstance(value, str) else inline(value)


def plain_words(values: Mapping[str, object]) -> list[str]:
    """Keys with their values in the name of a cell: `cc=reno`, `ecn=true`."""
    return [f"{key}={plain_word(value)}" for key, value in values.items()]


def value_word(value: object) -> str:
    """A value as `--set` reads it: a text without quotes where it cannot be taken for something else."""
    if not isinstance(value, str):
        return inline(value)
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return value if value == value.strip() and "\n" not in value else inline(value)
    return inline(value)
