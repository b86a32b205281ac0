"""What a record says of the machines it was made on: kernels, addresses, clocks, the idle path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.lab.realtime import RunningKernel, described
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.host.clocks import Clock
    from rushhour.lab.host.company import Company
    from rushhour.lab.host.merge import Half
    from rushhour.lab.host.prepared import Prepared
    from rushhour.plan.onto import Onto
    from rushhour.record.result_file import ResultFile


def kernel(hellos: Mapping[str, Mapping[str, Any]]) -> RunningKernel:
    """The kernels of machines as the one under test: one, or several whose names are joined."""
    kernels = {name: hello["kernel"] for name, hello in hellos.items()}
    distinct = list(
        {(one["release"], one["version"], one["machine"]): one for one in kernels.values()}.values()
    )
    first = described(distinct[0]["release"], distinct[0]["version"], distinct[0]["machine"], None)
    if len(distinct) == 1:
        return first
    releases = "+".join(dict.fromkeys(one["release"] for one in distinct))
    by_host = {name: f"{one['release']} {one['version']}" for name, one in kernels.items()}
    identity = {"name": f"running-{releases}", "release": releases, "source": {"kind": "running"}}
    kinds = {one["machine"] for one in distinct}
    machine = {"machine": kinds.pop()} if len(kinds) == 1 else {}
    return RunningKernel(identity["name"], releases, identity | machine | {"hosts": by_host})  # type: ignore[arg-type]


def description(
    company: Company, prepared: Prepared, halves: Sequence[Half], clocks: Mapping[str, Clock]
) -> dict[str, dict[str, Any]]:
    """The machines of a run by name, for the manifest. No configuration, no key, no environment."""
    told: dict[str, dict[str, Any]] = {}
    sessions = company.sessions(half.name for half in halves)
    for half in halves:
        name, hello = half.name, sessions[half.name].hello
        host, seat, clock = company.inventory.host[name], company.seat(name), clocks[name]
        told[name] = {
            "place": host.at,
            "hostname": hello.get("hostname"),
            "kernel": hello["kernel"]["release"],
            "cpus": hello.get("cpus"),
            "uid": hello.get("uid"),
            "clock": {
                "offset_ns": clock.before.ns,
                "error_ns": clock.error_ns,
                "drift_ppm": round(clock.drift_ppm, 3),
            },
        }
        if seat is not None:
            told[name] |= {"address": seat.address, "device": seat.device, "mtu": seat.mtu}
        told[name] |= prepared.told(name)
        if host.emulates:
            told[name] |= {"forward": host.forward, "backward": host.backward}
    return told


def base_rtts(made: Onto, result: ResultFile) -> ContextFile:
    """The context with the idle RTT of each flow: the least of the echoes before the experiment.

    Undefined where none was answered.
    """
    paths = made.plan.calibration.paths
    least: dict[tuple[str, str], int] = {}
    for entry in result.calibration.pings:
        if entry.answers:
            path = paths[entry.path]
            least[path.from_, path.to] = min(entry.answers)
    flows = []
    for flow in made.context.flows:
        asked = made.plan.flow(flow.id)
        one, other = asked.from_, asked.to
        flows.append(flow | {"base_rtt_ns": least.get((one, other), least.get((other, one)))})
    return read(ContextFile, made.context | {"flows": flows}, "the context")
