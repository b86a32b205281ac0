//! Where pages of events go: each event of a flow becomes a row of its table.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::kernel::clock::Clock;
use crate::kernel::sys;
use crate::plan::{subflow_of, Subflows, FIRST_PORT};
use crate::reading::found::{open, Owner, Protocol, Shared};
use crate::record::table::TableWriter;

use super::format::Format;
use super::ring;
use super::states::States;
use super::Event;

/// One kind of event and the table its rows go to.
#[derive(Debug)]
pub(super) struct Stream {
    pub event: Event,
    format: Format,
    folder: PathBuf,
    table: Option<TableWriter>,
}

/// Whose events are kept where sockets are followed that no flow names.
#[derive(Debug)]
pub(super) struct Followed {
    book: Shared,
    states: States,
}

#[derive(Debug)]
pub(super) struct Sink {
    pub streams: Vec<Stream>,
    pub clock: Clock,
    /// See [`crate::plan::Plan::only_ports`].
    pub only: BTreeMap<u32, u16>,
    /// See [`crate::plan::Plan::subflows`].
    pub subflows: Subflows,
    /// Where our flows go, on a kernel that has others too.
    pub ours: Option<BTreeMap<u32, IpAddr>>,
    pub followed: Option<Followed>,
    pub lost: u64,
    /// What a reader could not make sense of.
    pub broken: Option<Error>,
}

/// Switches on those events that the kernel has; without a last port those of all sockets.
pub(super) fn streams(
    events: &[Event],
    root: &Path,
    out: &Path,
    last_port: Option<u16>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Stream>> {
    let mut streams = Vec::new();
    for event in events {
        let place = root.join("events").join(event.group).join(event.name);
        if !place.exists() {
            warnings.push(format!("this kernel has no event {event}: its table is missing"));
            continue;
        }
        streams.push(Stream::enable(*event, &place, out, last_port)?);
    }
    Ok(streams)
}

fn begin(event: Event, format: &Format, folder: &Path) -> Result<TableWriter> {
    TableWriter::create(folder, event.name, &format.columns(), format.stride(), &serde_json::json!({}))
}

/// Which events the kernel is to keep; `None`: all of them.
fn filter(event: Event, last_port: Option<u16>) -> Option<String> {
    // Only sockets that send: their peer's port says which flow it is.
    let ports = last_port.map(|last| format!("dport >= {FIRST_PORT} && dport <= {last}"));
    let words: Vec<_> = ports.into_iter().chain(event.only.map(str::to_owned)).collect();
    (!words.is_empty()).then(|| words.join(" && "))
}

impl fmt::Display for Event {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{}:{}", self.group, self.name)
    }
}

impl Stream {
    fn enable(event: Event, place: &Path, out: &Path, last_port: Option<u16>) -> Result<Self> {
        let text = sys::files::read_text(place.join("format"))
            .context(format_args!("read the format of {event}"))?;
        let format = Format::parse(&text)
            .ok_or_else(|| Error::new("trace", format!("the format of {event} has no sport and dport")))?;
        let table = event.only.is_none().then(|| begin(event, &format, out)).transpose()?;
        if let Some(filter) = filter(event, last_port) {
            super::write(&place.join("filter"), &filter)?;
        }
        super::write(&place.join("enable"), "1")?;
        Ok(Self { event, format, folder: out.to_owned(), table })
    }

    fn keep(&mut self, t_ns: i64, flow: u32, data: &[u8]) -> Result<()> {
        let Self { event, format, folder, table } = self;
        let table = match table {
            Some(table) => table,
            None => table.insert(begin(*event, format, folder)?),
        };
        format.append(t_ns, flow, data, table.row());
        table.written()
    }

    /// Writes what is left; gives whether there is a table.
    pub fn flush(&mut self) -> Result<bool> {
        self.table.as_mut().map_or(Ok(false), |table| table.flush().map(|()| true))
    }
}

impl Sink {
    pub fn take(&mut self, mut pages: &[u8]) -> Result<()> {
        let size = sys::machine::page_size();
        while !pages.is_empty() {
            let (page, rest) = pages.split_at(size.min(pages.len()));
            self.take_page(page)?;
            pages = rest;
        }
        Ok(())
    }

    fn take_page(&mut self, page: &[u8]) -> Result<()> {
        let Some(mut events) = ring::Events::of(page) else { return Ok(()) };
        self.lost += events.missed;
        events.try_for_each(|event| {
            let t_ns = self.clock.since_start(event.stamp_ns as i64);
            if let Some(followed) = self.followed.as_ref().filter(|followed| followed.states.id == event.id())
            {
                if let Some(change) = followed.states.change(t_ns, event.data) {
                    open(&followed.book).change(change);
                }
                return Ok(());
            }
            let Some(which) = self.streams.iter().position(|stream| stream.format.id == event.id()) else {
                return Ok(());
            };
            let stream = &self.streams[which];
            if event.data.len() < stream.format.size {
                return Err(Error::new(
                    "trace",
                    format!("an event {} is shorter than its format", stream.event),
                ));
            }
            let Some(flow) = self.flow(&stream.format, t_ns, event.data) else { return Ok(()) };
            self.streams[which].keep(t_ns, flow, event.data)
        })
    }

    /// The flow whose sender an event is of.
    fn flow(&self, format: &Format, t_ns: i64, data: &[u8]) -> Option<u32> {
        if let Some(followed) = &self.followed {
            return followed.flow(format, t_ns, data);
        }
        let (flow, sender) = format.flow(data);
        if self.only.get(&flow).is_some_and(|only| *only != sender) {
            return None;
        }
        let goes_there = |to: &IpAddr| format.goes_to(data, *to);
        let ours = self.ours.as_ref().is_none_or(|ours| ours.get(&flow).is_some_and(goes_there));
        let between = || format.way(data).map(|way| (way.from.address, way.to.address));
        ours.then(|| subflow_of(&self.subflows, flow, between)).flatten()
    }
}

impl Followed {
    /// Switches on what tells of connections.
    pub fn begin(book: &Shared, root: &Path) -> Result<Self> {
        Ok(Self { book: book.clone(), states: States::enable(root)? })
    }

    fn flow(&self, format: &Format, t_ns: i64, data: &[u8]) -> Option<u32> {
        let mut book = open(&self.book);
        match book.owner(Protocol::Tcp, format.way(data)?, t_ns) {
            Owner::Planned { flow, side: 0 } => Some(flow),
            // Of one that only receives an event says nothing that its sender's do not.
            Owner::Found(at) => {
                let says = format.in_flight(data).is_none_or(|in_flight| book.acknowledged(at, in_flight));
                says.then(|| book.flow(at))
            }
            Owner::Planned { .. } | Owner::Nobody => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_kept_of_flows_and_for_its_reason() {
        let plain = Event { group: "tcp", name: "tcp_probe", only: None };
        let rare = Event { only: Some("error != 0"), ..plain };
        assert_eq!(filter(plain, None), None);
        assert_eq!(filter(rare, None).as_deref(), Some("error != 0"));
        assert_eq!(filter(plain, Some(5003)).as_deref(), Some("dport >= 5001 && dport <= 5003"));
        assert_eq!(filter(rare, Some(5003)).as_deref(), Some("dport >= 5001 && dport <= 5003 && error != 0"));
    }
}
