//! Kernel events: reads the trace ring as the kernel wrote it and keeps each event as one row of a raw table.
//!
//! The clock is `mono`, the experiment's own. Reading it costs nothing in soft-interrupt context, where nearly every
//! event of TCP happens; in process context it moves a virtual kernel on by 256 ns (`docs/labs.md` says what that does).

mod format;
mod instance;
mod ring;
mod sink;
mod states;

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::error::{Context, Result, UNSUPPORTED};
use crate::kernel::clock::Clock;
use crate::kernel::leftover::{own_name, Leftover};
use crate::kernel::sys;
use crate::plan::{Flow, Generator, Kind, Plan, Readings, FIRST_PORT, LAST_PORT};
use crate::reading::found::Shared;
use crate::record::table;

use instance::Instance;
use sink::{Followed, Sink};

/// Environment: the name of the tracer that this agent makes, given by who will take it away if the agent cannot. In a
/// namespace of process numbers the agent's own number says nothing outside.
pub const TRACER: &str = "RUSHHOUR_TRACER";

/// Where the agent finds the trace file system.
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// Room for about 28 000 events; the reader is woken when it is half full. Each page of it is made ready before the start, so
/// that an experiment of which few events are to be expected has less.
const RING_KIB: usize = 4096;
const LEAST_RING_KIB: usize = 256;
/// What an event takes in the ring at most.
const EVENT_BYTES: u64 = 160;
/// Of a connection, beside those of its data.
const EVENTS_OF_CONNECTION: u64 = 32;
/// The smallest usual segment, and events that it brings at most: its ACK, losses, and the room that is never to be needed.
const SEGMENT_BYTES: u32 = 536;
const EVENTS_OF_SEGMENT: u64 = 16;
/// Bytes moved through the pipe by one call, whole pages.
const PIPE: usize = 1 << 20;

/// The running trace.
#[derive(Debug)]
pub struct Trace {
    root: PathBuf,
    folder: PathBuf,
    sink: Arc<Mutex<Sink>>,
    instance: Option<Instance>,
}

/// An event that makes a table of its name.
#[derive(Debug, Clone, Copy)]
struct Event {
    group: &'static str,
    name: &'static str,
    /// What alone of it is kept, in the words of a filter. Such an event is rare: its table begins with its first row.
    only: Option<&'static str>,
}

/// An error that ends a connection, told to who holds its socket (Linux 5.14). Sends without a copy are told by the same call,
/// with no error.
const FAILED: Event =
    Event { group: "sock", name: "inet_sk_error_report", only: Some("protocol == 6 && error != 0") };

/// The events that a plan asks for.
fn wanted(readings: Readings) -> Vec<Event> {
    let tcp = |name| Event { group: "tcp", name, only: None };
    let mut events = Vec::new();
    if readings.tcp_probe {
        events.push(tcp("tcp_probe"));
    }
    if readings.events {
        events.extend([tcp("tcp_retransmit_skb"), tcp("tcp_cong_state_set"), FAILED]);
    }
    events
}

/// Room for the events of these flows, in KiB: so much that the reader is not woken where their data are counted and few.
fn ring_kib(flows: &[Flow]) -> usize {
    let events = flows.iter().try_fold(0_u64, |sum, flow| sum.checked_add(most_events(flow)?));
    let bytes = events.and_then(|events| events.checked_mul(2 * EVENT_BYTES));
    let kib = bytes.and_then(|bytes| usize::try_from(bytes >> 10).ok());
    kib.map_or(RING_KIB, |kib| kib.clamp(LEAST_RING_KIB, RING_KIB).next_power_of_two())
}

/// How many events a flow brings at most; none where it goes on until its end.
fn most_events(flow: &Flow) -> Option<u64> {
    match (flow.kind, flow.generator) {
        (Kind::Udp | Kind::Ping | Kind::Mptcp, _) => Some(0),
        (Kind::Tcp, Generator::Agent) => {
            let least = [flow.mss, flow.message_bytes].into_iter().flatten().min().unwrap_or(SEGMENT_BYTES);
            let segments = flow.bytes? / u64::from(least.clamp(1, SEGMENT_BYTES)) + 1;
            segments.checked_mul(EVENTS_OF_SEGMENT)?.checked_add(EVENTS_OF_CONNECTION)
        }
        _ => None,
    }
}

fn write(path: &Path, value: &str) -> Result<()> {
    sys::files::write_text(path, value)
        .context(format_args!("write {value:?} to {}", path.display()))
        .map_err(|e| e.kind("trace"))
}

impl Trace {
    /// Switches the events on. Gives `None` when nothing is wanted; adds a warning for each event the kernel lacks.
    /// A kernel that is not this process's own gets a tracer beside its own one: `keep` is told of it. `None`: it is.
    pub fn start(
        plan: &Plan,
        clock: Clock,
        out: &Path,
        warnings: &mut Vec<String>,
        keep: Option<&dyn Fn(Leftover)>,
        found: Option<&Shared>,
    ) -> Result<Option<Self>> {
        let events = wanted(plan.readings);
        if events.is_empty() && found.is_none() {
            return Ok(None);
        }
        let instance = match keep.map(Instance::make).transpose() {
            Ok(instance) => instance,
            Err(error) if found.is_some() => return Err(error.kind(UNSUPPORTED)),
            Err(error) => {
                warnings
                    .push(format!("kernel events cannot be traced, so their tables are missing: {error}"));
                return Ok(None);
            }
        };
        let root = instance.as_ref().map_or(Path::new(TRACEFS), Instance::folder).to_owned();
        let own_kib = || found.map_or_else(|| ring_kib(&plan.flows), |_| RING_KIB);
        let ring_kib = instance.as_ref().map_or_else(own_kib, Instance::ring_kib);
        write(&root.join("trace_clock"), "mono")?;
        write(&root.join("buffer_size_kb"), &ring_kib.to_string())?;
        let last_port = instance.as_ref().map_or(LAST_PORT, |_| last_port(plan));
        let last_port = found.is_none().then_some(last_port);
        let streams = sink::streams(&events, &root, out, last_port, warnings)?;
        let ours = instance.as_ref().map(|_| ours(plan)).transpose()?;
        let followed = found.map(|book| Followed::begin(book, &root)).transpose()?;
        let (only, subflows) = (plan.only_ports(), plan.subflows()?);
        let sink = Arc::new(Mutex::new(Sink {
            streams,
            clock,
            only,
            subflows,
            ours,
            followed,
            lost: 0,
            broken: None,
        }));
        let mut trace = Self { root, folder: out.to_owned(), sink, instance };
        match &mut trace.instance {
            Some(instance) => instance.spawn_reader(&trace.sink)?,
            None => trace.spawn_reader()?,
        }
        Ok(Some(trace))
    }

    /// Stamps count from another start from now on.
    pub fn count_from(&self, clock: Clock) {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).clock = clock;
    }

    /// A reader beside its own, where sockets are followed: what is read of them at an instant belongs to what has happened until
    /// then.
    pub fn tap(&self) -> Result<Option<Tap>> {
        if self.sink.lock().unwrap_or_else(PoisonError::into_inner).followed.is_none() {
            return Ok(None);
        }
        let paths = self.instance.as_ref().map_or_else(|| vec![self.ring_path()], Instance::rings);
        let open = |path: PathBuf| sys::files::open_nonblocking(&path).context("open a trace ring");
        let rings = paths.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Some(Tap { rings, sink: Arc::clone(&self.sink) }))
    }

    fn ring_path(&self) -> PathBuf {
        self.root.join("per_cpu/cpu0/trace_pipe_raw")
    }

    /// The reader sleeps in the kernel until the ring is half full, so it costs nothing in between.
    fn spawn_reader(&self) -> Result<()> {
        let path = self.ring_path();
        let mut ring = File::open(&path).context("open the trace ring")?;
        let sink = Arc::clone(&self.sink);
        let (from, to) = sys::files::pipe(PIPE).context("make a pipe for the trace")?;
        let read = move || {
            let mut pages = vec![0; PIPE];
            loop {
                match move_pages(&ring, &from, &to, &mut pages) {
                    // Kernels from 6.8 on end a reader for good when any copy of its file is closed, as in every
                    // process that is started meanwhile.
                    Ok(0) => match File::open(&path) {
                        Ok(again) => ring = again,
                        Err(_) => return,
                    },
                    Ok(length) => {
                        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                        if sink.take(&pages[..length]).is_err() {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
        };
        thread::Builder::new().stack_size(1 << 18).spawn(read).context("start the trace reader").map(drop)
    }

    /// Switches the events off, reads what is left, and gives the number of lost events by table.
    pub fn finish(mut self) -> Result<BTreeMap<String, u64>> {
        write(&self.root.join("tracing_on"), "0")?;
        if let Some(instance) = &mut self.instance {
            instance.finish();
            return self.merge_rings();
        }
        let ring = sys::files::open_nonblocking(&self.ring_path()).context("open the trace ring")?;
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let mut page = vec![0; sys::machine::page_size()];
        while let Ok(length) = sys::files::read(&ring, &mut page) {
            if length == 0 {
                break;
            }
            sink.take(&page[..length])?;
        }
        for stream in &mut sink.streams {
            stream.flush()?;
        }
        Ok(lost(&sink))
    }

    /// Every CPU's events are in order, but not all together.
    fn merge_rings(&self) -> Result<BTreeMap<String, u64>> {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = sink.broken.take() {
            return Err(error);
        }
        for stream in &mut sink.streams {
            if stream.flush()? {
                table::sort_by_time(&self.folder, stream.event.name)?;
            }
        }
        Ok(lost(&sink))
    }
}

/// See [`Trace::tap`].
#[derive(Debug)]
pub struct Tap {
    rings: Vec<File>,
    sink: Arc<Mutex<Sink>>,
}

impl Tap {
    /// Takes all events so far.
    pub fn read(&self) -> Result<()> {
        let mut page = vec![0; sys::machine::page_size()];
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        for ring in &self.rings {
            while let Ok(length @ 1..) = sys::files::read(ring, &mut page) {
                sink.take(&page[..length])?;
            }
        }
        Ok(())
    }
}

/// The ring does not say of which kind a lost event was.
fn lost(sink: &Sink) -> BTreeMap<String, u64> {
    BTreeMap::from([("trace".to_owned(), sink.lost)])
}

/// A name for a tracer by this process, which tells when it is left over.
#[must_use]
pub fn tracer_name() -> String {
    own_name(instance::PREFIX)
}

/// Removes a tracer that was killed, and those of processes that are no more.
pub fn take_away(name: &str) {
    Instance::remove(name);
    Instance::sweep();
}

/// The last port that a flow of the plan listens on.
fn last_port(plan: &Plan) -> u16 {
    let numbers = u16::try_from(plan.flow_numbers()).unwrap_or(u16::MAX);
    FIRST_PORT.saturating_add(numbers).saturating_sub(1).min(LAST_PORT)
}

/// Where the flows go whose senders are here.
fn ours(plan: &Plan) -> Result<BTreeMap<u32, IpAddr>> {
    let sent = |flow: &&Flow| plan.here.as_ref().is_none_or(|here| flow.from == *here);
    plan.flows.iter().filter(sent).map(|flow| Ok((flow.id, flow.destination()?))).collect()
}

/// Moves full pages from the ring to memory: two calls for up to a mebibyte instead of one a page.
fn move_pages(ring: &File, from: &OwnedFd, to: &OwnedFd, pages: &mut [u8]) -> std::io::Result<usize> {
    let spliced = sys::files::splice(ring, to, pages.len())?;
    let mut length = 0;
    while length < spliced {
        length += sys::files::read(from, &mut pages[length..spliced])?;
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(more: &str) -> Flow {
        let text = format!(
            r#"{{"id": 0, "name": "a", "from": "a", "to": "b", "src": "10.0.0.1", "dst": "10.0.0.2", "start_ns": 0, {more}}}"#
        );
        serde_json::from_str(&text).expect("a flow")
    }

    #[test]
    fn the_ring_has_room_for_what_counted_flows_bring() {
        let few = flow(r#""kind": "tcp", "bytes": 1000"#);
        assert_eq!(ring_kib(&[few.clone(), flow(r#""kind": "udp""#)]), LEAST_RING_KIB);
        assert_eq!(ring_kib(&vec![few; 20]), 512);
        assert_eq!(ring_kib(&[flow(r#""kind": "tcp", "bytes": 100000"#)]), 1024);
        // In small messages each may be a segment of its own.
        assert_eq!(ring_kib(&[flow(r#""kind": "tcp", "bytes": 10000, "message_bytes": 10"#)]), RING_KIB);
        assert_eq!(ring_kib(&[flow(r#""kind": "tcp", "bytes": 18446744073709551615"#)]), RING_KIB);
    }

    #[test]
    fn the_ring_is_large_where_nobody_knows_how_much_comes() {
        for endless in [
            r#""kind": "tcp""#,
            r#""kind": "rr", "count": 3"#,
            r#""kind": "tcp", "generator": "iperf3", "bytes": 9"#,
        ] {
            assert_eq!(ring_kib(&[flow(endless)]), RING_KIB, "{endless}");
        }
    }
}
