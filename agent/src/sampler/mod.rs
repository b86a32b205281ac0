//! Readings per interval: sockets, queues, interfaces and wires of every node, and a sign of life.
//!
//! Inside a virtual kernel a system call costs far more host time than the work it does, so each node is read with few
//! of them: one dump for all its sockets, one for all its qdiscs.

mod class;
mod interface;
mod queue;
mod socket;
mod wire;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::clock::Clock;
use crate::error::{Context, Result};
use crate::netns::Nodes;
use crate::plan::Plan;
use crate::sojourn::Sojourns;
use crate::spread::Spread;
use crate::topology::Topology;

use class::Classes;
use interface::Interfaces;
use queue::Queues;
use socket::Sockets;
use wire::Wires;

/// Totals of interfaces and wires say little in between and cost calls for each: they are read this often at most.
const TOTALS_NS: i64 = 1_000_000_000;

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
    queues: Option<Queues>,
    classes: Option<Classes>,
    interfaces: Option<Interfaces>,
    wires: Wires<'a>,
    sojourns: Option<Sojourns>,
    topology: &'a Topology,
    /// Of the readings, where time is real.
    lateness: Option<Spread>,
}

impl<'a> Sampler<'a> {
    /// Opens what is read; nothing is read before [`Self::run`].
    pub fn start(
        plan: &Plan,
        topology: &'a Topology,
        nodes: &Nodes,
        clock: Clock,
        out: &Path,
    ) -> Result<Self> {
        let raw = out.join("raw");
        let readings = plan.readings;
        Ok(Self {
            clock,
            duration_ns: plan.duration_ns,
            sample_ns: plan.sample_ns,
            next_totals_ns: 0,
            progress: File::create(out.join("progress")).context("create the progress file")?,
            sockets: readings.tcp_info.then(|| Sockets::open(plan, nodes, &raw)).transpose()?,
            queues: readings.qdisc.then(|| Queues::open(plan, topology, nodes, &raw)).transpose()?,
            classes: readings
                .qdisc
                .then(|| Classes::open(plan, topology, nodes, &raw))
                .transpose()?
                .flatten(),
            interfaces: readings.interface.then(|| Interfaces::open(topology, nodes, &raw)).transpose()?,
            wires: Wires::open(topology, &raw)?,
            sojourns: None,
            topology,
            lateness: None,
        })
    }

    /// What is stamped on the way is taken at each reading, too.
    pub fn take_along(&mut self, sojourns: Option<Sojourns>) {
        self.sojourns = sojourns;
    }

    /// From now on it is counted how much later than asked each reading is made.
    pub fn count_lateness(&mut self) {
        self.lateness = Some(Spread::default());
    }

    #[must_use]
    pub fn lateness(&self) -> Option<&Spread> {
        self.lateness.as_ref()
    }

    /// Reads at 0, at every interval and at the end of the experiment; comes back when that is reached.
    pub fn run(&mut self) -> Result<()> {
        let mut at_ns = 0;
        loop {
            self.clock.sleep_until(at_ns);
            self.read(at_ns)?;
            if at_ns >= self.duration_ns || self.clock.is_over() {
                return Ok(());
            }
            at_ns = (at_ns + self.sample_ns).min(self.duration_ns);
        }
    }

    fn read(&mut self, at_ns: i64) -> Result<()> {
        let now_ns = self.clock.now();
        if let Some(lateness) = &mut self.lateness {
            lateness.add((now_ns - at_ns).max(0) as u64);
        }
        self.progress.write_all_at(&now_ns.to_le_bytes(), 0).context("write the progress file")?;
        if let Some(sockets) = &mut self.sockets {
            sockets.read(now_ns)?;
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
                interfaces.read(self.topology, now_ns)?;
            }
        }
        Ok(())
    }

    /// Writes what is left; gives how many stamps of sojourn times were lost, where there were to be some.
    pub fn finish(mut self) -> Result<Option<u64>> {
        if let Some(sockets) = &mut self.sockets {
            sockets.flush()?;
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
        self.sojourns.map(Sojourns::finish).transpose()
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
