//! UDP: numbered datagrams, sent by an absolute schedule, stamped by the kernel where they arrive.

mod pacer;
mod sink;
mod slow;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::error::{Context, Error, Result};
use crate::kernel::clock::Clock;
use crate::kernel::sys;
use crate::kernel::sys::socket;
use crate::plan::Flow;
use crate::traffic::FlowEnd;

use super::options;
use super::payload::Payload;
use super::schedule::{Periods, Switch};
use super::{Side, Stage, Task};
use pacer::Pacer;

const SECOND_NS: u128 = 1_000_000_000;

/// First word of every datagram: "RHUD", so that strangers are not counted.
const MAGIC: u32 = 0x4455_4852;

/// `magic`, `flow`, `seq` and `tx_ns`.
pub(crate) const HEADER_BYTES: usize = 24;

const USUAL_BYTES: u32 = 1472;
const LARGEST_BYTES: u32 = 65_507;

/// Faster than one datagram in this time, several leave together: as many as belong to [`BURST_NS`].
const SINGLE_NS: u64 = 20_000;
const BURST_NS: u64 = 50_000;

/// A sender that is behind its schedule, because its socket is full, hands over so many at once: a visit to the kernel costs more
/// than a datagram. Their send stamp is the moment of handing over.
const LATE: usize = 16;

/// The largest `UDP_MAX_SEGMENTS`. Older kernels take half as many: they say so themselves, when a burst is handed over.
const MOST_SEGMENTS: usize = 128;

pub(super) fn open(flow: &Flow, side: Side, duration_ns: i64) -> Result<Vec<Task>> {
    let task = match side {
        Side::From => sender(flow, duration_ns),
        Side::To => sink::receiver(flow, duration_ns),
    }?;
    Ok(vec![task])
}

struct Sender {
    flow: u32,
    socket: Arc<OwnedFd>,
    switch: Arc<Switch>,
    to: SocketAddr,
    periods: Periods,
    stop_ns: i64,
    count: u64,
    size: usize,
    /// Bytes of the last datagram of a burst.
    last: usize,
    rate_bps: u64,
    burst: usize,
    gso: bool,
    payload: Payload,
    sample_ns: i64,
    pacer: Option<Pacer>,
}

/// What was sent so far.
#[derive(Default)]
struct Sent {
    packets: u64,
    bytes: u64,
    refused: u64,
    error: Option<String>,
}

impl Sent {
    fn count(&mut self, outcome: std::io::Result<(usize, usize)>) {
        match outcome {
            Ok((packets, bytes)) => {
                (self.packets, self.bytes) = (self.packets + packets as u64, self.bytes + bytes as u64);
            }
            // An ICMP error of an earlier datagram, or no route just now: the schedule goes on.
            Err(cause) => {
                self.refused += 1;
                self.error.get_or_insert_with(|| options::outcome("send", &cause));
            }
        }
    }

    /// The first error that the kernel told. Of a datagram behind others that it took in one call it tells none.
    fn error(self) -> Option<String> {
        const UNTOLD: &str = "send: refused behind others of one call, which does not say why";
        self.error.or_else(|| (self.refused > 0).then(|| UNTOLD.to_owned()))
    }
}

fn sender(flow: &Flow, duration_ns: i64) -> Result<Task> {
    let (from, to) = (options::address(&flow.src, flow.sport)?, options::address(&flow.dst, flow.dport)?);
    let size = size_of(flow)?;
    let Some(rate_bps) = flow.rate_bps.filter(|bps| *bps > 0) else {
        return Err(Error::new("plan", "a udp flow needs rate_bps above 0"));
    };
    let socket = Arc::new(options::bound(from, libc::SOCK_DGRAM, 0)?);
    options::buffers(&socket, flow)?;
    options::traffic_class(&socket, flow, to)?;
    let switch = Switch::holding(&socket);
    let usual = burst(size as usize, rate_bps);
    let burst = flow.burst.map_or(usual, |many| (many as usize).clamp(1, socket::MAX_LIST));
    let last = last_of(flow, size, burst)?;
    if flow.gso {
        segmented(&socket, size as usize, burst)?;
    }
    let sender = Sender {
        flow: flow.id,
        // Closer together, each may find the clock past its instant: then only reading it tells when it left.
        pacer: (usual == 1 && burst == 1).then(|| Pacer::new(&socket, size as usize, flow.turn)).flatten(),
        socket,
        switch: Arc::clone(&switch),
        to,
        periods: Periods::new(flow.start_ns, &flow.on),
        stop_ns: flow.stop_or(duration_ns),
        count: flow.count.unwrap_or(u64::MAX),
        size: size as usize,
        last: last as usize,
        rate_bps,
        burst,
        gso: flow.gso,
        payload: Payload::new(flow.verify),
        sample_ns: flow.sample_ns,
    };
    Ok(Task {
        flow: flow.id,
        work: Box::new(move |stage: &Stage| sender.run(stage.clock)),
        switch,
        stop: None,
    })
}

/// Bytes of each datagram.
fn size_of(flow: &Flow) -> Result<u32> {
    let size = flow.packet_bytes.unwrap_or(USUAL_BYTES);
    if !(HEADER_BYTES as u32..=LARGEST_BYTES).contains(&size) {
        return Err(Error::new("plan", format!("packet_bytes is {size}"))
            .hint(format!("A numbered datagram has {HEADER_BYTES} to {LARGEST_BYTES} bytes")));
    }
    Ok(size)
}

/// Bytes of the last datagram of each burst.
fn last_of(flow: &Flow, size: u32, burst: usize) -> Result<u32> {
    let Some(last) = flow.last_bytes else { return Ok(size) };
    if flow.burst.is_none() || burst < 2 || !(HEADER_BYTES as u32..=size).contains(&last) {
        return Err(Error::new("plan", format!("last_bytes is {last}, with a burst of {burst}")).hint(format!(
            "The last of two or more datagrams has {HEADER_BYTES} to {size} bytes, as many as the others at most"
        )));
    }
    Ok(last)
}

/// Lets the kernel cut what is handed over into datagrams of `size` bytes.
fn segmented(socket: &OwnedFd, size: usize, burst: usize) -> Result<()> {
    if !(2..=MOST_SEGMENTS).contains(&burst) || burst * size > LARGEST_BYTES as usize {
        return Err(Error::new("plan", format!("gso with a burst of {burst} datagrams of {size} bytes")).hint(
            format!(
                "One packet for the kernel to cut holds 2 to {MOST_SEGMENTS} datagrams, {LARGEST_BYTES} bytes in all"
            ),
        ));
    }
    sys::options::set_option(socket, libc::SOL_UDP, libc::UDP_SEGMENT, size as i32)
        .context(format_args!("set UDP_SEGMENT to {size}"))
}

impl Sender {
    fn run(mut self, clock: Clock) -> FlowEnd {
        let mut end = FlowEnd::default();
        if let Err(cause) = socket::connect(&self.socket, self.to) {
            end.error = Some(options::outcome(&format!("route to {}", self.to), &cause));
            return end;
        }
        let pacer = self.pacer.take();
        let many = if pacer.is_some() { pacer::MOST } else { LATE };
        let mut packets = vec![0; self.size * self.burst.max(many)];
        let mut sent = Sent::default();
        let seq = pacer.map_or(0, |pacer| self.pace(pacer, clock, &mut packets, &mut sent));
        self.go_alone(clock, seq, self.count, &mut packets, &mut sent);
        end.sender_done_ns = Some(clock.now());
        (end.packets_sent, end.bytes_sent) = (Some(sent.packets), Some(sent.bytes));
        end.sends_refused = Some(sent.refused).filter(|refused| *refused > 0);
        end.error = sent.error();
        end
    }

    /// Sends from datagram `seq` on, one visit to the kernel after the other, until `end`; gives the first that is left.
    fn go_alone(&self, clock: Clock, mut seq: u64, end: u64, packets: &mut [u8], sent: &mut Sent) -> u64 {
        while seq < end.min(self.count)
            && super::wait(clock, self.due_ns(seq), self.stop_ns)
            && !self.switch.stopped()
        {
            let now_ns = clock.now();
            let late = late(seq, now_ns, self.stop_ns, |seq| self.due_ns(seq));
            // One packet of GSO is a burst, however late.
            let many = if self.gso { self.burst } else { self.burst.max(late) };
            let count = many.min(usize::try_from(self.count - seq).unwrap_or(usize::MAX));
            self.write_headers(packets, seq, |_| now_ns);
            self.send_each(packets, seq, count, sent);
            seq += count as u64;
        }
        seq
    }

    /// Sends `count` datagrams, from number `seq` on: one that the kernel refuses keeps none of those behind it back.
    fn send_each(&self, packets: &[u8], seq: u64, count: usize, sent: &mut Sent) {
        let mut done = 0;
        while done < count && (done == 0 || !self.switch.stopped()) {
            let left = count - done;
            let outcome = self.send(&packets[done * self.size..], seq + done as u64, left);
            // Of several datagrams the kernel says how many it took before one that it refused, or why it refused the first.
            let taken = outcome.as_ref().map_or(0, |&(packets, _)| packets);
            let untold = (1..left).contains(&taken) && !self.switch.stopped();
            done += if self.gso { left } else { taken.max(1) + usize::from(untold) };
            sent.refused += u64::from(untold);
            sent.count(outcome);
        }
    }

    /// Sends what can be sent with few visits to the kernel, and in between what cannot; gives the first datagram that is left.
    fn pace(&self, mut pacer: Pacer, clock: Clock, packets: &mut [u8], sent: &mut Sent) -> u64 {
        let mut seq = 0;
        let on_clock = |seq| clock.start_ns() + self.due_ns(seq);
        let in_time = |seq: &u64| *seq < self.count && self.due_ns(*seq) < self.stop_ns;
        let undisturbed = |seq: &u64| in_time(seq) && !self.is_read_at(*seq);
        while in_time(&seq) && !self.switch.stopped() {
            let wanted = (seq..).take(pacer::MOST).take_while(undisturbed).count();
            let many = if wanted == 0 { 0 } else { pacer.fitting(&self.socket, wanted) };
            if many == 0 {
                pacer.let_pass();
                // Where there is no room now, there will not be soon.
                let alone = if wanted < pacer::LEAST { wanted.max(1) } else { pacer::MOST };
                seq = self.go_alone(clock, seq, seq.saturating_add(alone as u64), packets, sent);
                continue;
            }
            self.write_headers(packets, seq, |seq| pacer.leaves_ns(on_clock(seq)) - clock.start_ns());
            let messages: Vec<&[u8]> = packets.chunks_exact(self.size).take(many).collect();
            match pacer.send(&self.socket, &messages, seq, on_clock) {
                Ok(outcomes) => {
                    for outcome in outcomes {
                        sent.count(outcome.map(|bytes| (1, bytes)));
                    }
                }
                Err(cause) => sent.count(Err(cause)),
            }
            seq += many as u64;
        }
        seq
    }

    /// Sends `count` datagrams, from number `seq` on.
    fn send(&self, packets: &[u8], seq: u64, count: usize) -> std::io::Result<(usize, usize)> {
        if count == 1 {
            return sys::socket::send(&self.socket, &packets[..self.bytes_of(seq)]).map(|size| (1, size));
        }
        if self.gso {
            let before = (count - 1) * self.size;
            let bytes = before + self.bytes_of(seq + count as u64 - 1);
            return socket::send(&self.socket, &packets[..bytes]).map(|size| (count, size));
        }
        let messages: Vec<&[u8]> = (seq..)
            .zip(packets.chunks_exact(self.size))
            .take(count)
            .map(|(seq, packet)| &packet[..self.bytes_of(seq)])
            .collect();
        socket::send_messages(&self.socket, &messages)
    }

    /// When datagram `seq` is due; whole numbers throughout, so that nothing drifts.
    fn due_ns(&self, seq: u64) -> i64 {
        let short = u128::from(seq / self.burst as u64) * (self.size - self.last) as u128;
        let bits = (u128::from(seq) * self.size as u128 - short) * 8;
        self.periods.at((bits * SECOND_NS / u128::from(self.rate_bps)) as i64).unwrap_or(self.stop_ns)
    }

    fn bytes_of(&self, seq: u64) -> usize {
        if (seq + 1) % self.burst as u64 == 0 {
            self.last
        } else {
            self.size
        }
    }

    /// Whether everything is read at about the instant of a datagram. Whoever reads the clock moves it on, so that one would leave
    /// later than it says.
    fn is_read_at(&self, seq: u64) -> bool {
        const READING_NS: i64 = 2048;
        let after_ns = (self.due_ns(seq) + READING_NS).rem_euclid(self.sample_ns.max(1));
        after_ns < 2 * READING_NS
    }

    fn write_headers(&self, packets: &mut [u8], first: u64, at_ns: impl Fn(u64) -> i64) {
        for (seq, packet) in (first..).zip(packets.chunks_exact_mut(self.size)) {
            let (head, rest) = packet.split_at_mut(HEADER_BYTES);
            head.copy_from_slice(&header(self.flow, seq, at_ns(seq)));
            if self.payload == Payload::Pattern {
                rest.copy_from_slice(self.payload.of_datagram(seq, rest.len()));
            }
        }
    }
}

/// Datagrams of `size` bytes that leave together.
fn burst(size: usize, rate_bps: u64) -> usize {
    let interval_ps = (size as u128 * 8 * SECOND_NS * 1000 / u128::from(rate_bps)).max(1);
    if interval_ps >= u128::from(SINGLE_NS) * 1000 {
        return 1;
    }
    let many = usize::try_from(u128::from(BURST_NS) * 1000 / interval_ps).unwrap_or(usize::MAX);
    many.clamp(1, socket::MAX_LIST)
}

pub(crate) fn header(flow: u32, seq: u64, tx_ns: i64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4..8].copy_from_slice(&flow.to_le_bytes());
    header[8..16].copy_from_slice(&seq.to_le_bytes());
    header[16..24].copy_from_slice(&tx_ns.to_le_bytes());
    header
}

/// Flow, number and send stamp of a datagram of ours.
pub(crate) fn read_header(packet: &socket::Received) -> Option<(u32, u64, i64)> {
    let head = &packet.head;
    let word = |at: usize| head[at..at + 4].try_into().map(u32::from_le_bytes).unwrap_or_default();
    let long = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or_default();
    (packet.length >= HEADER_BYTES && word(0) == MAGIC).then(|| (word(4), long(8), long(16) as i64))
}

/// Asks for the kernel's stamp of every datagram that arrives.
pub(crate) fn stamped(socket: &OwnedFd) -> Result<()> {
    sys::options::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1_i32)
        .context("set SO_TIMESTAMPNS")
}

/// How many datagrams from `seq` on are due by now. However late it is: what is due when the flow has ended is nobody's.
fn late(seq: u64, now_ns: i64, stop_ns: i64, due_ns: impl Fn(u64) -> i64) -> usize {
    (seq..).take(LATE).map(due_ns).take_while(|due_ns| *due_ns <= now_ns && *due_ns < stop_ns).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(bytes: &[u8]) -> socket::Received {
        let mut head = [0; socket::HEAD];
        let kept = bytes.len().min(socket::HEAD);
        head[..kept].copy_from_slice(&bytes[..kept]);
        socket::Received { length: bytes.len(), head, realtime_ns: None, class: None }
    }

    #[test]
    fn a_header_is_read_as_written_and_strangers_are_not() {
        let packet = header(7, u64::MAX - 1, -5);
        assert_eq!(read_header(&received(&packet)), Some((7, u64::MAX - 1, -5)));
        assert_eq!(read_header(&received(&packet[..HEADER_BYTES - 1])), None);
        assert_eq!(read_header(&received(&[0; 100])), None);
    }

    #[test]
    fn what_is_due_by_now_leaves_together_and_nothing_that_is_due_after_the_end() {
        let due_ns = |seq: u64| 10 * i64::try_from(seq).expect("few");
        assert_eq!(late(147, 1470, 1500, due_ns), 1);
        assert_eq!(late(147, 1489, 1500, due_ns), 2);
        assert_eq!(late(147, 1514, 1500, due_ns), 3);
        assert_eq!(late(0, 1514, 1500, due_ns), LATE);
    }

    #[test]
    fn only_fast_senders_send_bursts() {
        // 1000 bytes each: one every 20 µs, every 10 µs, every 8 ns.
        for (rate_bps, expected) in
            [(400_000_000, 1), (800_000_000, 5), (1_000_000_000_000, socket::MAX_LIST)]
        {
            assert_eq!(burst(1000, rate_bps), expected);
        }
    }
}
