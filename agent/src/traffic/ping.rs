//! ICMP echo: requests by an absolute schedule, answers stamped by the kernel.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::kernel::clock::realtime_offset_ns;
use crate::kernel::sys;
use crate::kernel::sys::socket;
use crate::kernel::sys::visit::{Moment, Visit};
use crate::plan::Flow;
use crate::traffic::FlowEnd;

use super::options;
use super::schedule::Switch;
use super::tables::Row;
use super::{Side, Stage, Task};

const HEADER_BYTES: usize = 8;
const USUAL_BYTES: u32 = 56;
const LARGEST_BYTES: u32 = 65_000;
const USUAL_INTERVAL_NS: i64 = 1_000_000_000;
const BATCH: usize = 128;

/// The kind of what this user may not do.
pub(crate) const NO_RIGHT: &str = "permission";

/// Request and answer of RFC 792 and RFC 4443.
const ECHO_V4: (u8, u8) = (8, 0);
const ECHO_V6: (u8, u8) = (128, 129);

/// A raw socket that sends echo requests to one address and hears only the answers to its own identifier.
#[derive(Debug)]
pub(crate) struct Prober {
    pub socket: Arc<OwnedFd>,
    v4: bool,
    /// Whether answers come with the IP header before them.
    headed: bool,
    id: u16,
    size: usize,
}

impl Prober {
    /// `size` is the payload behind the ICMP header, in bytes.
    pub fn open(from: SocketAddr, to: SocketAddr, id: u16, size: usize) -> Result<Self> {
        let protocol = if to.is_ipv4() { libc::IPPROTO_ICMP } else { libc::IPPROTO_ICMPV6 };
        let (socket, raw) = echo_socket(from, protocol)?;
        sys::options::set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1_i32)
            .context("set SO_TIMESTAMPNS")?;
        if raw {
            socket::attach_filter(&socket, &mut answers_to(id, to.is_ipv4()))
                .context("filter echo answers")?;
        }
        socket::connect(&socket, to)
            .context(format_args!("route to {}", to.ip()))
            .map_err(|error| error.kind("flow").hint("The plan's routes must lead there"))?;
        Ok(Self { socket: Arc::new(socket), v4: to.is_ipv4(), headed: raw && to.is_ipv4(), id, size })
    }

    /// A request with this number.
    fn request(&self, seq: u16) -> Vec<u8> {
        let mut packet = vec![0; HEADER_BYTES + self.size];
        packet[0] = if self.v4 { ECHO_V4.0 } else { ECHO_V6.0 };
        packet[4..6].copy_from_slice(&self.id.to_be_bytes());
        packet[6..8].copy_from_slice(&seq.to_be_bytes());
        if self.v4 {
            // The kernel fills in the checksum of ICMPv6, but not this one.
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    /// Reads the clock and sends a request, in one visit; gives the instant on `CLOCK_MONOTONIC`, and what came of it.
    pub fn ask(&self, seq: u16) -> (i64, io::Result<usize>) {
        let (packet, mut now) = (self.request(seq), Moment::of(0));
        let mut visit = Visit::new();
        visit.clock(&mut now);
        let sent = visit.send(self.socket.as_fd(), &packet);
        let outcome = visit.carry_out().and_then(|results| results.of(sent));
        (now.ns(), outcome)
    }

    /// The number of the request that this packet answers. A raw socket of IPv4 hands over that header too.
    pub fn answered(&self, packet: &socket::Received) -> Option<u16> {
        let at = if self.headed { usize::from(packet.head[0] & 0x0f) * 4 } else { 0 };
        let number = packet.head.get(at + 6..at + HEADER_BYTES)?;
        (packet.length >= at + HEADER_BYTES).then(|| u16::from_be_bytes([number[0], number[1]]))
    }
}

/// A raw socket, or, for those who may not have one, the kernel's own kind for echo requests, which puts an identifier of its
/// own into them. Tells whether it is raw.
fn echo_socket(from: SocketAddr, protocol: i32) -> Result<(OwnedFd, bool)> {
    let refusal = match sys::socket::open(socket::family(from), libc::SOCK_RAW, protocol) {
        Ok(socket) => return options::bind(&socket, from).map(|()| (socket, true)),
        Err(cause) if cause.raw_os_error() == Some(libc::EPERM) => cause,
        Err(cause) => return Err(Error::system("open a socket", &cause)),
    };
    match sys::socket::open(socket::family(from), libc::SOCK_DGRAM, protocol) {
        Ok(socket) => options::bind(&socket, from).map(|()| (socket, false)),
        Err(_) => Err(Error::new(NO_RIGHT, format!("open a socket for echo requests: {refusal}")).hint(
            "It takes root (CAP_NET_RAW), or this user's group in the sysctl net.ipv4.ping_group_range.",
        )),
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(packet: &[u8]) -> u16 {
    let words =
        packet.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Accepts a packet when it is an echo answer with this identifier.
fn answers_to(id: u16, v4: bool) -> Vec<libc::sock_filter> {
    let word = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let unless = |k: u32, jf: u8| libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf,
        k,
    };
    let (mode, answer) = if v4 { (libc::BPF_IND, ECHO_V4.1) } else { (libc::BPF_ABS, ECHO_V6.1) };
    let mut program = Vec::new();
    if v4 {
        // X = length of the IPv4 header, which comes first.
        program.push(word(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0));
    }
    program.extend([
        word(libc::BPF_LD | libc::BPF_B | mode, 0),
        unless(u32::from(answer), 3),
        word(libc::BPF_LD | libc::BPF_H | mode, 4),
        unless(u32::from(id), 1),
        word(libc::BPF_RET | libc::BPF_K, u32::MAX),
        word(libc::BPF_RET | libc::BPF_K, 0),
    ]);
    program
}

/// What both threads of a flow know: send and receive stamps by number; the one that ends last writes the table.
#[derive(Debug, Default)]
struct Echoes {
    stamps: Mutex<Vec<(i64, i64)>>,
    heard: Condvar,
    /// Whether somebody waits to hear one: telling nobody would be a visit to the kernel, too.
    awaited: AtomicBool,
    ended: AtomicUsize,
}

impl Echoes {
    fn stamps(&self) -> MutexGuard<'_, Vec<(i64, i64)>> {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest request with these low 16 bits.
    fn answer(&self, low: u16, rx_ns: i64) {
        let mut stamps = self.stamps();
        let Some(newest) = stamps.len().checked_sub(1) else { return };
        let back = usize::from((newest as u16).wrapping_sub(low));
        if let Some(seq) = newest.checked_sub(back) {
            if stamps[seq].1 < 0 {
                stamps[seq].1 = rx_ns;
                if self.awaited.load(Ordering::SeqCst) {
                    self.heard.notify_one();
                }
            }
        }
    }

    /// A request that is about to leave: its number.
    fn expect_one(&self) -> usize {
        let mut stamps = self.stamps();
        stamps.push((0, -1));
        stamps.len() - 1
    }

    /// Unless the newest request is answered already, waits for any answer, no longer than `patience_ns`. Tells whether it waited.
    fn await_answer(&self, patience_ns: i64) -> bool {
        let stamps = self.stamps();
        let waits = stamps.last().is_some_and(|(_, rx_ns)| *rx_ns < 0);
        if waits {
            let patience = Duration::from_nanos(u64::try_from(patience_ns).unwrap_or(0));
            self.awaited.store(true, Ordering::SeqCst);
            drop(self.heard.wait_timeout(stamps, patience).unwrap_or_else(PoisonError::into_inner));
            self.awaited.store(false, Ordering::SeqCst);
        }
        waits
    }

    fn end(&self, flow: u32, stage: &Stage) -> Result<()> {
        if self.ended.fetch_add(1, Ordering::SeqCst) == 0 {
            return Ok(());
        }
        let stamps = self.stamps();
        let row = |(seq, (tx, rx)): (usize, &(i64, i64))| Row {
            flow,
            seq: seq as u32,
            first_ns: *tx,
            second_ns: *rx,
        };
        stage.tables.ping.append(&stamps.iter().enumerate().map(row).collect::<Vec<_>>())
    }
}

struct Asker {
    flow: u32,
    prober: Arc<Prober>,
    echoes: Arc<Echoes>,
    switch: Arc<Switch>,
    start_ns: i64,
    stop_ns: i64,
    interval_ns: i64,
    patience_ns: Option<i64>,
    count: u64,
}

struct Listener {
    flow: u32,
    prober: Arc<Prober>,
    echoes: Arc<Echoes>,
    switch: Arc<Switch>,
    batch: usize,
}

/// Both threads live where the flow comes from; the kernel answers at the other side.
pub(super) fn open(flow: &Flow, side: Side, duration_ns: i64) -> Result<Vec<Task>> {
    if side == Side::To {
        return Ok(Vec::new());
    }
    let payload = flow.packet_bytes.unwrap_or(USUAL_BYTES);
    if payload > LARGEST_BYTES {
        return Err(
            Error::new("plan", format!("packet_bytes is {payload}")).hint(format!("At most {LARGEST_BYTES}"))
        );
    }
    let (from, to) = (options::address(&flow.src, 0)?, options::address(&flow.dst, 0)?);
    let prober = Arc::new(Prober::open(from, to, flow.id as u16, payload as usize)?);
    options::traffic_class(&prober.socket, flow, to)?;
    if flow.whole {
        options::never_fragment(&prober.socket, to)?;
    }
    let echoes = Arc::new(Echoes::default());
    let asker = Asker {
        flow: flow.id,
        prober: Arc::clone(&prober),
        echoes: Arc::clone(&echoes),
        switch: Arc::default(),
        start_ns: flow.start_ns,
        stop_ns: flow.stop_or(duration_ns),
        interval_ns: flow.interval_ns.unwrap_or(USUAL_INTERVAL_NS).max(1),
        patience_ns: flow.patience_ns,
        count: flow.count.unwrap_or(u64::MAX),
    };
    let switch = Switch::holding(&prober.socket);
    // An answer that somebody waits for is told at once; others can wait inside the kernel.
    let batch = if flow.patience_ns.is_some() { 1 } else { BATCH };
    let listener = Listener { flow: flow.id, prober, echoes, switch: Arc::clone(&switch), batch };
    let asking = Arc::clone(&asker.switch);
    Ok(vec![
        Task { flow: flow.id, work: Box::new(move |stage| asker.run(stage)), switch: asking, stop: None },
        Task { flow: flow.id, work: Box::new(move |stage| listener.run(stage)), switch, stop: None },
    ])
}

impl Asker {
    fn run(&self, stage: &Stage) -> FlowEnd {
        let mut end = FlowEnd::default();
        let mut seq = 0;
        while seq < self.count && self.wait(stage, seq) && !self.switch.stopped() {
            if let Err(cause) = self.ask(stage, seq as u16) {
                end.error = end.error.or_else(|| Some(options::outcome("send an echo request", &cause)));
            }
            seq += 1;
        }
        end.packets_sent = Some(seq);
        end.bytes_sent = Some(seq * self.prober.size as u64);
        end.sender_done_ns = Some(stage.clock.now());
        end.error =
            end.error.or_else(|| self.echoes.end(self.flow, stage).err().map(|cause| cause.to_string()));
        end
    }

    /// Reads the clock and sends a request.
    fn ask(&self, stage: &Stage, seq: u16) -> io::Result<usize> {
        // Where it takes no time to answer, the answer is heard before this goes on.
        let request = self.echoes.expect_one();
        let (sent_ns, outcome) = self.prober.ask(seq);
        self.echoes.stamps()[request].0 = stage.clock.since_start(sent_ns);
        outcome
    }

    /// Waits until request `seq` may leave; gives `false` when the flow ends first.
    ///
    /// Without patience requests have an absolute schedule. With it one leaves when the interval since the one before has passed
    /// and an answer has come or is waited for no longer, as iputils' ping does where it cannot sleep as shortly as it should.
    fn wait(&self, stage: &Stage, seq: u64) -> bool {
        let Some(patience_ns) = self.patience_ns else {
            let due_ns = self.start_ns.saturating_add((seq as i64).saturating_mul(self.interval_ns));
            return super::wait(stage.clock, due_ns, self.stop_ns);
        };
        let last_ns = self.echoes.stamps().last().map(|(tx_ns, _)| *tx_ns);
        let due_ns = last_ns.map_or(self.start_ns, |tx_ns| tx_ns.saturating_add(self.interval_ns));
        if due_ns >= self.stop_ns {
            return super::wait(stage.clock, due_ns, self.stop_ns);
        }
        let now_ns = stage.clock.awake_at(due_ns);
        let until_ns = last_ns.map_or(due_ns, |tx_ns| tx_ns.saturating_add(patience_ns)).min(self.stop_ns);
        let waited = self.echoes.await_answer(until_ns - now_ns);
        (if waited { stage.clock.now() } else { now_ns }) < self.stop_ns
    }
}

impl Listener {
    fn run(&self, stage: &Stage) -> FlowEnd {
        let offset_ns = realtime_offset_ns();
        let mut error = None;
        while !self.switch.halted() {
            match socket::receive_batch(&self.prober.socket, self.batch) {
                Ok(batch) => {
                    for packet in &batch {
                        if let (Some(low), Some(at)) = (self.prober.answered(packet), packet.realtime_ns) {
                            self.echoes.answer(low, stage.clock.since_start(at - offset_ns));
                        }
                    }
                }
                // An ICMP error about an earlier request.
                Err(cause) => {
                    error = error.or_else(|| Some(options::outcome("receive an echo answer", &cause)));
                }
            }
        }
        let answered = self.echoes.stamps().iter().filter(|(_, rx_ns)| *rx_ns >= 0).count() as u64;
        let written = self.echoes.end(self.flow, stage);
        FlowEnd {
            packets_received: Some(answered),
            bytes_received: Some(answered * self.prober.size as u64),
            error: error.or_else(|| written.err().map(|cause| cause.to_string())),
            ..FlowEnd::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_with_its_checksum_sums_to_nothing() {
        let mut packet = vec![8, 0, 0, 0, 0x12, 0x34, 0xab, 0xcd, 0xff];
        let sum = checksum(&packet);
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&packet), 0);
    }

    #[test]
    fn an_answer_belongs_to_the_newest_request_of_its_number() {
        let echoes = Echoes::default();
        *echoes.stamps() = vec![(0, -1); 70_000];
        echoes.answer(5, 1);
        echoes.answer((69_999 % 65_536) as u16, 2);
        echoes.answer(60_000, 3);
        let stamps = echoes.stamps();
        let answered: Vec<_> = (0..70_000).filter(|seq| stamps[*seq].1 >= 0).collect();
        assert_eq!(answered, [60_000, 65_541, 69_999]);
    }

    #[test]
    fn an_answer_without_a_request_is_nobodys() {
        let echoes = Echoes::default();
        echoes.answer(0, 1);
        *echoes.stamps() = vec![(0, -1); 3];
        echoes.answer(3, 1);
        assert!(echoes.stamps().iter().all(|(_, rx_ns)| *rx_ns < 0));
    }

    #[test]
    fn nothing_is_waited_for_once_the_newest_request_is_answered() {
        let echoes = Echoes::default();
        echoes.await_answer(i64::MAX);
        *echoes.stamps() = vec![(0, -1), (1, -1)];
        echoes.answer(1, 2);
        echoes.await_answer(i64::MAX);
        echoes.stamps().push((3, -1));
        echoes.await_answer(1);
        assert_eq!(echoes.stamps().last(), Some(&(3, -1)));
    }
}
