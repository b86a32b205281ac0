"""Write the documents that are generated: run it after a change of the scenario models or the commands."""

import json
from pathlib import Path

from rushhour.cli.document import render as commands
from rushhour.lab.host.inventory import schema as inventory
from rushhour.metrics.document import names as metrics
from rushhour.spec.reference import reference, schema
from rushhour.spec.suite import page as suite

ROOT = Path(__file__).resolve().parent.parent


def inventory_schema() -> str:
    return json.dumps(inventory(), indent=1, ensure_ascii=False) + "\n"


GENERATED = {
    ROOT / "docs/scenario.md": reference,
    ROOT / "docs/commands.md": commands,
    ROOT / "docs/suite.md": suite,
    ROOT / "schema/inventory.schema.json": inventory_schema,
    ROOT / "schema/scenario.schema.json": schema,
    ROOT / "src/rushhour/cli/metrics.txt": metrics,
    ROOT / "src/rushhour/spec/scenario.schema.json": schema,
}


def main() -> None:
    for path, render in GENERATED.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
