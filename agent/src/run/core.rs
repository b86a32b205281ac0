//! The core of every run, in whatever lab: from the moment when all is ready until the last flow has ended.

use std::path::Path;

use crate::error::Result;
use crate::kernel::clock::Clock;
use crate::kernel::netns::Nodes;
use crate::kernel::sys::cpu;
use crate::lab::Lab;
use crate::plan::Plan;
use crate::reading::counters;
use crate::reading::machine::Watch;
use crate::reading::Sampler;
use crate::result::Report;
use crate::traffic::{Prepared, Sockets};

/// What a run is made of once everything is open and in its place.
pub struct Core<'a> {
    pub lab: Lab,
    pub plan: &'a Plan,
    pub nodes: &'a Nodes,
    pub clock: Clock,
    /// Where tables go.
    pub raw: &'a Path,
}

/// A run that is over.
pub struct Over {
    /// Those of the flows, not closed yet.
    pub sockets: Sockets,
    /// Whether it was stopped before its end.
    pub early: bool,
}

/// While it lives, the thread that made it comes before all that have no deadline. Where that is not allowed, the lateness tells.
struct First;

impl First {
    fn begin() -> Self {
        let _ = cpu::come_first(true);
        Self
    }
}

impl Drop for First {
    fn drop(&mut self) {
        let _ = cpu::come_first(false);
    }
}

impl Core<'_> {
    /// Starts the flows, reads until the end, ends the flows; what was found is in the report. What was started ends also where
    /// readings fail.
    ///
    /// # Errors
    /// A flow's thread that cannot be started or does not end; readings that cannot be written.
    pub fn drive(&self, flows: Prepared, sampler: &mut Sampler, report: &mut Report) -> Result<Over> {
        let watch = (!self.lab.is_virtual()).then(|| {
            sampler.count_lateness();
            Watch::begin()
        });
        let before = counters::read(self.plan, self.nodes)?;
        let running = flows.start(self.clock, self.raw)?;
        if self.lab == Lab::Machine {
            self.warn_of_delay(report);
        }
        // After the flows' threads were started, for they would come first, too.
        let first = (!self.lab.is_virtual()).then(First::begin);
        let read = sampler.run();
        report.warnings.extend(sampler.warning());
        report.counters = counters::since(&before, &counters::read(self.plan, self.nodes)?);
        drop(first);
        let early = self.clock.is_over();
        let (flows, sockets) = running.finish()?;
        report.flows = flows;
        if let Some(watch) = watch {
            let here = self.plan.here.clone().unwrap_or_default();
            report.machine.insert(here, watch.end(sampler.lateness()));
        }
        read.map(|()| Over { sockets, early })
    }

    /// Hosts are told an instant to start at, and other hosts do not wait.
    fn warn_of_delay(&self, report: &mut Report) {
        let late_ns = self.clock.now();
        if late_ns > 0 {
            let message = format!("this host was ready {:.1} ms after the start", late_ns as f64 / 1e6);
            report.warnings.push(message);
        }
    }
}
