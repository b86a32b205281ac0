//! Flows: sockets are opened before the start, then one blocking thread per flow end does the rest.
//!
//! A visit from user space to a virtual kernel costs as much host time as four packets, so no thread comes back per packet:
//! senders hand over megabytes, receivers wait inside the kernel ([`crate::kernel::sys::socket::discard`],
//! [`crate::kernel::sys::socket::receive_batch`]). Every end is a [`Task`]: work that blocks, and a [`Switch`] that ends it from outside.

mod end;
mod holder;
mod iperf3;
pub mod load;
pub(crate) mod options;
mod payload;
mod pool;
mod schedule;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::kernel::clock::Clock;
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::kernel::sys::socket::Shutdown;
use crate::plan::{Flow, Generator, Kind, Plan};

pub use end::FlowEnd;
use pool::Pool;
use schedule::{Stop, Switch};
use tables::Tables;

include!(concat!(env!("OUT_DIR"), "/drivers.rs"));
drivers!();

/// Sockets of a flow, and what else the agent holds open.
const FILES_A_FLOW: u64 = 4;
const OTHER_FILES: u64 = 1024;

/// How long the end of all threads is waited for after everything was shut down.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    From,
    To,
}

/// What every thread of a flow is given at its start.
#[derive(Debug, Clone)]
struct Stage {
    clock: Clock,
    tables: Arc<Tables>,
}

type Work = Box<dyn FnOnce(&Stage) -> FlowEnd + Send>;

/// One end of a flow: work that blocks, the switch that ends it, and the planned end of sending.
struct Task {
    flow: u32,
    work: Work,
    switch: Arc<Switch>,
    stop: Option<Stop>,
}

/// Flows whose sockets are open and bound, ready to start.
pub struct Prepared {
    flows: Vec<u32>,
    kinds: Vec<Kind>,
    tasks: Vec<(Side, Task)>,
    /// The CPUs of each task's node; none: any.
    cpus: Vec<Arc<[usize]>>,
    pools: Vec<Arc<Pool>>,
    duration_ns: i64,
    /// Whether other hosts have the other sides, whose clocks are not quite ours.
    part: bool,
}

/// Flows that have been started. Dropped before [`Self::finish`], it ends them: no way out of an experiment leaves one.
pub struct Running {
    flows: Vec<u32>,
    sockets: Sockets,
    outcomes: Arc<Outcomes>,
    tables: Arc<Tables>,
    clock: Clock,
    part: bool,
    halted: bool,
}

/// The sockets of flows that are over, and the threads that wait for more of them.
///
/// Dropping it closes and ends them at once: what senders had not yet got rid of is dropped, and no connection waits for
/// stragglers on a port that the next experiment may want.
#[derive(Default)]
pub struct Sockets {
    switches: Vec<(Side, Arc<Switch>)>,
    pools: Vec<Arc<Pool>>,
}

impl Sockets {
    /// Leaves them to the end of this process, which closes them anyway: it would be a call for each.
    pub fn abandon(self) {
        std::mem::forget(self);
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.switches.iter().for_each(|(_, switch)| switch.reset());
        self.pools.iter().for_each(|pool| pool.release());
        sys::thread::reap();
    }
}

/// What flows' threads report at their end; the last of them wakes who waits for all.
#[derive(Debug, Default)]
struct Outcomes {
    told: Mutex<Told>,
    whole: Condvar,
}

#[derive(Debug, Default)]
struct Told {
    ends: BTreeMap<u32, FlowEnd>,
    missing: usize,
}

impl Outcomes {
    fn expect(&self, more: usize) {
        self.told().missing += more;
    }

    /// So many will not be told after all.
    fn expect_not(&self, fewer: usize) {
        self.told().missing -= fewer;
    }

    fn tell(&self, end: FlowEnd) {
        let mut told = self.told();
        merge(told.ends.entry(end.id).or_default(), end);
        told.missing -= 1;
        if told.missing == 0 {
            self.whole.notify_one();
        }
    }

    /// Waits until everything expected has been told; `None` when that takes longer than [`PATIENCE`].
    fn wait(&self) -> Option<BTreeMap<u32, FlowEnd>> {
        let waited = self.whole.wait_timeout_while(self.told(), PATIENCE, |told| told.missing > 0);
        let (mut told, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (!timeout.timed_out()).then(|| std::mem::take(&mut told.ends))
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens listeners and binds sockets, node by node, so that starting a flow is nothing but its first packet. Reports of
/// programs that generate flows go to the folder `raw`.
///
/// # Errors
/// A congestion control the kernel does not have, an address that is no node's, a flow that says too little.
pub fn prepare(plan: &Plan, nodes: &Nodes, raw: &Path) -> Result<Prepared> {
    let files = OTHER_FILES + FILES_A_FLOW * plan.flows.len() as u64;
    sys::limits::allow_open_files(files).context(format_args!("open {files} files at once"))?;
    let (mut tasks, mut cpus, mut pools) = (Vec::new(), Vec::new(), Vec::new());
    for node in &plan.nodes {
        let here = |name: &str| name == node.name;
        if !plan.flows.iter().any(|flow| here(&flow.from) || here(&flow.to)) {
            continue;
        }
        let own: Arc<[usize]> = plan.cpus.get(&node.name).map_or(&[][..], Vec::as_slice).into();
        nodes.within(&node.name, || {
            let mut pooled = Vec::new();
            for flow in &plan.flows {
                if pool::takes(flow) {
                    let sides = [(&flow.to, Side::To), (&flow.from, Side::From)];
                    let mine = sides.into_iter().filter(|(name, _)| here(name));
                    pooled.extend(mine.map(|(_, side)| (Arc::new(flow.clone()), side)));
                    continue;
                }
                let place = || format!("flow {} ({} → {})", flow.name, flow.from, flow.to);
                for (name, side) in [(&flow.to, Side::To), (&flow.from, Side::From)] {
                    if here(name) {
                        let opened = open(flow, side, plan.duration_ns, raw).map_err(|e| e.at(place()))?;
                        tasks.extend(opened.into_iter().map(|task| (side, task)));
                    }
                }
            }
            if !pooled.is_empty() {
                pools.push(Arc::new(Pool::new(pooled, plan, &own)?));
            }
            Ok(())
        })?;
        cpus.resize(tasks.len(), own);
    }
    let flows = plan.flows.iter().filter(|flow| flow.is_driven()).map(|flow| flow.id).collect();
    let own = plan.flows.iter().filter(|flow| flow.generator == Generator::Agent);
    let kinds = own.map(|flow| flow.kind).collect();
    let part = plan.is_part();
    Ok(Prepared { flows, kinds, tasks, cpus, pools, duration_ns: plan.duration_ns, part })
}

/// The tasks of one side of a flow; called inside that side's node.
fn open(flow: &Flow, side: Side, duration_ns: i64, raw: &Path) -> Result<Vec<Task>> {
    if flow.generator == Generator::Iperf3 {
        return iperf3::open(flow, side, duration_ns, raw).map(|task| vec![task]);
    }
    drive(flow, side, duration_ns)
}

impl Prepared {
    /// Spawns the threads, which wait for their flow's own instant. Call it before the clock's start; tables of
    /// datagrams and transactions go to the folder `raw`.
    ///
    /// # Errors
    /// A thread or a table that cannot be made. What was started before is ended then.
    pub fn start(self, clock: Clock, raw: &Path) -> Result<Running> {
        // Threads inherit the slack: 1 ns, or every paced packet would be up to 50 µs late.
        sys::time::set_timer_slack(1).context("set the timer slack")?;
        let tables = Arc::new(Tables::create(raw, &self.kinds)?);
        let mut running = Running {
            flows: self.flows,
            sockets: Sockets::default(),
            outcomes: Arc::default(),
            tables,
            clock,
            part: self.part,
            halted: false,
        };
        let mut stops = Vec::new();
        for ((side, task), cpus) in self.tasks.into_iter().zip(self.cpus) {
            // What ends with the experiment is ended with everything else.
            let early = task.stop.filter(|stop| stop.at_ns < self.duration_ns);
            stops.extend(early.map(|stop| (stop, Arc::clone(&task.switch))));
            running.begin(side, task, cpus)?;
        }
        if !stops.is_empty() {
            spawn(move || schedule::run(clock, stops))?;
        }
        self.pools.iter().try_for_each(|pool| running.begin_pool(pool))?;
        Ok(running)
    }
}

/// Keeps this thread on its node's CPUs, if it has any.
fn stay_on(cpus: &[usize]) {
    if !cpus.is_empty() {
        // One that this process may not use is no reason to end: what it costs is measured.
        let _ = sys::cpu::pin(cpus);
    }
}

/// Waits for an instant of a flow's own schedule; gives `false`, at `end_ns`, when that comes first.
fn wait(clock: Clock, due_ns: i64, end_ns: i64) -> bool {
    clock.sleep_until(due_ns.min(end_ns));
    due_ns < end_ns
}

/// Starts a thread on its own: its outcome tells its end, and joining a thousand would cost a thousand calls.
fn spawn(work: impl FnOnce() + Send + 'static) -> Result<()> {
    sys::thread::spawn(work)
        .context("start a thread for a flow")
        .map_err(|error| error.hint("Give the lab more memory or the scenario fewer flows"))
}

impl Running {
    fn stage(&self) -> Stage {
        Stage { clock: self.clock, tables: Arc::clone(&self.tables) }
    }

    /// Starts the thread of one end.
    fn begin(&mut self, side: Side, task: Task, cpus: Arc<[usize]>) -> Result<()> {
        let Task { flow, work, switch, .. } = task;
        let (stage, report, holder) = (self.stage(), Arc::clone(&self.outcomes), Arc::clone(&switch));
        self.sockets.switches.push((side, switch));
        self.expecting(1, move || {
            spawn(move || {
                stay_on(&cpus);
                let outcome = work(&stage);
                holder.release();
                report.tell(FlowEnd { id: flow, ..outcome });
            })
        })
    }

    fn begin_pool(&mut self, pool: &Arc<Pool>) -> Result<()> {
        let (stage, outcomes) = (self.stage(), Arc::clone(&self.outcomes));
        self.sockets.pools.push(Arc::clone(pool));
        self.expecting(pool.len(), || pool.start(&stage, &outcomes))
    }

    /// Starts what will tell so many ends; when it cannot be started nobody waits for them.
    fn expecting(&self, ends: usize, start: impl FnOnce() -> Result<()>) -> Result<()> {
        self.outcomes.expect(ends);
        start().inspect_err(|_| self.outcomes.expect_not(ends))
    }

    /// Shuts down whatever still goes on.
    fn halt(&mut self) {
        let Sockets { switches, pools } = &self.sockets;
        for (_, switch) in switches {
            switch.say_over();
        }
        for pool in pools {
            pool.say_over();
        }
        for (side, switch) in switches {
            switch.halt(self.how(*side));
        }
        for pool in pools {
            pool.halt();
        }
        self.clock.end();
        self.halted = true;
    }

    /// Shuts down whatever still goes on, collects how every flow ended and completes the raw tables. Call it at the end of the
    /// experiment, after the last sample.
    ///
    /// # Errors
    /// A raw table that cannot be written. Flows that failed are data: [`FlowEnd::error`].
    pub fn finish(mut self) -> Result<(Vec<FlowEnd>, Sockets)> {
        self.halt();
        let Some(mut ends) = self.outcomes.wait() else {
            let message = "a flow's thread did not end after its sockets were shut down";
            return Err(Error::new("flow", message)
                .hint("MPTCP of Linux 5.10 does so; elsewhere please report the scenario"));
        };
        self.tables.flush()?;
        let end = |id| ends.remove(&id).unwrap_or(FlowEnd { id, ..FlowEnd::default() });
        let found = self.flows.iter().copied().map(end).collect();
        Ok((found, std::mem::take(&mut self.sockets)))
    }

    /// How a side is ended. A receiver that closed both directions would reset a sender whose clock is a little behind.
    fn how(&self, side: Side) -> Shutdown {
        if self.part && side == Side::To {
            Shutdown::Read
        } else {
            Shutdown::Both
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.halted {
            return;
        }
        self.halt();
        // Threads that sleep by a clock that cannot be interrupted end with this process.
        if self.clock.is_over() {
            let _nobody_reads = self.outcomes.wait();
        }
    }
}

/// Both ends of a flow know different things about it; the first error stays.
fn merge(known: &mut FlowEnd, mut news: FlowEnd) {
    known.id = news.id;
    known.connected_ns = known.connected_ns.or(news.connected_ns);
    known.sender_done_ns = known.sender_done_ns.or(news.sender_done_ns);
    known.receiver_done_ns = known.receiver_done_ns.or(news.receiver_done_ns);
    known.bytes_sent = known.bytes_sent.or(news.bytes_sent);
    known.bytes_received = known.bytes_received.or(news.bytes_received);
    known.packets_sent = known.packets_sent.or(news.packets_sent);
    known.packets_received = known.packets_received.or(news.packets_received);
    known.zerocopy_sends = known.zerocopy_sends.or(news.zerocopy_sends);
    known.zerocopy_copied = known.zerocopy_copied.or(news.zerocopy_copied);
    known.zerocopy_refused = known.zerocopy_refused.or(news.zerocopy_refused);
    known.sends_refused = known.sends_refused.or(news.sends_refused);
    known.corrupted_bytes = known.corrupted_bytes.or(news.corrupted_bytes);
    known.first_corrupted = known.first_corrupted.or(news.first_corrupted);
    known.reads = known.reads.or(news.reads);
    known.classes.append(&mut news.classes);
    known.error = known.error.take().or(news.error);
}
