"""The bill of materials of a release: what is in it, and what it needs, as CycloneDX.

In it are the agent with its crates, what pages load, the kernels with their sources, and the C library that
is linked into both. What an installer fetches besides are Python packages.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import rushhour
from rushhour.errors import RushHourError
from shipping import materials
from shipping.build import EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rushhour.lab.kernel import Kernel


def bill(wheels: Sequence[Path], kernels: Sequence[Kernel]) -> str:
    """The bill of these wheels, of which the first is Rush Hour's; JSON, the same for the same files.

    Raises:
        RushHourError: it would not be valid.
    """
    whole = materials.part(
        ComponentType.APPLICATION, "rushhour", rushhour.__version__, "Apache-2.0", ref="rushhour"
    )
    libc = materials.library()
    programs, crates = materials.agent(wheels[0])
    packages, imports = materials.packages()
    scripts = [*materials.scripts()]
    images = [materials.kernel(kernel) for kernel in kernels]
    files = [materials.file(wheel) for wheel in wheels]
    needs = {**crates, **imports}
    own = [*files, programs[0], *scripts, *(image for image, _ in images)]
    needs["rushhour"] = [*needs["rushhour"], *_references(own)]
    for image, source in images:
        needs[_reference(image)] = _references([source, libc])
    needs[_reference(programs[0])] = [*needs[_reference(programs[0])], _reference(libc)]
    found = Bom(serial_number=uuid.UUID(int=0))
    found.metadata.component = whole
    found.metadata.timestamp = datetime.fromtimestamp(int(EPOCH), UTC)
    found.components.update([*files, *programs, *scripts, *packages, libc])
    found.components.update([one for both in images for one in both])
    every = {_reference(one): one for one in [whole, *found.components]}
    for name, wanted in needs.items():
        found.register_dependency(every[name], [every[one] for one in wanted])
    return _written(found)


def _written(found: Bom) -> str:
    # Named after its contents: the same release has the same bill.
    digest = sha256(JsonV1Dot6(found).output_as_string().encode()).hexdigest()
    found.serial_number = uuid.uuid5(uuid.NAMESPACE_OID, digest)
    text = JsonV1Dot6(found).output_as_string(indent=1)
    if (fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)) is not None:
        raise RushHourError(f"the bill of materials is not valid: {fault}")
    return f"{text}\n"


def _reference(one: Component) -> str:
    return str(one.bom_ref)


def _references(some: Sequence[Component]) -> list[str]:
    return [_reference(one) for one in some]
