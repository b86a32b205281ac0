//! A tracer of our own on a kernel that is not ours: its own ring for every CPU, its own switches
//! (`Documentation/trace/ftrace.rst`, "Instances"). The machine's own tracer is not touched.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Sink, TRACEFS};
use crate::error::{Context, Error, Result};
use crate::kernel::leftover::{sweep, Leftover};
use crate::kernel::sys;

pub const PREFIX: &str = "rushhour-";
/// Memory for all rings together, and of one of them.
const ALL_KIB: usize = 64 << 10;
const ONE_KIB: std::ops::RangeInclusive<usize> = 512..=4096;
/// A ring of 4 MiB lasts a hundred times as long at 100 000 events a second.
const LOOK: Duration = Duration::from_millis(20);

/// The tracer's folder; it goes when this does.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Instance {
    /// Removes the folders of processes that are no more.
    pub fn sweep() {
        sweep(&Path::new(TRACEFS).join("instances"), PREFIX, Leftover::Instance);
    }

    /// Removes the folder that its process did not take away.
    pub fn remove(name: &str) {
        let _there_is_none = Leftover::Instance(Path::new(TRACEFS).join("instances").join(name)).remove();
    }

    /// Makes the folder, and removes those of processes that are no more. `keep` is told of it before.
    ///
    /// # Errors
    /// A kernel without a tracer, or no right to it.
    pub fn make(keep: &dyn Fn(Leftover)) -> Result<Self> {
        let instances = Path::new(TRACEFS).join("instances");
        if !instances.is_dir() {
            return Err(Error::new("trace", format!("there is no {}", instances.display())).hint(
                "The kernel needs CONFIG_FTRACE and tracefs mounted there, and reading it takes root.",
            ));
        }
        Self::sweep();
        let given = std::env::var(super::TRACER).ok();
        let folder = instances.join(given.unwrap_or_else(super::tracer_name));
        keep(Leftover::Instance(folder.clone()));
        fs::create_dir(&folder).context(format_args!("create {}", folder.display()))?;
        Ok(Self { folder, over: Arc::default(), reader: None })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Of each ring, in KiB.
    pub fn ring_kib(&self) -> usize {
        (ALL_KIB / self.rings().len().max(1)).clamp(*ONE_KIB.start(), *ONE_KIB.end())
    }

    /// The CPUs' rings.
    pub fn rings(&self) -> Vec<PathBuf> {
        let cpus = fs::read_dir(self.folder.join("per_cpu")).into_iter().flatten().flatten();
        cpus.map(|cpu| cpu.path().join("trace_pipe_raw")).collect()
    }

    /// Empties the rings from time to time, and once more at the end.
    pub fn spawn_reader(&mut self, sink: &Arc<Mutex<Sink>>) -> Result<()> {
        let open = |path: PathBuf| sys::files::open_nonblocking(&path).context("open a trace ring");
        let rings = self.rings().into_iter().map(open).collect::<Result<Vec<File>>>()?;
        let (over, sink) = (Arc::clone(&self.over), Arc::clone(sink));
        let read = move || loop {
            let last = over.load(Ordering::SeqCst);
            for ring in &rings {
                empty(ring, &sink);
            }
            if last {
                return;
            }
            thread::sleep(LOOK);
        };
        let reader = thread::Builder::new().spawn(read).context("start the trace reader")?;
        self.reader = Some(reader);
        Ok(())
    }

    /// Waits for the reader's last round.
    pub fn finish(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            let _ended = reader.join();
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.finish();
        let _the_keeper_tries_again = Leftover::Instance(self.folder.clone()).remove();
    }
}

fn empty(ring: &File, sink: &Mutex<Sink>) {
    let mut page = vec![0; sys::machine::page_size()];
    while let Ok(length @ 1..) = sys::files::read(ring, &mut page) {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = sink.take(&page[..length]) {
            sink.broken.get_or_insert(error);
            return;
        }
    }
}
