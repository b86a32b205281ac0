//! Threads for flows that come and go: as many as there are flows at once, not as many as there are flows.
//!
//! Every node has a pool. One of its threads leads: it sleeps until the next flow is due, makes another one leader and drives the
//! flow itself; a thread whose flow is over waits to lead again. Sockets are opened when they are needed: a listener
//! a moment before its flow starts, the sender's at its start.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Context, Result};
use crate::kernel::sys;
use crate::kernel::sys::socket::Shutdown;
use crate::plan::{Flow, Generator, Kind, Plan};
use crate::traffic::FlowEnd;

use super::schedule::Switch;
use super::{tcp, Outcomes, Side, Stage, Task};

/// How long before its flow a listener is there.
const AHEAD_NS: i64 = 10_000_000;

/// One end of a flow, and when a thread must take it up.
#[derive(Debug)]
struct Job {
    due_ns: i64,
    flow: Arc<Flow>,
    side: Side,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    running: BTreeMap<(u32, bool), Arc<Switch>>,
    /// Threads that wait to lead.
    idle: usize,
    /// One of them shall.
    called: bool,
    halted: bool,
    /// Of flows that were halted, to be closed when all are.
    ended: Vec<Arc<Switch>>,
    /// Nobody will be called any more.
    released: bool,
}

/// The flows' ends of one node.
#[derive(Debug)]
pub(super) struct Pool {
    netns: OwnedFd,
    duration_ns: i64,
    /// Whether other experiments follow in this process.
    part: bool,
    cpus: Arc<[usize]>,
    state: Mutex<State>,
    call: Condvar,
}

/// Whether a flow ends by itself, so that a pool may drive it.
pub(super) fn takes(flow: &Flow) -> bool {
    let ends = flow.bytes.is_some() && flow.stop_ns.is_none() && flow.leave_ns.is_none();
    flow.kind == Kind::Tcp && flow.generator == Generator::Agent && ends
}

impl Pool {
    /// Takes up the ends that are in the node it is called in. One flow of each sort is opened and closed again, so that what
    /// the kernel refuses is said before the experiment.
    pub fn new(mut ends: Vec<(Arc<Flow>, Side)>, plan: &Plan, cpus: &[usize]) -> Result<Self> {
        let duration_ns = plan.duration_ns;
        let mut sorts = Vec::new();
        for (flow, side) in &ends {
            let sort = (*side, flow.cc.clone(), flow.receiver_cc.clone());
            if !sorts.contains(&sort) {
                sorts.push(sort);
                tcp::open(flow, *side, duration_ns)
                    .map_err(|error| error.at(format!("flow {} ({} → {})", flow.name, flow.from, flow.to)))?;
            }
        }
        ends.retain(|(flow, _)| flow.start_ns < duration_ns);
        let job = |(flow, side): (Arc<Flow>, Side)| {
            let ahead_ns = if side == Side::To { AHEAD_NS } else { 0 };
            Job { due_ns: flow.start_ns - ahead_ns, flow, side }
        };
        let mut jobs: Vec<Job> = ends.into_iter().map(job).collect();
        jobs.sort_by_key(|job| (job.due_ns, job.flow.id));
        let netns = sys::namespaces::current_netns().context("open the network namespace of a node")?;
        let state = Mutex::new(State { jobs: jobs.into(), ..State::default() });
        let (part, cpus) = (plan.is_part(), Arc::from(cpus));
        Ok(Self { netns, duration_ns, part, cpus, state, call: Condvar::new() })
    }

    /// How many outcomes there will be.
    pub fn len(&self) -> usize {
        self.state().jobs.len()
    }

    /// Starts the first thread; the others follow as flows overlap.
    pub fn start(self: &Arc<Self>, stage: &Stage, outcomes: &Arc<Outcomes>) -> Result<()> {
        let (pool, stage, outcomes) = (Arc::clone(self), stage.clone(), Arc::clone(outcomes));
        super::spawn(move || {
            if let Err(cause) = sys::namespaces::enter_netns(&pool.netns) {
                pool.give_up(&outcomes, &cause.to_string());
            }
            super::stay_on(&pool.cpus);
            pool.lead(&stage, &outcomes);
        })
    }

    /// See [`Switch::say_over`].
    pub fn say_over(&self) {
        let mut now = self.state();
        now.halted = true;
        now.running.values().for_each(|switch| switch.say_over());
    }

    /// Shuts down what still goes on. What has not begun by now never will.
    pub fn halt(&self) {
        self.state().running.values().for_each(|switch| switch.halt(Shutdown::Both));
    }

    /// Closes what was halted, by a reset, and lets threads go that wait to lead.
    pub fn release(&self) {
        let mut now = self.state();
        now.released = true;
        let ended = std::mem::take(&mut now.ended);
        drop(now);
        self.call.notify_all();
        for switch in ended {
            switch.reset();
        }
    }

    fn lead(self: &Arc<Self>, stage: &Stage, outcomes: &Arc<Outcomes>) {
        loop {
            let Some(job) = self.state().jobs.pop_front() else { return };
            stage.clock.sleep_until(job.due_ns);
            if self.state().halted {
                outcomes.tell(FlowEnd { id: job.flow.id, ..FlowEnd::default() });
                continue;
            }
            let task = tcp::end(&job.flow, job.side, self.duration_ns);
            self.call_another(stage, outcomes);
            let end = match task {
                Ok(task) => self.drive(task, job.side, stage),
                Err(error) => FlowEnd { error: Some(error.to_string()), ..FlowEnd::default() },
            };
            outcomes.tell(FlowEnd { id: job.flow.id, ..end });
            let mut now = self.state();
            now.idle += 1;
            while !now.called {
                if now.released {
                    return;
                }
                now = self.call.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            now.called = false;
            now.idle -= 1;
        }
    }

    /// Finds another leader, if there is still something to wait for.
    fn call_another(self: &Arc<Self>, stage: &Stage, outcomes: &Arc<Outcomes>) {
        let mut now = self.state();
        if now.jobs.is_empty() {
            return;
        }
        if now.idle > 0 {
            now.called = true;
            self.call.notify_one();
            return;
        }
        drop(now);
        let (pool, with, to) = (Arc::clone(self), stage.clone(), Arc::clone(outcomes));
        // A new thread is where its maker is: in the node.
        if let Err(error) = super::spawn(move || pool.lead(&with, &to)) {
            self.give_up(outcomes, &error.to_string());
        }
    }

    /// No thread will lead again: all that waits fails with this.
    fn give_up(&self, outcomes: &Outcomes, why: &str) {
        let jobs = std::mem::take(&mut self.state().jobs);
        for job in jobs {
            outcomes.tell(FlowEnd { id: job.flow.id, error: Some(why.to_owned()), ..FlowEnd::default() });
        }
    }

    /// One end of a flow, to its last byte or to the end of all.
    fn drive(&self, task: Task, side: Side, stage: &Stage) -> FlowEnd {
        let place = (task.flow, side == Side::To);
        let mut now = self.state();
        if now.halted {
            return FlowEnd::default();
        }
        now.running.insert(place, Arc::clone(&task.switch));
        drop(now);
        let end = (task.work)(stage);
        let mut now = self.state();
        let switch = now.running.remove(&place);
        if now.halted && self.part {
            now.ended.extend(switch);
        }
        end
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
