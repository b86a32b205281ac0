//! One run, in its order: build, calibrate, get ready, start together, sample, end.

use std::fs;
use std::path::Path;

use crate::error::{Context, Result};
use crate::kernel::beside::Beside;
use crate::kernel::clock::Clock;
use crate::kernel::leftover::Leftover;
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::kernel::tool;
use crate::lab::Lab;
use crate::path::disturb;
use crate::path::firewall::Firewalls;
use crate::path::pause::{self, Pauses};
use crate::path::{self, Topology};
use crate::plan::Plan;
use crate::program::{self, Programs};
use crate::reading::found::datagrams::Datagrams;
use crate::reading::found::{self, Book, Shared};
use crate::reading::sojourn::{self, Sojourns};
use crate::reading::trace::Trace;
use crate::reading::Sampler;
use crate::record::table;
use crate::result::{Kernel, Report, FORMAT};
use crate::run::calibration;
use crate::run::change::Changes;
use crate::run::core::Core;
use crate::traffic::load::Loads;
use crate::traffic::{self, Prepared};

/// A virtual experiment starts at a multiple of this on the guest's clock.
const START_NS: i64 = 64_000_000_000;
/// What is done right before the start (queues, sockets, threads) begins this long before.
const READY_NS: i64 = 1_000_000_000;
/// From which number of bits on the kernel calls its random numbers early, and ready (drivers/char/random.c).
const SOME_BITS: i32 = 128;
pub(super) const ALL_BITS: i32 = 256;
/// The number of the first packet on a wire during calibration.
const CALIBRATION_NUMBERS: u64 = 1 << 48;

/// Runs the plan in `out/plan.json` and leaves raw tables and `result.json` in `out`. Gives whether all went well.
#[must_use]
pub fn run(out: &Path, lab: Lab) -> bool {
    let mut report = Report { format: FORMAT, kernel: kernel_facts(), ..Report::default() };
    match attempt(out, lab, &mut report) {
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

fn attempt(out: &Path, lab: Lab, report: &mut Report) -> Result<()> {
    let plan = asked(out)?;
    if lab.is_virtual() {
        begin_random_numbers(&plan)?;
    }
    sys::thread::share_one_arena();
    sys::time::set_timer_slack(1).context("set the timer slack")?;
    disturb::begin(&plan);
    let raw = out.join("raw");
    fs::create_dir_all(&raw).context("create the folder of raw tables")?;

    let mut nodes = Nodes::new()?;
    let mut topology = path::build(&plan, &mut nodes, lab)?;
    calibrate(&plan, &nodes, &mut topology, report)?;

    let real = !lab.is_virtual();
    let clock = program::clock(&plan, if real { soon(&plan) } else { settle()? });
    report.start_clock_ns = clock.start_ns();
    renew(&plan, &nodes, &mut topology, report)?;
    let prepared = traffic::prepare(&plan, &nodes, &raw)?;
    let firewalls = Firewalls::start(&plan, &nodes)?;
    let book = found::book(&plan)?;
    let keep: Option<&dyn Fn(Leftover)> = real.then_some(&|_| ());
    let trace = Trace::start(&plan, clock, &raw, &mut report.warnings, keep, book.as_ref())?;
    let sojourns = Sojourns::attach(&plan, &mut topology, clock, &raw, book.as_ref())?;
    let datagrams = Datagrams::attach(&plan, &mut topology, clock, &raw, book.as_ref())?;
    let mut sampler = Sampler::start(&plan, &topology, &nodes, clock, out, book.as_ref())?;
    sampler.take_along(sojourns, trace.as_ref().map(Trace::tap).transpose()?.flatten(), datagrams);
    let beside = begin(&plan, &topology, &nodes, clock, &raw)?;
    let loads = Loads::start(&plan, clock)?;
    let programs = Programs::start(lab, &plan, &nodes, clock, &raw)?;
    let core = Core { lab, plan: &plan, nodes: &nodes, clock, raw: &raw };
    drive(&core, prepared, &mut sampler, programs, report)?;
    let lost_stamps = sampler.finish()?;
    if let Some(carried) = topology.stop_line()? {
        report.machine.entry(String::new()).or_default().line = Some(carried);
    }
    report.inputs = firewalls.read()?;
    beside.into_iter().try_for_each(Beside::finish)?;
    report.loads = loads.finish(clock)?;
    report.lost_events = trace.map(Trace::finish).transpose()?.unwrap_or_default();
    report.lost_events.extend(lost_stamps);
    conclude(book.as_ref(), real, &raw, report)
}

/// The experiment itself; then ends the programs, and notes how they came out and when the experiment ended with them.
fn drive(
    core: &Core<'_>,
    flows: Prepared,
    sampler: &mut Sampler,
    programs: Option<Programs>,
    report: &mut Report,
) -> Result<()> {
    let over = core.drive(flows, sampler, report)?;
    over.sockets.abandon();
    let programs = programs.map(Programs::finish).transpose()?.unwrap_or_default();
    let ends = |id| core.plan.programs.iter().any(|program| program.id == id && program.until_exit);
    let awaited = programs.iter().filter(|one| ends(one.id));
    report.ended_ns = if over.early { awaited.filter_map(|one| one.ended_ns).max() } else { None };
    report.programs = programs;
    Ok(())
}

/// Says what was found. Where several CPUs wrote stamps, they are put in order.
fn conclude(book: Option<&Shared>, real: bool, raw: &Path, report: &mut Report) -> Result<()> {
    if let Some(book) = book {
        let mut book = found::open(book);
        if let Some(ended_ns) = report.ended_ns {
            book.ended(ended_ns);
        }
        tell(&book, report);
    }
    if real && report.lost_events.contains_key(sojourn::TABLE) {
        return table::sort_by_time(raw, sojourn::TABLE);
    }
    Ok(())
}

/// What was found.
fn tell(book: &Book, report: &mut Report) {
    let told = book.report();
    if told.beyond > 0 {
        report.warnings.push(format!(
            "{} conversations more than were to be followed: `most` of `found` says how many are",
            told.beyond
        ));
    }
    if book.lost > 0 {
        report.warnings.push(format!(
            "the last words of sockets found no room {} times: their flows end with the sample before",
            book.lost
        ));
    }
    report.found = Some(told);
}

/// Changes and pauses as they begin to run beside the flows.
fn begin(plan: &Plan, topology: &Topology, nodes: &Nodes, clock: Clock, raw: &Path) -> Result<Vec<Beside>> {
    let changes = Changes::prepare(plan, topology, nodes, raw)?.map(|changes| changes.start(clock));
    let mut begun: Vec<Beside> = changes.transpose()?.into_iter().collect();
    let pauses = Pauses::prepare(plan, topology, nodes, raw)?.map(|pauses| pauses.start(clock));
    begun.extend(pauses.transpose()?);
    Ok(begun)
}

/// The plan, and that the programs it needs are there.
fn asked(out: &Path) -> Result<Plan> {
    let text = fs::read_to_string(out.join("plan.json")).context("read the plan")?;
    let plan = Plan::parse(&text)?;
    // What programs of the scenario need is laid out as they know it.
    let known = plan.tools.iter().filter(|name| !name.contains(':'));
    known.into_iter().try_for_each(|name| tool::require(name).map(drop))?;
    Ok(plan)
}

/// Measures the network as it was built.
fn calibrate(plan: &Plan, nodes: &Nodes, topology: &mut Topology, report: &mut Report) -> Result<()> {
    // What calibration sends takes none of the experiment's numbers, so a list of drops does not meet it.
    topology.count_wires_from(CALIBRATION_NUMBERS)?;
    topology.warn_of_wires(&mut report.warnings);
    pause::open(plan, topology)?;
    report.calibration = calibration::run(plan, nodes)?;
    disturb::end();
    Ok(())
}

/// Makes the network forget what calibration sent, and reads its queues back.
fn renew(plan: &Plan, nodes: &Nodes, topology: &mut Topology, report: &mut Report) -> Result<()> {
    path::renew_queues(plan, topology, nodes)?;
    pause::open(plan, topology)?;
    report.calibration.qdiscs = path::read_back(topology)?;
    topology.count_wires_from(0)
}

/// Waits for the instant at which a virtual kernel gets ready for its experiment, and gives the start.
///
/// Both are the same whatever set-up did and however long that took, unless it took minutes. What it left behind has ended by then:
/// timers, reports of multicast groups, work that kernel threads put off. Idle virtual time costs next to nothing.
fn settle() -> Result<i64> {
    let start_ns = start_after(sys::time::monotonic_ns());
    sys::time::sleep_until(start_ns - READY_NS);
    random_numbers(ALL_BITS)?;
    Ok(start_ns)
}

/// Tells the kernel's generator of random numbers that it has a seed of so many bits; with all it begins anew.
///
/// It would look for a seed in the jitter of a clock that has none; what makes one run differ from another is the seed on the
/// command line, which it has mixed in already. With half of the bits it draws from one key. With all it renews its key, then and
/// whenever that has become old, so this is left to the last moment: the experiment's numbers do not depend on how many were drawn
/// in set-up, and when.
pub(super) fn random_numbers(bits: i32) -> Result<()> {
    let random = fs::File::open("/dev/random").context("open /dev/random")?;
    sys::machine::add_entropy(&random, *b"RUSHHOUR_SEED is the seed of all", bits)
        .context("make random numbers ready")?;
    if bits == ALL_BITS {
        sys::machine::reseed(&random).context("begin random numbers anew")?;
    }
    Ok(())
}

/// Lets random numbers be drawn. A program waits until they are ready, where the kernel itself goes on without.
fn begin_random_numbers(plan: &Plan) -> Result<()> {
    random_numbers(if plan.tools.is_empty() && plan.programs.is_empty() { SOME_BITS } else { ALL_BITS })
}

fn start_after(now_ns: i64) -> i64 {
    ((now_ns + READY_NS).div_euclid(START_NS) + 1) * START_NS
}

/// In real time nobody waits longer than it takes to look at the machine and to start the threads.
fn soon(plan: &Plan) -> i64 {
    const LEAD_NS: i64 = 100_000_000;
    const PER_FLOW_NS: i64 = 100_000;
    sys::time::monotonic_ns() + LEAD_NS + PER_FLOW_NS * plan.flows.len() as i64
}

pub fn kernel_facts() -> Kernel {
    let read = |path: &str| sys::files::read_text(path).unwrap_or_default().trim().to_owned();
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
    fn the_start_does_not_depend_on_what_set_up_took() {
        for now_ns in [0, 1, 979_999_999, START_NS - READY_NS - 1] {
            assert_eq!(start_after(now_ns), START_NS, "{now_ns}");
        }
        assert_eq!(start_after(START_NS - READY_NS), 2 * START_NS);
    }
}
