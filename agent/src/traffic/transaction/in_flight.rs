//! A client of `rr` that asks on without waiting: requests go and responses come at once over one connection.
//!
//! It has two threads. One alone would not read while it hands over, and both ends could wait for room in each other's
//! buffers without end.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Context, Result};
use crate::kernel::clock::Clock;
use crate::kernel::sys::socket::{self, Shutdown};
use crate::kernel::sys::visit::{Moment, Visit};
use crate::plan::Flow;
use crate::traffic::FlowEnd;

use super::super::options;
use super::super::schedule::{Stop, Switch};
use super::super::tables::Row;
use super::super::{Stage, Task};
use super::{dial, message, wait_turn, ROWS};

/// Whether a flow's client asks on before it is answered.
pub(super) fn asks_on(flow: &Flow) -> bool {
    flow.in_flight.is_some_and(|most| most > 1)
}

/// The two ends of the client: who asks, and who takes the answers.
pub(super) fn client(flow: &Flow, duration_ns: i64) -> Result<Vec<Task>> {
    let to = options::address(&flow.dst, flow.dport)?;
    let socket = Arc::new(dial(flow, options::address(&flow.src, flow.sport)?, to)?);
    let client = Arc::new(Client {
        flow: flow.clone(),
        socket: Arc::clone(&socket),
        to,
        stop_ns: flow.stop_or(duration_ns),
        request: message(flow.request_bytes),
        response_bytes: message(flow.response_bytes).len(),
        under_way: Mutex::default(),
        changed: Condvar::new(),
    });
    let stop = Some(Stop { at_ns: client.stop_ns, how: Shutdown::Both });
    let task = |part: fn(&Client, &Stage, &Switch) -> FlowEnd| {
        let (client, switch) = (Arc::clone(&client), Switch::holding(&socket));
        let mine = Arc::clone(&switch);
        Task { flow: flow.id, work: Box::new(move |stage| part(&client, stage, &mine)), switch, stop }
    };
    Ok(vec![task(Client::ask), task(Client::take)])
}

struct Client {
    flow: Flow,
    socket: Arc<OwnedFd>,
    to: SocketAddr,
    stop_ns: i64,
    request: Vec<u8>,
    response_bytes: usize,
    under_way: Mutex<UnderWay>,
    changed: Condvar,
}

/// What both threads of a client know.
#[derive(Debug, Default)]
struct UnderWay {
    connected: bool,
    /// One of them has ended before its time.
    over: bool,
    /// When the requests that are not answered yet were begun, the oldest first.
    begun: VecDeque<i64>,
}

impl Client {
    /// Connects, and asks.
    fn ask(&self, stage: &Stage, switch: &Switch) -> FlowEnd {
        let mut end = FlowEnd { bytes_sent: Some(0), ..FlowEnd::default() };
        if super::super::wait(stage.clock, self.flow.start_ns, self.stop_ns) && !switch.stopped() {
            let (asked, outcome) = match self.connect() {
                Ok(()) => {
                    end.connected_ns = Some(stage.clock.now());
                    let (asked, outcome) = self.ask_on(stage.clock, switch);
                    (asked, outcome.or_else(|error| if switch.stopped() { Ok(()) } else { Err(error) }))
                }
                Err(error) => (0, Err(error)),
            };
            end.bytes_sent = Some(asked * self.request.len() as u64);
            end.error = outcome.err().map(|error| error.to_string());
        }
        if end.connected_ns.is_none() || end.error.is_some() {
            self.change(|now| now.over = true);
        }
        end
    }

    fn connect(&self) -> Result<()> {
        socket::connect(&self.socket, self.to).context(format_args!("connect to {}", self.to))?;
        self.change(|now| now.connected = true);
        Ok(())
    }

    /// Hands over requests on schedule, as long as not too many are unanswered; gives how many went.
    fn ask_on(&self, clock: Clock, switch: &Switch) -> (u64, Result<()>) {
        let mut asked = 0;
        while asked < self.flow.count.unwrap_or(u64::MAX)
            && wait_turn(&self.flow, switch, clock, self.stop_ns, asked)
            && self.wait_for(|now| now.begun.len() < self.flow.in_flight.unwrap_or(1) as usize)
        {
            self.change(|now| now.begun.push_back(clock.now()));
            match socket::send(&self.socket, &self.request).context("send a request") {
                Ok(sent) if sent == self.request.len() => asked += 1,
                Ok(_) => break,
                Err(error) => return (asked, Err(error)),
            }
        }
        (asked, Ok(()))
    }

    /// Takes the answers.
    fn take(&self, stage: &Stage, switch: &Switch) -> FlowEnd {
        let mut end = FlowEnd { packets_sent: Some(0), ..FlowEnd::default() };
        if self.wait_for(|now| now.connected) {
            let (done, outcome) = self.take_on(stage, switch);
            self.change(|now| now.over = true);
            end.packets_sent = Some(done);
            end.sender_done_ns = Some(stage.clock.now());
            end.error = outcome.err().map(|error| error.to_string());
        }
        end
    }

    /// Takes answers until there is no more to take; gives how many.
    fn take_on(&self, stage: &Stage, switch: &Switch) -> (u64, Result<()>) {
        let table = &stage.tables.transaction;
        let (mut rows, mut done) = (Vec::with_capacity(ROWS), 0);
        let mut outcome = Ok(());
        while outcome.is_ok() && done < self.flow.count.unwrap_or(u64::MAX) {
            match self.response(stage.clock) {
                Ok(Some(row)) => rows.push(Row { seq: done as u32, ..row }),
                Ok(None) => break,
                Err(_) if switch.stopped() => break,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
            done += 1;
            if rows.len() == ROWS {
                outcome = table.append(&rows);
                rows.clear();
            }
        }
        (done, outcome.and(table.append(&rows)))
    }

    /// The answer to the oldest request; `None` when the end came before.
    fn response(&self, clock: Clock) -> Result<Option<Row>> {
        let mut now = Moment::of(0);
        let mut visit = Visit::new();
        let taken = visit.discard(self.socket.as_fd(), self.response_bytes);
        visit.needed_to_give(self.response_bytes);
        visit.clock(&mut now);
        let results = visit.carry_out().context("make a transaction")?;
        if results.of(taken).context("receive a response")? < self.response_bytes {
            return Ok(None);
        }
        let begun = self.change(|now| now.begun.pop_front());
        let row =
            |first_ns| Row { flow: self.flow.id, seq: 0, first_ns, second_ns: clock.since_start(now.ns()) };
        Ok(begun.map(row))
    }

    fn change<T>(&self, how: impl FnOnce(&mut UnderWay) -> T) -> T {
        let value = how(&mut self.under_way());
        self.changed.notify_all();
        value
    }

    /// Waits for what the other thread does; `false` when that has ended before.
    fn wait_for(&self, there: impl Fn(&UnderWay) -> bool) -> bool {
        let waiting = |now: &mut UnderWay| !now.over && !there(now);
        let now = self.changed.wait_while(self.under_way(), waiting);
        !now.unwrap_or_else(PoisonError::into_inner).over
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
