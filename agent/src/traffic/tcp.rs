//! TCP: a sender that hands over as much as the kernel takes, a receiver that reads as the data comes.

mod reader;

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::error::{Context, Result};
use crate::kernel::clock::Clock;
use crate::kernel::sys;
use crate::kernel::sys::socket::{self, Shutdown};
use crate::kernel::sys::visit::{Moment, Visit};
use crate::kernel::sys::zerocopy::{self, Completed};
use crate::plan::{Close, Flow, Kind};
use crate::traffic::FlowEnd;

use super::options;
use super::payload::{self, Payload};
use super::schedule::{Periods, Stop, Switch};
use super::{Side, Stage, Task};

const SECOND_NS: i64 = 1_000_000_000;

/// The largest single write; a call names it [`socket::MAX_LIST`] times.
const WRITE_BYTES: usize = payload::LARGEST;

/// One visit to the kernel for this many received bytes.
const READ_BYTES: usize = 1 << 30;

/// A paced writer or reader acts this often, unless that were less than a packet.
const PACE_NS: u64 = 1_000_000;
const PACE_LEAST_BYTES: u64 = 1448;
/// Pieces that a paced writer hands over in one visit to the kernel.
const PIECES: u64 = 32;

pub(super) fn open(flow: &Flow, side: Side, duration_ns: i64) -> Result<Vec<Task>> {
    end(flow, side, duration_ns).map(|task| vec![task])
}

/// The one task of a side.
pub(super) fn end(flow: &Flow, side: Side, duration_ns: i64) -> Result<Task> {
    match side {
        Side::From => sender(flow, duration_ns),
        Side::To => reader::receiver(flow, duration_ns),
    }
}

/// A paced end: so many bytes at a time, at this rate.
#[derive(Debug, Clone, Copy)]
struct Pace {
    bytes: u64,
    rate_bps: u64,
}

impl Pace {
    fn new(rate_bps: u64, message_bytes: Option<u32>) -> Self {
        let usual = (rate_bps / 8 * PACE_NS / SECOND_NS as u64).max(PACE_LEAST_BYTES);
        Self { bytes: message_bytes.map_or(usual, u64::from).max(1), rate_bps: rate_bps.max(1) }
    }

    /// When piece `n` is due, counted from the first: no rounding adds up.
    fn due_ns(self, n: u64) -> i64 {
        let bits = u128::from(n) * u128::from(self.bytes) * 8;
        (bits * SECOND_NS as u128 / u128::from(self.rate_bps)) as i64
    }
}

/// What [`libc::socket`] is asked for.
fn protocol(flow: &Flow) -> i32 {
    if flow.kind == Kind::Mptcp {
        libc::IPPROTO_MPTCP
    } else {
        0
    }
}

/// What went of some pieces.
#[derive(Default)]
struct Done {
    pieces: u64,
    bytes: u64,
    failure: Option<io::Error>,
}

struct Sender {
    socket: Arc<OwnedFd>,
    switch: Arc<Switch>,
    to: SocketAddr,
    keepalive: options::Keepalive,
    start_ns: i64,
    stop_ns: i64,
    bytes: Option<u64>,
    payload: Payload,
    message: Option<usize>,
    pace: Option<Pace>,
    periods: Periods,
    close: Close,
    /// What has become of sends without a copy, where that is asked for.
    zerocopy: Option<InPlace>,
}

/// Of sends without a copy: what the kernel has said, and how many calls had to wait until it had said it.
#[derive(Default)]
struct InPlace {
    completed: Cell<Completed>,
    refused: Cell<u64>,
}

fn sender(flow: &Flow, duration_ns: i64) -> Result<Task> {
    let (from, to) = (options::address(&flow.src, flow.sport)?, options::address(&flow.dst, flow.dport)?);
    let socket = Arc::new(options::bound(from, libc::SOCK_STREAM, protocol(flow))?);
    options::congestion_control(&socket, flow.cc.as_deref())?;
    options::buffers(&socket, flow)?;
    options::traffic_class(&socket, flow, to)?;
    options::tcp_number(&socket, libc::TCP_MAXSEG, "TCP_MAXSEG", flow.mss.map(|mss| mss as i32))?;
    options::tcp_number(&socket, libc::TCP_NODELAY, "TCP_NODELAY", flow.nodelay.map(i32::from))?;
    options::keepalive(&socket, flow)?;
    options::user_timeout(&socket, flow)?;
    options::fast_open_connect(&socket, flow)?;
    if let Some(bps) = flow.pacing_bps {
        sys::options::set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bps / 8)
            .context(format_args!("set SO_MAX_PACING_RATE to {bps} bit/s"))?;
    }
    if flow.zerocopy {
        zerocopy::allow(&socket).context("set SO_ZEROCOPY")?;
    }
    let switch = Switch::holding(&socket);
    let sender = Sender {
        socket,
        switch: Arc::clone(&switch),
        to,
        keepalive: options::Keepalive::of(flow)?,
        start_ns: flow.start_ns,
        stop_ns: flow.stop_or(duration_ns),
        bytes: flow.bytes,
        payload: Payload::new(flow.verify),
        message: flow.message_bytes.map(|bytes| bytes as usize),
        pace: flow.rate_bps.map(|bps| Pace::new(bps, flow.message_bytes)),
        periods: Periods::new(flow.start_ns, &flow.on),
        close: flow.close,
        zerocopy: flow.zerocopy.then(InPlace::default),
    };
    let stop = Stop { at_ns: flow.stop_or(duration_ns), how: Shutdown::Write };
    Ok(Task {
        flow: flow.id,
        work: Box::new(move |stage: &Stage| sender.run(stage.clock)),
        switch,
        stop: Some(stop),
    })
}

impl Sender {
    fn run(&self, clock: Clock) -> FlowEnd {
        let mut end = FlowEnd { bytes_sent: Some(0), ..FlowEnd::default() };
        if !super::wait(clock, self.start_ns, self.stop_ns) || self.switch.stopped() {
            return end;
        }
        if let Err(cause) = socket::connect(&self.socket, self.to) {
            let what = format!("connect to {}", self.to);
            end.error = Some(if self.switch.stopped() {
                format!("{what}: no answer before its end")
            } else {
                options::outcome(&what, &cause)
            });
            return end;
        }
        end.connected_ns = Some(clock.now());
        if let Err(error) = self.keepalive.set(&self.socket) {
            end.error = Some(error.to_string());
            return end;
        }
        let (sent, cause) = self.send_all(clock);
        end.bytes_sent = Some(sent);
        end.sender_done_ns = Some(clock.now());
        match cause {
            // The planned end closes the sending side under a blocked call: EPIPE then is no fault, nor is what a peer does
            // that is halted a moment earlier.
            Some(cause) if !self.ended_by(&cause) => {
                end.error = Some(options::outcome("send", &cause));
            }
            _ => self.take_leave(),
        }
        if let Some(all) = &self.zerocopy {
            let _ended = self.take_completed(all);
            end.zerocopy_sends = Some(all.completed.get().sends);
            end.zerocopy_copied = Some(all.completed.get().copied);
            end.zerocopy_refused = Some(all.refused.get());
        }
        end
    }

    /// Ends a connection whose data have been handed over. The socket closes when nobody holds it any more.
    fn take_leave(&self) {
        match self.close {
            Close::Wait => {
                socket::shutdown(&self.socket, Shutdown::Write);
                // The socket stays this process's own until the peer has taken everything.
                let _drained = socket::discard(&self.socket, READ_BYTES);
            }
            Close::Leave => {}
            Close::Reset => socket::reset_on_close(&self.socket),
        }
    }

    fn ended_by(&self, cause: &io::Error) -> bool {
        match cause.raw_os_error() {
            Some(libc::EPIPE) => self.switch.stopped(),
            Some(libc::ECONNRESET) => self.switch.halted(),
            _ => false,
        }
    }

    /// Sends until done, stopped or failed; gives the bytes the kernel accepted.
    fn send_all(&self, clock: Clock) -> (u64, Option<io::Error>) {
        let mut sent = 0;
        let mut piece = 0;
        while self.bytes.is_none_or(|bytes| sent < bytes) {
            let left = self.bytes.map_or(u64::MAX, |bytes| bytes - sent);
            let pieces = self.pace.map_or(0, |pace| self.pieces(pace, piece, left, clock));
            let result = match self.pace {
                Some(pace) if pieces > 0 => {
                    let done = self.send_pieces(pace, clock, piece..piece + pieces, sent);
                    piece += done.pieces;
                    sent += done.bytes;
                    done.failure.map_or(Ok(0), Err)
                }
                Some(pace) => {
                    let due_ns = self.periods.at(pace.due_ns(piece)).unwrap_or(self.stop_ns);
                    if !super::wait(clock, due_ns, self.stop_ns) {
                        return (sent, None);
                    }
                    piece += 1;
                    self.send_exactly(sent, left.min(pace.bytes))
                }
                None => self.send_much(sent, left),
            };
            match result {
                Ok(count) => sent += count,
                Err(cause) => return (sent, Some(cause)),
            }
        }
        (sent, None)
    }

    /// One call for as much as one call can carry, from this place of the stream on.
    fn send_much(&self, place: u64, left: u64) -> io::Result<u64> {
        let size = self.message.unwrap_or(WRITE_BYTES).clamp(1, WRITE_BYTES);
        if let Some(all) = &self.zerocopy {
            return self.send_in_place(all, place, left.min(size as u64) as usize);
        }
        let times = usize::try_from(left / size as u64).unwrap_or(usize::MAX);
        if times == 0 {
            return sys::socket::send(&self.socket, self.payload.at(place, left as usize))
                .map(|count| count as u64);
        }
        if let (None, Some(same)) = (self.message, self.payload.repeated()) {
            return same.send(&self.socket, times).map(|count| count as u64);
        }
        let places = (place..).step_by(size).take(times.min(socket::MAX_LIST));
        let messages: Vec<&[u8]> = places.map(|place| self.payload.at(place, size)).collect();
        socket::send_messages(&self.socket, &messages).map(|(_, bytes)| bytes as u64)
    }

    /// One call whose bytes the kernel takes from where they are. What it no longer needs is taken from it first, for it says
    /// only so much in advance.
    fn send_in_place(&self, all: &InPlace, place: u64, size: usize) -> io::Result<u64> {
        let mut has_waited = false;
        loop {
            self.take_completed(all)?;
            match zerocopy::send(&self.socket, self.payload.at(place, size)) {
                Err(cause) if cause.raw_os_error() == Some(libc::ENOBUFS) => {
                    all.refused.set(all.refused.get() + u64::from(!has_waited));
                    has_waited = true;
                    zerocopy::wait(&self.socket)?;
                }
                other => return other.map(|count| count as u64),
            }
        }
    }

    fn take_completed(&self, all: &InPlace) -> io::Result<()> {
        let (known, news) = (all.completed.get(), zerocopy::completed(&self.socket)?);
        all.completed.set(Completed { sends: known.sends + news.sends, copied: known.copied + news.copied });
        Ok(())
    }

    /// How many pieces from this one on are whole and due before the end, of those that one visit hands over.
    fn pieces(&self, pace: Pace, piece: u64, left: u64, clock: Clock) -> u64 {
        let handed_over =
            pace.bytes <= WRITE_BYTES as u64 && !clock.is_interruptible() && self.zerocopy.is_none();
        let most = if handed_over { (left / pace.bytes).min(PIECES) } else { 0 };
        let is_due = |piece: &u64| self.periods.at(pace.due_ns(*piece)).is_some_and(|ns| ns < self.stop_ns);
        (piece..piece + most).take_while(is_due).count() as u64
    }

    /// Sends these pieces from this place on, each when it is due, in one visit to the kernel.
    fn send_pieces(&self, pace: Pace, clock: Clock, pieces: Range<u64>, sent: u64) -> Done {
        let due = |piece| self.periods.at(pace.due_ns(piece)).unwrap_or(self.stop_ns);
        let times: Vec<Moment> = pieces.map(|piece| Moment::of(clock.start_ns() + due(piece))).collect();
        let size = pace.bytes as usize;
        let mut visit = Visit::new();
        let calls = times.iter().zip((sent..).step_by(size)).map(|(time, place)| {
            visit.sleep_until(time);
            let sent = visit.send(self.socket.as_fd(), self.payload.at(place, size));
            visit.needed_to_give(size);
            sent
        });
        let calls: Vec<_> = calls.collect();
        let mut done = Done::default();
        let results = match visit.carry_out() {
            Ok(results) => results,
            Err(cause) => return Done { failure: Some(cause), ..done },
        };
        for call in calls {
            done.pieces += 1;
            match results.of(call) {
                Ok(count) if count == size => done.bytes += count as u64,
                Ok(count) => {
                    // It was cut short. Why, the kernel says once: to whoever sends next.
                    done.bytes += count as u64;
                    match self.send_exactly(sent + done.bytes, (size - count) as u64) {
                        Ok(rest) => done.bytes += rest,
                        Err(cause) => done.failure = Some(cause),
                    }
                    break;
                }
                Err(cause) => return Done { failure: Some(cause), ..done },
            }
        }
        done
    }

    /// One message of a paced writer.
    fn send_exactly(&self, place: u64, bytes: u64) -> io::Result<u64> {
        let mut sent = 0;
        while sent < bytes {
            let size = (bytes - sent).min(WRITE_BYTES as u64) as usize;
            let taken = match &self.zerocopy {
                Some(all) => self.send_in_place(all, place + sent, size),
                None => sys::socket::send(&self.socket, self.payload.at(place + sent, size))
                    .map(|count| count as u64),
            };
            match taken {
                Ok(count) => sent += count,
                Err(cause) if sent == 0 => return Err(cause),
                Err(_) => break,
            }
        }
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_neither_drifts_nor_overflows() {
        let third = Pace::new(3, Some(1));
        assert_eq!((third.due_ns(1), third.due_ns(3)), (2_666_666_666, 8_000_000_000));
        let fast = Pace::new(400_000_000_000, Some(u32::MAX));
        assert_eq!(fast.due_ns(1_000_000) / 1_000_000_000, 85_899);
    }

    #[test]
    fn a_slow_writer_still_fills_packets() {
        assert_eq!(Pace::new(64_000, None).bytes, PACE_LEAST_BYTES);
        assert_eq!(Pace::new(100_000_000, None).bytes, 12_500);
        assert_eq!(Pace::new(100_000_000, Some(200)).bytes, 200);
    }
}
