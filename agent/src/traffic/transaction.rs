//! Request and response: over one kept connection (`rr`), or a new one each time (`crr`).

mod in_flight;

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::error::{Context, Error, Result};
use crate::kernel::clock::Clock;
use crate::kernel::sys;
use crate::kernel::sys::socket::{self, Shutdown};
use crate::kernel::sys::visit::{Moment, Visit};
use crate::plan::{Close, Flow, Kind};
use crate::traffic::FlowEnd;

use super::options;
use super::schedule::{Stop, Switch};
use super::tables::Row;
use super::{Side, Stage, Task};

/// Rows that a client keeps before it visits the table.
const ROWS: usize = 1024;
/// Requests that a server answers in one visit to the kernel.
const ANSWERS: usize = 16;

pub(super) fn open(flow: &Flow, side: Side, duration_ns: i64) -> Result<Vec<Task>> {
    match side {
        Side::From if in_flight::asks_on(flow) => in_flight::client(flow, duration_ns),
        Side::From => client(flow, duration_ns).map(|task| vec![task]),
        Side::To => server(flow).map(|task| vec![task]),
    }
}

/// Zero bytes to ask with and to answer with; a message has at least one.
fn message(bytes: Option<u32>) -> Vec<u8> {
    vec![0; bytes.unwrap_or(1).max(1) as usize]
}

/// What a server did.
struct Served {
    requests: u64,
    /// Whether the connection may go on.
    whole: bool,
}

/// What became of one transaction.
enum Outcome {
    /// When it began, and when it was complete.
    Complete(i64, i64),
    /// The client's patience was over before.
    GivenUp,
    /// The end came in between.
    Cut,
}

struct Client {
    flow: Flow,
    /// The bound socket of `rr`, to be connected.
    kept: Option<Arc<OwnedFd>>,
    keepalive: options::Keepalive,
    /// The node, for the sockets of `crr`.
    netns: OwnedFd,
    switch: Arc<Switch>,
    from: SocketAddr,
    to: SocketAddr,
    stop_ns: i64,
    request: Vec<u8>,
    response_bytes: usize,
    /// Handed over so far, answered or not.
    requests: Cell<u64>,
}

fn client(flow: &Flow, duration_ns: i64) -> Result<Task> {
    let to = options::address(&flow.dst, flow.dport)?;
    let from = options::address(&flow.src, if flow.kind == Kind::Rr { flow.sport } else { 0 })?;
    // Opened for crr too: what the kernel refuses is said before the start.
    let first = dial(flow, from, to)?;
    let kept = (flow.kind == Kind::Rr).then(|| Arc::new(first));
    let switch = kept.as_ref().map_or_else(Arc::default, Switch::holding);
    let client = Client {
        flow: flow.clone(),
        kept,
        keepalive: options::Keepalive::of(flow)?,
        netns: sys::namespaces::current_netns().context("open the node's network namespace")?,
        switch: Arc::clone(&switch),
        from,
        to,
        stop_ns: flow.stop_or(duration_ns),
        request: message(flow.request_bytes),
        response_bytes: message(flow.response_bytes).len(),
        requests: Cell::new(0),
    };
    let stop = Some(Stop { at_ns: client.stop_ns, how: Shutdown::Both });
    Ok(Task { flow: flow.id, work: Box::new(move |stage| client.run(stage)), switch, stop })
}

/// A socket bound to the flow's source, ready to connect. Without a port the kernel chooses one when it connects.
fn dial(flow: &Flow, from: SocketAddr, to: SocketAddr) -> Result<OwnedFd> {
    let socket = sys::socket::open(socket::family(to), libc::SOCK_STREAM, 0).context("open a socket")?;
    if from.port() == 0 {
        options::choose_port_late(&socket)?;
    }
    options::bind(&socket, from)?;
    options::congestion_control(&socket, flow.cc.as_deref())?;
    options::traffic_class(&socket, flow, to)?;
    options::tcp_number(
        &socket,
        libc::TCP_NODELAY,
        "TCP_NODELAY",
        Some(flow.nodelay.unwrap_or(true).into()),
    )?;
    options::keepalive(&socket, flow)?;
    options::fast_open_connect(&socket, flow)?;
    options::patience(&socket, flow)?;
    Ok(socket)
}

/// Waits until the next transaction is due; `false` when the flow ends before.
fn wait_turn(flow: &Flow, switch: &Switch, clock: Clock, stop_ns: i64, seq: u64) -> bool {
    let interval_ns = flow.interval_ns.unwrap_or(0);
    let due_ns = flow.start_ns.saturating_add((seq as i64).saturating_mul(interval_ns));
    (interval_ns == 0 || super::wait(clock, due_ns, stop_ns)) && !switch.stopped()
}

impl Client {
    fn run(&self, stage: &Stage) -> FlowEnd {
        let mut end = FlowEnd { packets_sent: Some(0), bytes_sent: Some(0), ..FlowEnd::default() };
        if !super::wait(stage.clock, self.flow.start_ns, self.stop_ns) || self.switch.stopped() {
            return end;
        }
        if let Err(error) = self.settle() {
            end.error = Some(error.to_string());
            return end;
        }
        end.connected_ns = self.kept.is_some().then(|| stage.clock.now());
        let (done, error) = self.repeat(stage);
        end.packets_sent = Some(done);
        end.bytes_sent = Some(self.requests.get() * self.request.len() as u64);
        end.sender_done_ns = Some(stage.clock.now());
        end.error = error.map(|error| error.to_string());
        end
    }

    fn connect(&self, socket: &OwnedFd) -> Result<()> {
        socket::connect(socket, self.to).context(format_args!("connect to {}", self.to))
    }

    /// Gets what the transactions need: the one connection, or this thread into its node.
    fn settle(&self) -> Result<()> {
        match &self.kept {
            Some(socket) => {
                self.connect(socket)?;
                self.keepalive.set(socket)
            }
            None => sys::namespaces::enter_netns(&self.netns).context("enter the node"),
        }
    }

    /// Repeats the transaction on schedule until count, stop or failure; gives how many were completed.
    fn repeat(&self, stage: &Stage) -> (u64, Option<Error>) {
        let mut rows = Vec::with_capacity(ROWS);
        let (mut begun, mut done) = (0, 0);
        let mut failure = None;
        while begun < self.flow.count.unwrap_or(u64::MAX)
            && wait_turn(&self.flow, &self.switch, stage.clock, self.stop_ns, begun)
        {
            match self.transact(stage.clock) {
                Ok(Outcome::Complete(start_ns, end_ns)) => {
                    rows.push(Row {
                        flow: self.flow.id,
                        seq: begun as u32,
                        first_ns: start_ns,
                        second_ns: end_ns,
                    });
                    done += 1;
                }
                Ok(Outcome::GivenUp) => {}
                Ok(Outcome::Cut) => break,
                Err(error) => {
                    failure = Some(error).filter(|_| !self.switch.stopped());
                    break;
                }
            }
            begun += 1;
            if rows.len() == ROWS {
                failure = failure.or(stage.tables.transaction.append(&rows).err());
                rows.clear();
            }
        }
        (done, failure.or(stage.tables.transaction.append(&rows).err()))
    }

    /// One request and its response.
    fn transact(&self, clock: Clock) -> Result<Outcome> {
        let begun = clock.now();
        let ended = match &self.kept {
            Some(socket) => self.exchange(socket, clock),
            None => self.converse(clock),
        };
        Ok(match ended? {
            Some(ended) => Outcome::Complete(begun, ended),
            None if self.flow.patience_ns.is_some() && !self.switch.stopped() => Outcome::GivenUp,
            None => Outcome::Cut,
        })
    }

    /// Gives when it was complete, `None` when the end or the client's patience came in between.
    fn exchange(&self, socket: &OwnedFd, clock: Clock) -> Result<Option<i64>> {
        let mut now = Moment::of(0);
        let mut visit = Visit::new();
        let sent = visit.send(socket.as_fd(), &self.request);
        visit.needed_to_give(self.request.len());
        let taken = visit.discard(socket.as_fd(), self.response_bytes);
        visit.needed_to_give(self.response_bytes);
        visit.clock(&mut now);
        let results = visit.carry_out().context("make a transaction")?;
        if results.of(sent).context("send a request")? < self.request.len() {
            return Ok(None);
        }
        self.requests.set(self.requests.get() + 1);
        let Some(taken) = in_time(results.of(taken), libc::EAGAIN).context("receive a response")? else {
            return Ok(None);
        };
        Ok((taken == self.response_bytes).then(|| clock.since_start(now.ns())))
    }

    /// A transaction with a connection of its own. If the server closes first, this side's port is free again at once.
    fn converse(&self, clock: Clock) -> Result<Option<i64>> {
        let socket = Arc::new(dial(&self.flow, self.from, self.to)?);
        let outcome =
            if self.switch.hold(&socket) { self.connect_and_exchange(&socket, clock) } else { Ok(None) };
        if matches!(outcome, Ok(Some(_))) {
            match self.flow.close {
                Close::Wait => drop(socket::discard(&socket, 1)),
                Close::Leave => {}
                Close::Reset => socket::reset_on_close(&socket),
            }
        }
        self.switch.drop_newest();
        outcome
    }

    fn connect_and_exchange(&self, socket: &OwnedFd, clock: Clock) -> Result<Option<i64>> {
        let connected = in_time(socket::connect(socket, self.to), libc::EINPROGRESS);
        match connected.context(format_args!("connect to {}", self.to))? {
            Some(()) => self.exchange(socket, clock),
            None => Ok(None),
        }
    }
}

/// `None` where the call came back by this error, because the socket's patience was over.
fn in_time<T>(result: io::Result<T>, over: i32) -> io::Result<Option<T>> {
    match result {
        Err(cause) if cause.raw_os_error() == Some(over) => Ok(None),
        other => other.map(Some),
    }
}

struct Server {
    listener: Arc<OwnedFd>,
    from: options::Peer,
    switch: Arc<Switch>,
    request_bytes: usize,
    response: Vec<u8>,
    kept: bool,
    /// Whether it closes a connection before its client does.
    first: bool,
}

fn server(flow: &Flow) -> Result<Task> {
    let at = options::address(&flow.dst, flow.dport)?;
    let listener = options::bound(at, libc::SOCK_STREAM, 0)?;
    let nodelay = i32::from(flow.nodelay.unwrap_or(true));
    options::tcp_number(&listener, libc::TCP_NODELAY, "TCP_NODELAY", Some(nodelay))?;
    options::congestion_control(&listener, flow.cc.as_deref())?;
    options::keepalive(&listener, flow)?;
    options::Keepalive::of(flow)?.set(&listener)?;
    options::fast_open_listen(&listener, flow)?;
    socket::listen(&listener, options::BACKLOG).context(format_args!("listen on {at}"))?;
    let listener = Arc::new(listener);
    let switch = Switch::holding(&listener);
    let from = options::Peer::of(flow)?;
    let server = Server {
        listener,
        from: if flow.kind == Kind::Rr { from } else { from.with_any_port() },
        switch: Arc::clone(&switch),
        request_bytes: message(flow.request_bytes).len(),
        response: message(flow.response_bytes),
        kept: flow.kind == Kind::Rr,
        first: flow.close == Close::Wait,
    };
    Ok(Task { flow: flow.id, work: Box::new(move |_| server.run()), switch, stop: None })
}

impl Server {
    /// Answers one connection after the other; a connection that fails is the client's to report.
    fn run(&self) -> FlowEnd {
        let mut served = 0;
        let mut stranger = None;
        while let Ok(socket) = self.from.accept(&self.listener, &mut stranger).map(Arc::new) {
            if self.switch.hold(&socket) {
                served += self.serve(&socket);
                if !self.first {
                    let _closed = socket::discard(&socket, 1);
                }
            }
            self.switch.drop_newest();
        }
        FlowEnd {
            packets_received: Some(served),
            bytes_received: Some(served * self.request_bytes as u64),
            ..FlowEnd::default()
        }
    }

    fn serve(&self, socket: &OwnedFd) -> u64 {
        let mut served = 0;
        loop {
            let now = self.serve_some(socket).unwrap_or(Served { whole: false, requests: 0 });
            served += now.requests;
            if !now.whole || !self.kept {
                return served;
            }
        }
    }

    /// Answers some requests in one visit to the kernel.
    fn serve_some(&self, socket: &OwnedFd) -> io::Result<Served> {
        let mut visit = Visit::new();
        let calls = (0..if self.kept { ANSWERS } else { 1 }).map(|_| {
            let taken = visit.discard(socket.as_fd(), self.request_bytes);
            visit.needed_to_give(self.request_bytes);
            let sent = visit.send(socket.as_fd(), &self.response);
            visit.needed_to_give(self.response.len());
            (taken, sent)
        });
        let calls: Vec<_> = calls.collect();
        let results = visit.carry_out()?;
        let gave = |call, bytes| results.of(call).is_ok_and(|given| given == bytes);
        Ok(Served {
            requests: calls.iter().filter(|(taken, _)| gave(*taken, self.request_bytes)).count() as u64,
            whole: calls.iter().all(|(_, sent)| gave(*sent, self.response.len())),
        })
    }
}
