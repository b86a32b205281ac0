//! The process of a load: computes, or writes to memory, from one instant to another, and says what it took.

use std::fs;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::error::{Context, Error, Result};
use crate::kernel::sys::time::thread_cpu_ns;
use crate::kernel::sys::{self, cpu, process};
use crate::plan::LoadKind;

/// A worker computes for its share of each period and sleeps for the rest: short against what people watch, long against
/// what waking up costs.
const PERIOD_NS: i64 = 10_000_000;
/// Pages between two looks at the clock.
const STRIDE: usize = 1024;
/// Steps of computing between two looks at the clock, some microseconds.
const STEPS: u64 = 4096;

/// What the agent asks of the process; instants on `CLOCK_MONOTONIC`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    pub kind: LoadKind,
    pub workers: Option<u32>,
    pub share: f64,
    pub bytes: u64,
    pub cpus: Vec<usize>,
    /// Another program and its words, to be started in the place of this one.
    pub program: Vec<String>,
    /// The process that this one ends with.
    pub parent: u32,
    /// The file that takes the process into its control group.
    pub group: Option<String>,
    pub start_ns: i64,
    pub stop_ns: i64,
}

/// The subcommand; `text` are its [`Orders`] as JSON.
#[must_use]
pub fn main(text: &str) -> ExitCode {
    let orders = serde_json::from_str::<Orders>(text)
        .map_err(|cause| Error::new("load", format!("these are no orders for a load: {cause}")));
    match orders.and_then(|orders| carry_out(&orders)) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(orders: &Orders) -> Result<Value> {
    process::end_with(orders.parent).context("end with the agent")?;
    if let Some(tasks) = &orders.group {
        fs::write(tasks, "0").context(format_args!("enter the control group {tasks}"))?;
    }
    if !orders.cpus.is_empty() {
        cpu::pin(&orders.cpus).context("run on the node's processors")?;
    }
    if let Some((program, words)) = orders.program.split_first() {
        sys::time::sleep_until(orders.start_ns);
        let cause = Command::new(program).args(words).exec();
        return Err(Error::system(format_args!("start {program}"), &cause));
    }
    match orders.kind {
        LoadKind::Cpu => Ok(compute(orders)),
        LoadKind::Memory => touch(orders),
    }
}

/// All workers at once; what share of their time they had.
fn compute(orders: &Orders) -> Value {
    let own = thread::available_parallelism().map_or(1, usize::from);
    let count =
        orders.workers.map_or(if orders.cpus.is_empty() { own } else { orders.cpus.len() }, |n| n as usize);
    let worker = |number: usize| {
        // Each on a processor of its own as far as there are some, so that each has the load that was asked for.
        if let Some(one) = orders.cpus.get(number % orders.cpus.len().max(1)) {
            let _elsewhere = cpu::pin(&[*one]);
        }
        spin(orders)
    };
    let worker = &worker;
    let shares: Vec<f64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || worker(number))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    json!({ "cpu_share": shares })
}

/// Computes for its share of each period, by the time it had and not by the time that passed: another process that takes
/// the processor does not make it stop earlier.
fn spin(orders: &Orders) -> f64 {
    sys::time::sleep_until(orders.start_ns);
    let begun_ns = thread_cpu_ns();
    let mut number = 1_u64;
    let mut period_ns = orders.start_ns;
    while period_ns < orders.stop_ns {
        let due_ns = begun_ns + ((period_ns + PERIOD_NS - orders.start_ns) as f64 * orders.share) as i64;
        let end_ns = (period_ns + PERIOD_NS).min(orders.stop_ns);
        while thread_cpu_ns() < due_ns && sys::time::monotonic_ns() < end_ns {
            for _ in 0..STEPS {
                number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
        sys::time::sleep_until(end_ns);
        period_ns += PERIOD_NS;
    }
    (thread_cpu_ns() - begun_ns) as f64 / (orders.stop_ns - orders.start_ns) as f64
}

/// Writes to every page in turn; how often it came round.
fn touch(orders: &Orders) -> Result<Value> {
    let count = orders.workers.unwrap_or(1).max(1);
    let bytes = (orders.bytes / u64::from(count)) as usize;
    let size = sys::machine::page_size();
    let pass = || -> std::result::Result<f64, String> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(bytes).map_err(|cause| cause.to_string())?;
        sys::time::sleep_until(orders.start_ns);
        memory.resize(bytes, 1_u8);
        let mut pages = 0_u64;
        'out: loop {
            for part in memory.chunks_mut(size * STRIDE) {
                if sys::time::monotonic_ns() >= orders.stop_ns {
                    break 'out;
                }
                part.iter_mut().step_by(size).for_each(|byte| *byte = black_box(byte.wrapping_add(1)));
                pages += part.len().div_ceil(size) as u64;
            }
        }
        Ok(pages as f64 * size as f64 / bytes.max(1) as f64)
    };
    let pass = &pass;
    let passes: std::result::Result<Vec<f64>, String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(pass)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a worker broke down".into())))
            .collect()
    });
    let passes =
        passes.map_err(|cause| Error::new("load", format!("take {bytes} bytes of memory: {cause}")))?;
    Ok(json!({ "bytes": bytes as u64 * u64::from(count), "passes": passes }))
}
