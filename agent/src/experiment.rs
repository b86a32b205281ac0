//! One run, in its order: build, calibrate, get ready, start together, sample, end.

use std::fs;
use std::path::Path;

use crate::calibration;
use crate::change::{Changes, Changing};
use crate::clock::Clock;
use crate::counters;
use crate::error::{Context, Result};
use crate::firewall::Firewalls;
use crate::flow;
use crate::load::Loads;
use crate::machine::Watch;
use crate::netns::Nodes;
use crate::plan::Plan;
use crate::result::{Kernel, Report, FORMAT};
use crate::sampler::Sampler;
use crate::sys;
use crate::tool;
use crate::topology;
use crate::trace::Trace;

/// The start is a whole second, at least this far off: high-resolution timers need two ticks after boot, and all
/// threads of flows must have reached their starting line.
const LEAD_NS: i64 = 20_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// The number of the first packet on a wire during calibration.
const CALIBRATION_NUMBERS: u64 = 1 << 48;

/// Runs the plan in `out/plan.json` and leaves raw tables and `result.json` in `out`. Gives whether all went well.
#[must_use]
pub fn run(out: &Path) -> bool {
    let mut report = Report { format: FORMAT, kernel: kernel_facts(), ..Report::default() };
    match attempt(out, &mut report) {
        Ok(()) => report.ok = true,
        Err(error) => report.error = Some(error),
    }
    write_report(out, &report).is_ok() && report.ok
}

/// Written under another name first: a `result.json` that exists is whole.
pub fn write_report(out: &Path, report: &Report) -> std::io::Result<()> {
    let part = out.join("result.json.part");
    let text = serde_json::to_vec_pretty(report).unwrap_or_default();
    fs::write(&part, text).and_then(|()| fs::rename(&part, out.join("result.json")))
}

fn attempt(out: &Path, report: &mut Report) -> Result<()> {
    let text = fs::read_to_string(out.join("plan.json")).context("read the plan")?;
    let plan = Plan::parse(&text)?;
    plan.tools.iter().try_for_each(|name| tool::require(name).map(drop))?;
    sys::thread::share_one_arena();
    sys::set_timer_slack(1).context("set the timer slack")?;
    let raw = out.join("raw");
    fs::create_dir_all(&raw).context("create the folder of raw tables")?;

    let mut nodes = Nodes::new()?;
    let mut topology = topology::build(&plan, &mut nodes)?;
    // What calibration sends takes none of the experiment's numbers, so a list of drops does not meet it.
    topology.count_wires_from(CALIBRATION_NUMBERS)?;
    report.calibration = calibration::run(&plan, &nodes)?;
    topology::renew_queues(&plan, &mut topology, &nodes)?;
    report.calibration.qdiscs = topology::read_back(&mut topology)?;
    topology.count_wires_from(0)?;

    let prepared = flow::prepare(&plan, &nodes, &raw)?;
    let firewalls = Firewalls::start(&plan, &nodes)?;
    let real = !sys::owns_kernel();
    let clock = Clock::starting_at(if real { soon(&plan) } else { next_start(sys::monotonic_ns()) });
    report.start_clock_ns = clock.start_ns();
    let trace = Trace::start(&plan, clock, &raw, &mut report.warnings, &|_| ())?;
    let mut sampler = Sampler::start(&plan, &topology, &nodes, clock, out)?;
    let changes = Changes::prepare(&plan, &topology, &nodes, &raw)?.map(|changes| changes.start(clock));
    let changing = changes.transpose()?;
    let loads = Loads::start(&plan, clock)?;
    let watch = real.then(|| {
        sampler.count_lateness();
        Watch::begin()
    });
    let before = counters::read(&plan, &nodes)?;
    let running = prepared.start(clock, &raw)?;
    if real {
        // After the flows' threads were started, for they would come first, too.
        let _ = sys::come_first(true);
    }
    sampler.run()?;
    report.counters = counters::since(&before, &counters::read(&plan, &nodes)?);
    let (flows, sockets) = running.finish()?;
    report.flows = flows;
    sockets.abandon();
    if let Some(watch) = watch {
        report.machine.insert(String::new(), watch.end(sampler.lateness()));
    }
    sampler.finish()?;
    if let Some(carried) = topology.stop_line()? {
        report.machine.entry(String::new()).or_default().line = Some(carried);
    }
    report.inputs = firewalls.read()?;
    changing.map_or(Ok(()), Changing::finish)?;
    report.loads = loads.finish(clock)?;
    if let Some(trace) = trace {
        report.lost_events = trace.finish()?;
    }
    Ok(())
}

fn next_start(now_ns: i64) -> i64 {
    (now_ns + LEAD_NS + SECOND_NS - 1).div_euclid(SECOND_NS) * SECOND_NS
}

/// In real time nobody waits longer than it takes to look at the machine and to start the threads.
fn soon(plan: &Plan) -> i64 {
    const LEAD_NS: i64 = 100_000_000;
    const PER_FLOW_NS: i64 = 100_000;
    sys::monotonic_ns() + LEAD_NS + PER_FLOW_NS * plan.flows.len() as i64
}

pub fn kernel_facts() -> Kernel {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let controls = read("/proc/sys/net/ipv4/tcp_available_congestion_control");
    Kernel {
        release: read("/proc/sys/kernel/osrelease"),
        version: read("/proc/sys/kernel/version"),
        congestion_controls: controls.split_whitespace().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_a_whole_second_with_room_before_it() {
        assert_eq!(next_start(0), SECOND_NS);
        assert_eq!(next_start(979_999_999), SECOND_NS);
        assert_eq!(next_start(980_000_001), 2 * SECOND_NS);
    }
}
