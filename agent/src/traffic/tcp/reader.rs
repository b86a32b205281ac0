//! The receiving end of a TCP flow: it reads as the data comes, or at a rate.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::error::{Context, Result};
use crate::kernel::clock::Clock;
use crate::kernel::sys::socket;
use crate::plan::{Close, Flow, Kind, Open};
use crate::traffic::payload::Corrupted;
use crate::traffic::schedule::{Stop, Switch};
use crate::traffic::{self, options, FlowEnd, Stage, Task};

use super::{protocol, Pace, READ_BYTES};

/// One visit to the kernel for this many bytes that are looked at.
const LOOK_BYTES: usize = 1 << 18;

struct Reader {
    /// The listener, or where both ends connect the connection itself.
    socket: Arc<OwnedFd>,
    meet: Option<Meeting>,
    from: options::Peer,
    switch: Arc<Switch>,
    /// How many will come, where that is known: the last of them is the end, not what closes the stream.
    bytes: Option<u64>,
    pace: Option<Pace>,
    /// Each byte is compared with the one that was sent.
    verify: bool,
    end_ns: i64,
    /// The sender aborts: that is no fault of the flow.
    reset: bool,
}

/// A reader's eye on what it takes.
#[derive(Default)]
struct Look {
    buffer: Vec<u8>,
    wrong: Corrupted,
}

impl Look {
    /// Takes what comes from this place of the stream on.
    fn take(&mut self, socket: &OwnedFd, place: u64, wanted: usize) -> io::Result<usize> {
        let size = wanted.min(LOOK_BYTES);
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        let count = socket::take(socket, &mut self.buffer[..size])?;
        self.wrong.look_at_stream(place, &self.buffer[..count]);
        Ok(count)
    }
}

/// Whom a receiver connects to itself, and when.
struct Meeting {
    peer: SocketAddr,
    at_ns: i64,
}

pub(super) fn receiver(flow: &Flow, duration_ns: i64) -> Result<Task> {
    let at = options::address(&flow.dst, flow.dport)?;
    // Further subflows may come to other addresses of the node, so those of several paths are taken at all.
    let here = if flow.kind == Kind::Mptcp { options::everywhere(at) } else { at };
    let socket = options::bound(here, libc::SOCK_STREAM, protocol(flow))?;
    options::congestion_control(&socket, flow.receiver_cc.as_deref())?;
    options::buffers(&socket, flow)?;
    options::keepalive(&socket, flow)?;
    options::Keepalive::of(flow)?.set(&socket)?;
    let meet = match flow.open {
        Open::Both => Some(Meeting { peer: options::address(&flow.src, flow.sport)?, at_ns: flow.start_ns }),
        Open::Sender => {
            options::fast_open_listen(&socket, flow)?;
            socket::listen(&socket, 1).context(format_args!("listen on {at}"))?;
            None
        }
    };
    let socket = Arc::new(socket);
    let switch = Switch::holding(&socket);
    let reader = Reader {
        socket,
        meet,
        from: options::Peer::of(flow)?,
        switch: Arc::clone(&switch),
        bytes: flow.bytes,
        pace: flow.read_bps.map(|bps| Pace::new(bps, None)),
        verify: flow.verify,
        end_ns: flow.reading_until(duration_ns),
        reset: flow.close == Close::Reset,
    };
    Ok(Task {
        flow: flow.id,
        work: Box::new(move |stage: &Stage| reader.run(stage.clock)),
        switch,
        stop: Stop::of_receiver(flow),
    })
}

impl Reader {
    fn run(&self, clock: Clock) -> FlowEnd {
        let mut end = FlowEnd { bytes_received: Some(0), ..FlowEnd::default() };
        let socket = match self.connection(clock) {
            Ok(socket) => socket,
            Err(error) => {
                end.error = error;
                return end;
            }
        };
        let mut look = self.verify.then(Look::default);
        let (received, done_ns, cause) = self.read_all(&socket, clock, &mut look);
        (end.bytes_received, end.receiver_done_ns) = (Some(received), done_ns);
        if let Some(Look { wrong, .. }) = look {
            (end.corrupted_bytes, end.first_corrupted) = (Some(wrong.bytes), wrong.first);
        }
        if !self.switch.stopped() {
            let fault = cause.filter(|cause| !(self.reset && cause.raw_os_error() == Some(libc::ECONNRESET)));
            end.error = fault.map(|cause| options::outcome("receive", &cause));
        }
        end
    }

    /// Waits for the sender's connection, or connects; where there is none, why, if that is known.
    fn connection(&self, clock: Clock) -> std::result::Result<Arc<OwnedFd>, Option<String>> {
        if let Some(meeting) = &self.meet {
            if !traffic::wait(clock, meeting.at_ns, self.end_ns) || self.switch.stopped() {
                return Err(None);
            }
            let outcome = socket::connect(&self.socket, meeting.peer);
            let told = |cause| options::outcome(&format!("connect to {}", meeting.peer), &cause);
            return match outcome {
                Ok(()) => Ok(Arc::clone(&self.socket)),
                Err(_) if self.switch.stopped() => Err(None),
                Err(cause) => Err(Some(told(cause))),
            };
        }
        let mut stranger = None;
        let Ok(socket) = self.from.accept(&self.socket, &mut stranger).map(Arc::new) else {
            // Who expects a connection through something that rewrites addresses learns why there is none.
            let words = |from| format!("a connection from {from} is not this flow's: it was refused");
            return Err(stranger.map(words));
        };
        self.switch.hold(&socket);
        Ok(socket)
    }

    /// Reads until the stream ends; gives the bytes that came, and when the last of them had, if that was no end from outside.
    fn read_all(
        &self,
        socket: &OwnedFd,
        clock: Clock,
        look: &mut Option<Look>,
    ) -> (u64, Option<i64>, Option<io::Error>) {
        let (mut received, mut done_ns) = (0, None);
        let mut due_ns = 0;
        loop {
            if let Some(pace) = self.pace {
                due_ns = clock.now().max(due_ns + pace.due_ns(1));
                if !traffic::wait(clock, due_ns, self.end_ns) {
                    return (received, done_ns, None);
                }
            }
            let left = self.bytes.map(|bytes| bytes.saturating_sub(received)).filter(|left| *left > 0);
            let most = self.pace.map_or(READ_BYTES as u64, |pace| pace.bytes);
            let wanted = left.map_or(most, |left| left.min(most)) as usize;
            let taken = match look {
                Some(look) => look.take(socket, received, wanted),
                None => socket::discard(socket, wanted),
            };
            match taken {
                Ok(0) if self.switch.stopped() => return (received, done_ns, None),
                Ok(0) => return (received, done_ns.or_else(|| Some(clock.now())), None),
                Ok(count) => received += count as u64,
                Err(cause) => return (received, done_ns, Some(cause)),
            }
            if done_ns.is_none() && self.bytes.is_some_and(|bytes| received >= bytes) {
                done_ns = Some(clock.now());
            }
            if self.switch.stopped() {
                return (received, done_ns, None);
            }
        }
    }
}
