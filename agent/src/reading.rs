//! Readings per interval: sockets, queues, interfaces and wires of every node, and a sign of life.
//!
//! Inside a virtual kernel a system call costs far more host time than the work it does, so each node is read with few
//! of them: one dump for all its sockets, one for all its qdiscs; and the dumps of all nodes by one call.

mod class;
pub mod counters;
mod due;
pub mod found;
mod frame;
mod interface;
pub mod machine;
mod mptcp;
mod passage;
mod queue;
mod socket;
pub mod sojourn;
pub mod trace;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Context, Result};
use crate::kernel::clock::Clock;
use crate::kernel::netlink::{fetch, Message, Socket, AHEAD};
use crate::kernel::netns::Nodes;
use crate::kernel::sys::machine::owns_kernel;
use crate::kernel::sys::time::thread_cpu_ns;
use crate::kernel::sys::together::{Step, Together};
use crate::kernel::sys::visit::{Moment, Visit};
use crate::path::Topology;
use crate::plan::Plan;
use crate::reading::found::datagrams::Datagrams;
use crate::reading::found::Shared;
use crate::reading::sojourn::Sojourns;
use crate::reading::trace::Tap;
use crate::record::spread::Spread;

use class::Classes;
use due::{next_due, Tally};
use interface::Interfaces;
use mptcp::Connections;
use queue::Queues;
use socket::Sockets;
use wire::Wires;

/// Totals of interfaces and wires say little in between and cost calls for each: they are read this often at most.
const TOTALS_NS: i64 = 1_000_000_000;
/// More flows may bring more sockets between two readings than were provided for.
const MOST_FLOWS_AHEAD: u32 = 32;

/// Everything that is read at each interval of a run.
#[derive(Debug)]
pub struct Sampler<'a> {
    clock: Clock,
    duration_ns: i64,
    sample_ns: i64,
    next_totals_ns: i64,
    /// Eight bytes, the experiment's time: whoever waits outside sees that this kernel is alive.
    progress: File,
    sockets: Option<Sockets>,
    connections: Option<Connections>,
    queues: Option<Queues>,
    classes: Option<Classes>,
    interfaces: Option<Interfaces>,
    wires: Wires<'a>,
    sojourns: Option<Sojourns>,
    /// What tells of sockets that no flow names: events until now, and datagrams.
    tap: Option<Tap>,
    datagrams: Option<Datagrams>,
    topology: &'a Topology,
    /// For the readings of one instant, in a virtual kernel that has it.
    together: Option<Together>,
    /// Whether readings to come can be fetched with the next: nothing else is read at their instants, and nobody ends the experiment.
    looks_ahead: bool,
    /// What has been fetched and is to be read: for which instants, and the time then.
    ahead: VecDeque<(i64, i64)>,
    /// Of the readings, where time is real.
    lateness: Option<Spread>,
    tally: Tally,
}

/// This instant and those that follow, to the first at which totals are due, or the end.
fn instants(at_ns: i64, sample_ns: i64, totals_ns: i64, end_ns: i64) -> impl Iterator<Item = i64> {
    let more_ns = totals_ns.min(end_ns);
    let next = move |at_ns: &i64| (*at_ns < more_ns).then(|| (at_ns + sample_ns).min(end_ns));
    std::iter::successors(Some(at_ns), next)
}

/// See [`Sampler::looks_ahead`]; what is taken along is not known yet. Classes and connections of several paths are read in parts that
/// nobody knows beforehand.
fn may_look_ahead(plan: &Plan, clock: Clock) -> bool {
    plan.flow_numbers() <= MOST_FLOWS_AHEAD
        && !plan.connects_without_number()
        && plan.loads.is_empty()
        && !clock.is_interruptible()
}

impl<'a> Sampler<'a> {
    /// Opens what is read; nothing is read before [`Self::run`].
    pub fn start(
        plan: &Plan,
        topology: &'a Topology,
        nodes: &Nodes,
        clock: Clock,
        out: &Path,
        found: Option<&Shared>,
    ) -> Result<Self> {
        let raw = out.join("raw");
        let readings = plan.readings;
        // Without them nobody knows how much a connection carried.
        let sockets = readings.tcp_info || found.is_some();
        Ok(Self {
            clock,
            duration_ns: plan.duration_ns,
            sample_ns: plan.sample_ns,
            next_totals_ns: 0,
            progress: File::create(out.join("progress")).context("create the progress file")?,
            sockets: sockets.then(|| Sockets::open(plan, nodes, &raw, found)).transpose()?,
            connections: sockets.then(|| Connections::open(plan, nodes, &raw)).transpose()?.flatten(),
            queues: readings.qdisc.then(|| Queues::open(plan, topology, nodes, &raw)).transpose()?,
            classes: readings
                .qdisc
                .then(|| Classes::open(plan, topology, nodes, &raw))
                .transpose()?
                .flatten(),
            interfaces: readings.interface.then(|| Interfaces::open(topology, nodes, &raw)).transpose()?,
            wires: Wires::open(topology, &raw)?,
            sojourns: None,
            tap: None,
            datagrams: None,
            topology,
            together: owns_kernel().then(Together::new),
            looks_ahead: may_look_ahead(plan, clock),
            ahead: VecDeque::new(),
            lateness: None,
            tally: Tally::default(),
        })
    }

    /// What is stamped on the way is taken at each reading, too, and what tells of sockets that no flow names.
    pub fn take_along(&mut self, sojourns: Option<Sojourns>, tap: Option<Tap>, datagrams: Option<Datagrams>) {
        self.looks_ahead &= sojourns.is_none() && tap.is_none() && datagrams.is_none();
        (self.sojourns, self.tap, self.datagrams) = (sojourns, tap, datagrams);
    }

    /// From now on it is counted how much later than asked each reading is made.
    pub fn count_lateness(&mut self) {
        self.lateness = Some(Spread::default());
    }

    #[must_use]
    pub fn lateness(&self) -> Option<&Spread> {
        self.lateness.as_ref()
    }

    /// Says so where readings had to be left out, and why.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        self.tally.warning(self.sample_ns)
    }

    /// Reads at 0, at every interval and at the end of the experiment; comes back when that is reached.
    pub fn run(&mut self) -> Result<()> {
        let mut at_ns = 0;
        loop {
            let now_ns = self.begin(at_ns)?;
            let busy_ns = self.busy_with(|sampler| sampler.read(at_ns, now_ns))?;
            self.tally.made();
            if at_ns >= self.duration_ns || self.clock.is_over() {
                return Ok(());
            }
            let due_ns = match self.ahead.front() {
                Some((at_ns, _)) => *at_ns,
                None => next_due(at_ns, (now_ns, busy_ns), self.sample_ns).min(self.duration_ns),
            };
            self.tally.goes_on((at_ns, now_ns), due_ns, self.sample_ns);
            at_ns = due_ns;
        }
    }

    /// How long that keeps the processor, where time is real.
    fn busy_with(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<i64> {
        if self.lateness.is_none() {
            return work(self).map(|()| 0);
        }
        let before_ns = thread_cpu_ns();
        work(self)?;
        Ok(thread_cpu_ns() - before_ns)
    }

    fn read(&mut self, at_ns: i64, now_ns: i64) -> Result<()> {
        if let Some(lateness) = &mut self.lateness {
            lateness.add((now_ns - at_ns).max(0) as u64);
        }
        // What the sockets below belong to.
        self.tap.as_ref().map_or(Ok(()), Tap::read)?;
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.read(now_ns)?;
        }
        if let Some(sockets) = &mut self.sockets {
            sockets.read(now_ns)?;
        }
        if let Some(connections) = &mut self.connections {
            connections.read(now_ns)?;
        }
        if let Some(queues) = &mut self.queues {
            queues.read(self.topology, now_ns)?;
        }
        if let Some(classes) = &mut self.classes {
            classes.read(now_ns)?;
        }
        if let Some(sojourns) = &mut self.sojourns {
            sojourns.read()?;
        }
        if at_ns >= self.next_totals_ns || at_ns >= self.duration_ns {
            self.next_totals_ns = at_ns + TOTALS_NS;
            self.wires.read(now_ns)?;
            if let Some(interfaces) = &mut self.interfaces {
                if let Some(together) = &mut self.together {
                    fetch(together, vec![(Visit::new(), Vec::new())], interfaces.dumps().collect())?;
                }
                interfaces.read(self.topology, now_ns)?;
            }
        }
        Ok(())
    }

    /// Waits for the instant and gives the time then. Gives the sign of life, and where it can be had together, what is read at every
    /// instant, and at some that follow.
    fn begin(&mut self, at_ns: i64) -> Result<i64> {
        if let Some((_, now_ns)) = self.ahead.pop_front() {
            return Ok(now_ns);
        }
        let instants = self.next_instants(at_ns);
        let Some(together) = &mut self.together else {
            self.clock.sleep_until(at_ns);
            let now_ns = self.clock.now();
            self.progress.write_all_at(&at_ns.to_le_bytes(), 0).context("write the progress file")?;
            return Ok(now_ns);
        };
        let signs: Vec<[u8; 8]> = instants.iter().map(|at_ns| at_ns.to_le_bytes()).collect();
        let due: Vec<Option<Moment>> =
            instants.iter().map(|at_ns| self.clock.doze(*at_ns).map(Moment::of)).collect();
        let mut now = vec![Moment::of(0); instants.len()];
        let turns = due.iter().zip(&mut now).zip(&signs).map(|((due, now), sign)| {
            let mut before = Visit::new();
            if let Some(due) = due {
                before.sleep_until(due);
            }
            before.clock(now);
            (before, vec![Step::Write(self.progress.as_fd(), sign)])
        });
        let turns = turns.collect();
        let mut dumps: Vec<(&mut Socket, &Message)> = Vec::new();
        dumps.extend(self.sockets.iter_mut().flat_map(Sockets::dumps));
        dumps.extend(self.connections.iter_mut().flat_map(Connections::dumps));
        dumps.extend(self.queues.iter_mut().flat_map(Queues::dumps));
        dumps.extend(self.classes.iter_mut().flat_map(Classes::dumps));
        fetch(together, turns, dumps)?;
        let mut times = now.iter().map(|now| self.clock.since_start(now.ns()));
        let now_ns = times.next().unwrap_or(at_ns);
        self.ahead.extend(instants.iter().copied().skip(1).zip(times));
        Ok(now_ns)
    }

    /// This instant, and those behind it at which nothing else is read, where dumps are small.
    fn next_instants(&mut self, at_ns: i64) -> Vec<i64> {
        let small = |(socket, _): (&mut Socket, &Message)| socket.dumps_are_small();
        let ahead = self.looks_ahead
            && self.connections.is_none()
            && self.classes.is_none()
            && self.sockets.iter_mut().flat_map(Sockets::dumps).all(small)
            && self.queues.iter_mut().flat_map(Queues::dumps).all(small);
        let most = if ahead { AHEAD } else { 1 };
        instants(at_ns, self.sample_ns, self.next_totals_ns, self.duration_ns).take(most).collect()
    }

    /// Writes what is left; gives how many stamps of sojourn times and of datagrams were lost, by their tables where there were to
    /// be some.
    pub fn finish(mut self) -> Result<BTreeMap<String, u64>> {
        if let Some(sockets) = &mut self.sockets {
            sockets.flush()?;
        }
        if let Some(connections) = &mut self.connections {
            connections.flush()?;
        }
        if let Some(queues) = &mut self.queues {
            queues.flush()?;
        }
        if let Some(classes) = &mut self.classes {
            classes.flush()?;
        }
        if let Some(interfaces) = &mut self.interfaces {
            interfaces.flush()?;
        }
        self.wires.flush()?;
        let mut lost = BTreeMap::new();
        if let Some(sojourns) = self.sojourns {
            lost.insert(sojourn::TABLE.to_owned(), sojourns.finish()?);
        }
        if let Some(datagrams) = self.datagrams {
            lost.insert(found::datagrams::TABLE.to_owned(), datagrams.finish()?);
        }
        Ok(lost)
    }
}

/// Names and numpy types as a table's columns.
fn columns(columns: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    columns.iter().map(|(name, kind)| (*name, (*kind).to_owned())).collect()
}

/// Appends `bytes` cut or padded with zeros to `size`.
fn fixed(row: &mut Vec<u8>, bytes: &[u8], size: usize) {
    let end = row.len() + size;
    row.extend(&bytes[..bytes.len().min(size)]);
    row.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_looks_ahead_to_the_next_totals_and_to_the_end() {
        let ahead = |at_ns, totals_ns| instants(at_ns, 20, totals_ns, 110).collect::<Vec<_>>();
        // Totals are due at the first reading, then at one, between two, never.
        assert_eq!(ahead(0, 0), [0]);
        assert_eq!(ahead(20, 60), [20, 40, 60]);
        assert_eq!(ahead(20, 50), [20, 40, 60]);
        assert_eq!(ahead(60, 1000), [60, 80, 100, 110]);
        assert_eq!(ahead(110, 1000), [110]);
    }
}
