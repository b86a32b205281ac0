//! A host's part of an experiment: prepared, started at an instant, stopped, and its tables handed over.

mod ready;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{json, Value};

use super::arguments::{Arguments, Nothing};
use super::{nothing, Answer, Server};
use crate::error::{Context, Error, Result};
use crate::host::settings::handle::Keeper;
use crate::kernel::clock::Clock;
use crate::lab::Lab;
use crate::plan::Plan;
use crate::reading::Sampler;
use crate::result::Report;
use crate::run::core::Core;
use crate::traffic::load::Loads;
use crate::traffic::{FlowEnd, Sockets};

use ready::Ready;

/// A start is not further off than this.
const FAR_NS: i64 = 3600 * 1_000_000_000;

/// What an experiment that was stopped may take to end.
const STOPPING: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(10);

/// What the session has of an experiment.
#[derive(Default)]
pub struct Slot {
    state: Mutex<State>,
    /// Of the experiment that is running.
    over: Mutex<Option<&'static AtomicBool>>,
}

#[derive(Default)]
enum State {
    #[default]
    Empty,
    Ready(Box<Ready>),
    Running,
    Done(Done),
}

/// What is kept until `forget`.
struct Done {
    out: PathBuf,
    left: Option<(Sockets, Option<Keeper>)>,
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> MutexGuard<'_, Option<&'static AtomicBool>> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what is running. What is waited for comes back soon.
    pub fn stop(&self) {
        if let Some(over) = *self.over() {
            over.store(true, Ordering::SeqCst);
        }
    }

    /// Called when a run has been asked for, before the next request is heard: what is to stop it may come at once.
    pub fn announce(&self) {
        self.flag();
    }

    /// What says that the experiment shall run no longer.
    fn flag(&self) -> &'static AtomicBool {
        // One byte for each experiment of a session, for threads that may outlive it.
        self.over().get_or_insert_with(|| Box::leak(Box::default()))
    }

    /// Takes what is ready, leaves word that it is running, and gives what says that it shall run no longer.
    fn begin(&self) -> Result<(Box<Ready>, &'static AtomicBool)> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Running) {
            State::Ready(ready) => Ok((ready, self.flag())),
            other => {
                if !matches!(other, State::Running) {
                    *self.over() = None;
                }
                let message = match other {
                    State::Running => "an experiment is running already",
                    State::Done(_) => "this experiment is over: prepare another one",
                    _ => "nothing is prepared",
                };
                *state = other;
                Err(Error::new("protocol", message))
            }
        }
    }

    fn end(&self, done: Done) {
        let mut state = self.state();
        *state = State::Done(done);
        *self.over() = None;
    }

    /// Whether something runs that was told to stop.
    fn is_stopping(&self) -> bool {
        self.over().is_some_and(|over| over.load(Ordering::SeqCst))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prepare {
    plan: Value,
    here: String,
}

/// Opens sockets, builds the emulator's queues, measures idle round trips: when this is answered, `run` only waits.
pub fn prepare(server: &Server, arguments: Arguments) -> Result<Answer> {
    let asked: Prepare = arguments.read()?;
    let mut state = server.part.state();
    match &*state {
        State::Running => return Err(Error::new("protocol", "an experiment is running: stop it first")),
        State::Ready(_) | State::Done(_) => {
            return Err(Error::new("protocol", "there is an experiment already: forget it first"))
        }
        State::Empty => {}
    }
    let plan = Plan::parse(&asked.plan.to_string())?.part(&asked.here)?;
    let out = server.scratch.join("experiment");
    let ready = fs::create_dir_all(out.join("raw"))
        .context("create the folder of raw tables")
        .and_then(|()| Ready::new(server, plan, &out))
        .inspect_err(|_| drop(fs::remove_dir_all(&out)))?;
    let warnings = ready.report.warnings.clone();
    *state = State::Ready(Box::new(ready));
    Ok(Answer::from(json!({ "warnings": warnings })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    start_clock_ns: i64,
}

/// Runs what is ready from an instant of this host's monotonic clock; answers with the result when it is over.
pub fn run(server: &Server, arguments: Arguments) -> Result<Answer> {
    let asked: Run = arguments.read()?;
    let (ready, over) = server.part.begin()?;
    let out = ready.out.clone();
    let outcome = carry_out(*ready, Clock::interruptible(asked.start_clock_ns, over));
    let (left, outcome) = match outcome {
        Ok((report, left)) => (Some(left), Ok(report)),
        Err(error) => (None, Err(error)),
    };
    server.part.end(Done { out, left });
    let report = outcome?;
    let document = serde_json::to_value(report);
    Ok(Answer::from(document.map_err(|cause| Error::new("system", format!("write the result: {cause}")))?))
}

fn carry_out(mut ready: Ready, clock: Clock) -> Result<(Report, (Sockets, Option<Keeper>))> {
    check_start(clock)?;
    let (plan, nodes, raw) = (&ready.plan, &ready.nodes, ready.out.join("raw"));
    let report = &mut ready.report;
    report.start_clock_ns = clock.start_ns();
    if let Some(trace) = &ready.trace {
        trace.count_from(clock);
    }
    ready.topology.count_wires_from(0)?;
    let mut sampler = Sampler::start(plan, &ready.topology, nodes, clock, &ready.out, None)?;
    let loads = Loads::start(plan, clock)?;
    let core = Core { lab: Lab::Machine, plan, nodes, clock, raw: &raw };
    let over = core.drive(ready.flows, &mut sampler, report)?;
    report.flows.iter_mut().for_each(|end| add_advice(plan, end));
    sampler.finish()?;
    if let Some(trace) = ready.trace {
        report.lost_events = trace.finish()?;
    }
    if over.early {
        return Err(Error::new("stopped", "the experiment was stopped before its end"));
    }
    report.loads = loads.finish(clock)?;
    report.ok = true;
    Ok((ready.report, (over.sockets, ready.emulator)))
}

/// On a path of others silence is often a firewall's.
fn add_advice(plan: &Plan, end: &mut FlowEnd) {
    const SILENCES: [&str; 3] = ["no answer before its end", "timed out", "No route to host"];
    let Some(flow) = plan.flows.iter().find(|flow| flow.id == end.id && flow.dport > 0) else { return };
    if let Some(error) = end.error.as_mut().filter(|error| SILENCES.iter().any(|what| error.contains(what))) {
        *error = format!("{error}; does a firewall let port {} of {} through?", flow.dport, flow.dst);
    }
}

fn check_start(clock: Clock) -> Result<()> {
    let early_ns = -clock.now();
    if early_ns < 0 {
        let message = format!("the start was {} ms ago when it was asked for", -early_ns / 1_000_000);
        return Err(Error::new("late", message).hint("Leave more time between asking and starting."));
    }
    if early_ns > FAR_NS {
        let message = format!("the start is {} s off", early_ns / 1_000_000_000);
        return Err(Error::new("protocol", message).hint("It is counted on this host's monotonic clock."));
    }
    Ok(())
}

/// Ends a running experiment before its time; `run` is then answered with an error of kind `stopped`.
pub fn stop(server: &Server, arguments: Arguments) -> Result<Answer> {
    arguments.read::<Nothing>()?;
    server.part.stop();
    Ok(nothing())
}

/// The tables of the experiment that is over, and other files of it, with their sizes.
pub fn tables(server: &Server, arguments: Arguments) -> Result<Answer> {
    arguments.read::<Nothing>()?;
    let state = server.part.state();
    let State::Done(done) = &*state else { return Err(no_tables()) };
    let tables: Vec<Value> =
        files(&done.out)?.into_iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect();
    Ok(Answer::from(json!({ "tables": tables })))
}

fn no_tables() -> Error {
    Error::new("protocol", "there are no tables: no experiment is over")
}

/// What is in the folder of raw tables, by name.
fn files(out: &Path) -> Result<BTreeMap<String, u64>> {
    let entries = fs::read_dir(out.join("raw")).context("list the raw tables")?;
    let sizes = entries.map(|entry| {
        let entry = entry?;
        let bytes = entry.metadata()?.len();
        Ok((format!("raw/{}", entry.file_name().to_string_lossy()), bytes))
    });
    sizes.collect::<std::io::Result<_>>().context("list the raw tables")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fetch {
    name: String,
}

/// One of the [`tables`], as bytes.
pub fn fetch(server: &Server, arguments: Arguments) -> Result<Answer> {
    let asked: Fetch = arguments.read()?;
    let out = match &*server.part.state() {
        State::Done(done) => done.out.clone(),
        _ => return Err(no_tables()),
    };
    let known = files(&out)?;
    let Some(bytes) = known.get(&asked.name) else {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        return Err(Error::new("protocol", format!("there is no table {:?}", asked.name))
            .hint(format!("There are: {}.", names.join(" "))));
    };
    let file = fs::File::open(out.join(&asked.name)).context(format_args!("open {}", asked.name))?;
    Ok(Answer { value: json!({}), bytes: Some((file, *bytes)) })
}

/// Closes what is open and removes what was written; then another experiment can be prepared.
pub fn forget(server: &Server, arguments: Arguments) -> Result<Answer> {
    arguments.read::<Nothing>()?;
    let patience = Instant::now() + STOPPING;
    while server.part.is_stopping() && Instant::now() < patience {
        thread::sleep(LOOK);
    }
    drop_all(&server.part)?;
    Ok(nothing())
}

/// Forgets all, unless it is running.
pub fn drop_all(slot: &Slot) -> Result<()> {
    let mut state = slot.state();
    match std::mem::take(&mut *state) {
        State::Empty => Ok(()),
        State::Running => {
            *state = State::Running;
            Err(Error::new("protocol", "the experiment is running: stop it first"))
        }
        State::Ready(ready) => {
            let out = ready.out.clone();
            drop(ready);
            remove(&out)
        }
        State::Done(done) => {
            drop(done.left);
            remove(&done.out)
        }
    }
}

fn remove(out: &Path) -> Result<()> {
    fs::remove_dir_all(out).context(format_args!("remove {}", out.display()))
}
