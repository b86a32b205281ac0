//! Loads: what else a node's computer does. Each is a process of its own that ends with the agent, so that what it takes is
//! taken from the experiment and from nothing that measures it.
//!
//! The agent starts them a moment before the experiment; they wait for their own instant and end themselves.

mod cgroup;
mod worker;

use std::io::Read;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde_json::Value;

use crate::error::{Context, Error, Result};
use crate::kernel::clock::Clock;
use crate::kernel::sys::process;
use crate::kernel::tool;
use crate::plan::{Load, LoadGenerator, LoadKind, Plan};

use cgroup::Group;
pub use worker::main as work;

/// How long after its time a load may take to end.
const GRACE_NS: i64 = 2_000_000_000;
/// More of what a process complains of helps nobody.
const COMPLAINT_BYTES: u64 = 1000;
const SECOND_NS: i64 = 1_000_000_000;

/// What a load took.
#[derive(Debug, Clone, Serialize)]
pub struct Taken {
    pub name: String,
    pub node: String,
    pub kind: LoadKind,
    /// What its own report says: `cpu_share` of each worker's time; `bytes`, `passes` over them; null of another program.
    pub report: Value,
}

/// Loads that have been started.
#[derive(Debug, Default)]
pub struct Loads(Vec<Running>);

#[derive(Debug)]
struct Running {
    load: Load,
    child: Child,
    output: Option<ChildStdout>,
    // Its folder is removed after the process: see `finish`.
    group: Option<Group>,
}

impl Loads {
    /// Starts those of the plan, or of the one node whose part it is; each waits for its instant.
    ///
    /// # Errors
    /// A program that is not there, memory that the machine does not have, no swap for what shall be swapped.
    pub fn start(plan: &Plan, clock: Clock) -> Result<Self> {
        let mut loads = Self::default();
        let here = |node: &str| plan.here.as_deref().is_none_or(|here| here == node);
        for load in plan.loads.iter().filter(|load| here(&load.node)) {
            let cpus = plan.cpus.get(&load.node).map_or(&[][..], Vec::as_slice);
            let running = begin(load, cpus, clock)
                .map_err(|error| error.at(format!("load {} of node {}", load.name, load.node)))?;
            loads.0.push(running);
        }
        Ok(loads)
    }

    /// Waits for their ends, which lie before that of the experiment or at it.
    pub fn finish(mut self, clock: Clock) -> Result<Vec<Taken>> {
        self.0.drain(..).map(|running| running.finish(clock)).collect()
    }
}

impl Drop for Running {
    /// An experiment that failed takes its loads along.
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
        self.group = None;
    }
}

fn begin(load: &Load, cpus: &[usize], clock: Clock) -> Result<Running> {
    let group = match (load.limit_bytes, load.generator) {
        (Some(limit), LoadGenerator::Agent) => Some(Group::create(limit)?),
        _ => None,
    };
    if let Some(bytes) = load.bytes {
        cgroup::check_memory(bytes, load.limit_bytes)?;
    }
    let orders = worker::Orders {
        kind: load.kind,
        workers: load.workers,
        share: load.share.unwrap_or(1.0),
        bytes: load.bytes.unwrap_or(0),
        cpus: cpus.to_vec(),
        group: group.as_ref().map(|group| group.tasks().to_owned()),
        program: match load.generator {
            LoadGenerator::Agent => Vec::new(),
            LoadGenerator::StressNg => stress_ng(load, cpus)?,
        },
        parent: std::process::id(),
        start_ns: clock.start_ns() + load.start_ns,
        stop_ns: clock.start_ns() + load.stop_ns,
    };
    let text = serde_json::to_string(&orders).unwrap_or_default();
    // Found by what it is, for its file may be gone: the agent of a session unlinks itself.
    let mut command = Command::new("/proc/self/exe");
    command.args(["load", &text]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("start a load")?;
    let output = child.stdout.take();
    Ok(Running { load: load.clone(), child, output, group })
}

/// The words of stress-ng's command line. It lasts whole seconds and is ended with the experiment.
fn stress_ng(load: &Load, cpus: &[usize]) -> Result<Vec<String>> {
    let program = tool::require("stress-ng")?;
    let seconds = (load.stop_ns - load.start_ns + SECOND_NS - 1) / SECOND_NS;
    let workers = |usual: usize| load.workers.map_or(usual, |count| count as usize).to_string();
    let mut words =
        vec![program.display().to_string(), "--quiet".into(), "--timeout".into(), format!("{seconds}s")];
    match load.kind {
        LoadKind::Cpu => {
            let percent = (100.0 * load.share.unwrap_or(1.0)).round();
            // 0: one for each processor.
            words.extend(["--cpu".into(), workers(cpus.len()), "--cpu-load".into(), percent.to_string()]);
        }
        LoadKind::Memory => {
            let each = load.bytes.unwrap_or(0) / u64::from(load.workers.unwrap_or(1).max(1));
            let size = ["--vm-bytes".into(), each.to_string(), "--vm-keep".into()];
            words.extend(["--vm".into(), workers(1)].into_iter().chain(size));
        }
    }
    Ok(words)
}

impl Running {
    fn finish(mut self, clock: Clock) -> Result<Taken> {
        let deadline_ns = self.load.stop_ns + GRACE_NS;
        let ended = loop {
            if let Some(status) = self.child.try_wait().context("wait for a load")? {
                break Some(status);
            }
            // One of another program's making ends when the experiment does.
            let over = self.load.generator == LoadGenerator::StressNg && clock.now() >= self.load.stop_ns;
            if over {
                // Asked, so that it ends what it has started itself.
                process::ask_to_end(self.child.id());
            }
            if clock.now() >= deadline_ns {
                let _gone = self.child.kill();
                break None;
            }
            clock.sleep_until(clock.now() + 5_000_000);
        };
        let mut told = String::new();
        if let Some(output) = &mut self.output {
            output.read_to_string(&mut told).context("read what a load says")?;
        }
        match ended {
            Some(status) if !status.success() && self.load.generator == LoadGenerator::Agent => {
                Err(self.failed(&status.to_string()))
            }
            _ => Ok(Taken {
                name: self.load.name.clone(),
                node: self.load.node.clone(),
                kind: self.load.kind,
                report: serde_json::from_str(&told).unwrap_or(Value::Null),
            }),
        }
    }

    fn failed(&mut self, status: &str) -> Error {
        let mut said = String::new();
        if let Some(complaint) = self.child.stderr.take() {
            let _partly = complaint.take(COMPLAINT_BYTES).read_to_string(&mut said);
        }
        let last = said.lines().last().unwrap_or("it said nothing").to_owned();
        Error::new("load", format!("the load {} ended early ({status}): {last}", self.load.name))
            .at(format!("node {}", self.load.node))
    }
}
