//! Programs: what a scenario runs on its nodes beside the agent's own flows.
//!
//! ```text
//! agent ─ a thread for each ─▶ program, in its node's network, with mounts of its own
//!            ▲ its output, line by line with the virtual time ─▶ raw/output.jsonl
//! ```
//!
//! Computing takes a program no virtual time; what it waits for does.

mod order;
mod output;
mod running;
mod screen;
pub(crate) mod world;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use serde::Serialize;

use crate::error::{Context, Error, Result};
use crate::kernel::clock::Clock;
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::lab::Lab;
use crate::plan::Plan;

/// What is left to a process that has ended: its last thread still takes its entries out of `/proc`, and who waits for it meanwhile
/// and comes first would spin in the kernel for ever.
pub(crate) const LAST_NS: i64 = 1_000_000;

use order::Order;
use output::Output;
use running::Running;
use world::World;

/// How a program came out.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outcome {
    pub id: usize,
    pub name: String,
    pub node: String,
    pub started_ns: Option<i64>,
    pub ready_ns: Option<i64>,
    pub ended_ns: Option<i64>,
    /// Its exit status, or the signal that ended it.
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    /// Whether it was asked to end.
    pub stopped: bool,
    pub lines: u64,
    pub bytes: u64,
    /// Of its output, what was more than a record takes.
    pub dropped_bytes: u64,
    /// Why it did not begin, or did not end as it had to.
    pub error: Option<String>,
}

/// Programs that wait for their instant, or run.
pub struct Programs {
    threads: Vec<JoinHandle<Outcome>>,
    /// All see its other end close when the experiment is over.
    alive: Option<OwnedFd>,
}

/// A clock that the end of programs can stop before its time, where the plan says so.
#[must_use]
pub fn clock(plan: &Plan, start_ns: i64) -> Clock {
    if plan.programs.iter().any(|program| program.until_exit) {
        return Clock::interruptible(start_ns, Box::leak(Box::new(AtomicBool::new(false))));
    }
    Clock::starting_at(start_ns)
}

impl Programs {
    /// Lays out what programs find, and starts a thread for each, which waits for its instant. `None`: there are none.
    ///
    /// # Errors
    /// A folder or a thread that cannot be made.
    pub fn start(lab: Lab, plan: &Plan, nodes: &Nodes, clock: Clock, raw: &Path) -> Result<Option<Self>> {
        if plan.programs.is_empty() {
            return Ok(None);
        }
        let terminal = raw.parent().and_then(screen::asked_for);
        if terminal.is_some() {
            screen::furnish()?;
        }
        let world = Arc::new(World::prepare(lab, &plan.names, &plan.tools)?);
        let (over, alive) = sys::files::pipe(1).context("make a pipe")?;
        let over = Arc::new(over);
        let output = Arc::new(Output::create(raw)?);
        let order = Arc::new(Order::of(&plan.programs));
        let mut threads = Vec::new();
        for program in &plan.programs {
            let node = nodes.get(&program.node)?.try_clone().context("keep a node")?;
            let folder = world.folder(program)?;
            let running = Running {
                view: world.view(program, &plan.tools, &folder)?,
                folder,
                world: Arc::clone(&world),
                program: program.clone(),
                node,
                clock,
                duration_ns: plan.duration_ns,
                output: Arc::clone(&output),
                order: Arc::clone(&order),
                over: Arc::clone(&over),
                terminal: terminal.clone().filter(|_| program.id + 1 == plan.programs.len()),
            };
            let thread = thread::Builder::new().spawn(move || running.run());
            threads.push(thread.context("start a thread for a program")?);
        }
        Ok(Some(Self { threads, alive: Some(alive) }))
    }

    /// Asks those that still run to end, and waits for them.
    ///
    /// # Errors
    /// A fault of the agent.
    pub fn finish(mut self) -> Result<Vec<Outcome>> {
        drop(self.alive.take());
        let broken = |_| Error::new("program", "the thread for a program broke down");
        self.threads.into_iter().map(|thread| thread.join().map_err(broken)).collect()
    }
}
