"""JSON files of a record and of a set, read with all that can be wrong with a file said in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.files.regular import read_regular
from rushhour.plain import harmless, may_speak
from rushhour.record.document import read
from rushhour.record.set_file import SetFile
from rushhour.record.sound import check_set

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AGAIN = "the file is missing or damaged; run the cell again with --fresh"
"""What to do about a file that is missing or damaged."""
# A manifest or result of a thousand flows has about a megabyte.
_MAX_JSON = 64 << 20


def read_json(path: Path, hint: str = AGAIN) -> Mapping[str, object]:
    """A JSON object from a file; `hint` says what to do where there is none.

    Raises:
        RecordError: the file cannot be read, is too large, or is no JSON object.
    """
    try:
        raw = read_regular(path, _MAX_JSON)
        value = harmless(json.loads(raw)) if may_speak(raw) else json.loads(raw)
        if b"\\u" in raw:
            json.dumps(value, ensure_ascii=False).encode()  # half a character cannot be written again
    except OSError as error:
        raise RecordError(f"cannot read the file: {error.strerror}", where=str(path), hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"the file is not JSON: {error}", where=str(path), hint=hint) from error
    if not isinstance(value, dict):
        raise RecordError("the file holds no JSON object", where=str(path), hint=hint)
    return value


def read_set(path: Path) -> SetFile:
    """What a `set.json` says, which is what was written there.

    Raises:
        RecordError: as of `read_json`, or a value has another shape, or it was changed after the runs.
    """
    document = read(SetFile, read_json(path), str(path), hint=AGAIN)
    check_set(path, document)
    return document
