"""Write the documents that are generated: run it after a change of the scenario models or the commands."""

import json
import sys
from pathlib import Path

from rushhour.causes.document import page as causes
from rushhour.cli.contents import render as contents
from rushhour.cli.document import render as commands
from rushhour.cli.manual import render as manual
from rushhour.coverage.document import within
from rushhour.lab.host.inventory import schema as inventory
from rushhour.metrics.document import names as metrics
from rushhour.spec.reference import reference, schema
from rushhour.spec.suite import page as suite

ROOT = Path(__file__).resolve().parent.parent


def inventory_schema() -> str:
    return json.dumps(inventory(), indent=1, ensure_ascii=False) + "\n"


def coverage() -> str:
    """The page as it is, with its tables renewed."""
    return within((ROOT / "docs/coverage.md").read_text(encoding="utf-8"))


GENERATED = {
    ROOT / "docs/causes.md": causes,
    ROOT / "docs/coverage.md": coverage,
    ROOT / "docs/scenario.md": reference,
    ROOT / "docs/commands.md": commands,
    ROOT / "docs/suite.md": suite,
    ROOT / "schema/inventory.schema.json": inventory_schema,
    ROOT / "schema/scenario.schema.json": schema,
    ROOT / "share/man/man1/rushhour.1": manual,
    ROOT / "src/rushhour/cli/contents.json": contents,
    ROOT / "src/rushhour/cli/metrics.txt": metrics,
    ROOT / "src/rushhour/spec/scenario.schema.json": schema,
}


def main() -> int:
    """Write them all; with `--check` nothing is written, and what is not current is named."""
    check = sys.argv[1:] == ["--check"]
    old = []
    for path, render in GENERATED.items():
        text = render()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            old.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print(*(path.relative_to(ROOT) for path in old), sep="\n", end="\n" if old else "")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
