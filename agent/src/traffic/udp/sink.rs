//! The receiving end: datagrams with the kernel's stamps, and with the traffic class in which each has come.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::error::{Context, Result};
use crate::kernel::clock::{realtime_offset_ns, Clock};
use crate::kernel::sys::socket::{Received, Wait};
use crate::kernel::sys::{self, socket};
use crate::plan::Flow;
use crate::traffic::payload::Corrupted;
use crate::traffic::schedule::{Stop, Switch};
use crate::traffic::tables::Row;
use crate::traffic::{self, options, FlowEnd, Stage, Task};

use super::slow::Slow;
use super::{read_header, stamped, HEADER_BYTES, USUAL_BYTES};

/// Datagrams for one visit to the kernel.
const BATCH: usize = 512;

/// Reads for one visit to the kernel where each may give many datagrams.
const MERGED_BATCH: usize = 16;

struct Sink {
    flow: u32,
    socket: Arc<OwnedFd>,
    switch: Arc<Switch>,
    slow: Option<Slow>,
    whole: Option<Whole>,
    gro: bool,
    /// Each byte is compared with the one that was sent.
    verify: bool,
}

/// What is received of datagrams that are looked at comes into so many bytes at most.
const LOOK_BYTES: usize = 4 << 20;

/// What the reader has taken: of datagrams that it takes whole the last ones' bytes, and how many reads gave some.
struct Reader {
    flow: u32,
    whole: Option<(Whole, Vec<u8>)>,
    reads: u64,
    /// What was wrong, where it looks.
    wrong: Option<Corrupted>,
}

/// How datagrams are taken whole.
#[derive(Debug, Clone, Copy)]
struct Whole {
    /// Bytes for one read.
    size: usize,
    /// Reads for one visit to the kernel.
    reads: usize,
    /// A read may give many datagrams.
    merged: bool,
}

impl Whole {
    /// Nothing where a datagram's header is all that is wanted of it.
    fn of(flow: &Flow) -> Option<Self> {
        if flow.gro {
            return Some(Self { size: socket::MERGED, reads: MERGED_BATCH, merged: true });
        }
        let size = flow.packet_bytes.unwrap_or(USUAL_BYTES).max(1) as usize;
        flow.verify.then(|| Self { size, reads: (LOOK_BYTES / size).clamp(1, BATCH), merged: false })
    }

    /// Reads for `most` datagrams. How many a merged read gives is known when it has: who wants few takes one at a time.
    fn reads_for(self, most: usize) -> usize {
        match (self.merged, most < BATCH) {
            (true, true) => 1,
            (true, false) => self.reads,
            (false, _) => most.min(self.reads),
        }
    }
}

pub(super) fn receiver(flow: &Flow, duration_ns: i64) -> Result<Task> {
    let at = options::address(&flow.dst, flow.dport)?;
    let socket = Arc::new(options::bound(at, libc::SOCK_DGRAM, 0)?);
    options::buffers(&socket, flow)?;
    stamped(&socket)?;
    if flow.read_class {
        classed(&socket, at)?;
    }
    if flow.gro {
        sys::options::set_option(&socket, libc::SOL_UDP, libc::UDP_GRO, 1_i32).context("set UDP_GRO")?;
    }
    let switch = Switch::holding(&socket);
    let slow = Slow::new(flow, flow.reading_until(duration_ns));
    let sink = Sink {
        flow: flow.id,
        socket,
        switch: Arc::clone(&switch),
        slow,
        whole: Whole::of(flow),
        gro: flow.gro,
        verify: flow.verify,
    };
    Ok(Task {
        flow: flow.id,
        work: Box::new(move |stage: &Stage| sink.run(stage)),
        switch,
        stop: Stop::of_receiver(flow),
    })
}

/// Asks for the traffic class, DSCP and ECN, of every datagram that arrives.
fn classed(socket: &OwnedFd, at: SocketAddr) -> Result<()> {
    let (level, name) = if at.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVTOS)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)
    };
    sys::options::set_option(socket, level, name, 1_i32).context("ask for the traffic class of datagrams")
}

impl Reader {
    fn new(sink: &Sink) -> Self {
        let whole = sink.whole.map(|whole| (whole, vec![0; whole.reads * whole.size]));
        Self { flow: sink.flow, whole, reads: 0, wrong: sink.verify.then(Corrupted::default) }
    }

    /// Takes `most` datagrams; of those that were put together one read more than it has to, at most.
    fn take(&mut self, socket: &OwnedFd, wait: Wait, most: usize) -> std::io::Result<Vec<Received>> {
        let Some((whole, buffer)) = &mut self.whole else {
            return socket::receive_datagrams(socket, wait, most);
        };
        let room = &mut buffer[..whole.reads_for(most) * whole.size];
        let (flow, wrong) = (self.flow, &mut self.wrong);
        let (taken, reads) = socket::receive_whole(socket, wait, room, whole.size, |datagram, bytes| {
            let number = read_header(datagram).filter(|&(of, ..)| of == flow).map(|(_, seq, _)| seq);
            if let (Some(wrong), Some(seq)) = (&mut *wrong, number) {
                wrong.look_at_datagram(seq, &bytes[HEADER_BYTES..]);
            }
        })?;
        self.reads += reads as u64;
        Ok(taken)
    }

    /// Datagrams that one visit gives where as many wait.
    fn most(&self) -> usize {
        self.whole.as_ref().filter(|(whole, _)| !whole.merged).map_or(BATCH, |(whole, _)| whole.reads)
    }
}

impl Sink {
    fn run(&self, stage: &Stage) -> FlowEnd {
        let offset_ns = realtime_offset_ns();
        let (mut packets, mut bytes, mut classes) = (0_u64, 0_u64, BTreeMap::new());
        let (mut error, mut due_ns) = (None, 0);
        let mut reader = Reader::new(self);
        while !self.switch.stopped()
            && self.slow.is_none_or(|slow| traffic::wait(stage.clock, due_ns, slow.end_ns))
        {
            let batch = match self.take(&mut reader) {
                Ok(batch) => batch,
                Err(cause) => {
                    error = Some(options::outcome("receive", &cause));
                    break;
                }
            };
            let rows = self.rows(&batch, stage.clock, offset_ns);
            packets += rows.len() as u64;
            let came =
                batch.iter().filter(|p| read_header(p).is_some()).map(|p| p.length as u64).sum::<u64>();
            bytes += came;
            self.count_classes(&batch, &mut classes);
            // By the packets' own stamps: what waking up takes is no part of the reader's rate.
            let begin_ns = rows.last().map_or(due_ns, |row| row.second_ns.max(due_ns));
            due_ns = self.slow.map_or(0, |slow| slow.next_ns(due_ns, begin_ns, came));
            if let Err(cause) = stage.tables.udp.append(&rows) {
                error = Some(cause.to_string());
                break;
            }
        }
        FlowEnd {
            packets_received: Some(packets),
            bytes_received: Some(bytes),
            reads: self.gro.then_some(reader.reads),
            corrupted_bytes: reader.wrong.map(|wrong| wrong.bytes),
            first_corrupted: reader.wrong.and_then(|wrong| wrong.first),
            classes,
            error: error.filter(|_| !self.switch.stopped()),
            ..FlowEnd::default()
        }
    }

    /// What the reader takes when it comes.
    fn take(&self, reader: &mut Reader) -> std::io::Result<Vec<Received>> {
        let Some(slow) = self.slow else { return reader.take(&self.socket, Wait::All, BATCH) };
        if slow.every_ns.is_none() {
            return reader.take(&self.socket, Wait::First, slow.most);
        }
        let mut taken = Vec::new();
        loop {
            let count = reader.most().min(slow.most - taken.len());
            let some = reader.take(&self.socket, Wait::None, count)?;
            // Of reads that may give many, only none at all says that nothing is left.
            let expected = if self.gro { 1 } else { count };
            let last = some.len() < expected || taken.len() + some.len() >= slow.most;
            taken.extend(some);
            if last {
                return Ok(taken);
            }
        }
    }

    fn rows(&self, batch: &[Received], clock: Clock, offset_ns: i64) -> Vec<Row> {
        let row = |packet: &Received| {
            let (flow, seq, tx_ns) = read_header(packet)?;
            let rx_ns = clock.since_start(packet.realtime_ns? - offset_ns);
            (flow == self.flow).then_some(Row { flow, seq: seq as u32, first_ns: tx_ns, second_ns: rx_ns })
        };
        batch.iter().filter_map(row).collect()
    }

    /// Counts this flow's datagrams by the traffic class in which they came.
    fn count_classes(&self, batch: &[Received], classes: &mut BTreeMap<u8, u64>) {
        let own = |packet: &&Received| read_header(packet).is_some_and(|(flow, ..)| flow == self.flow);
        for class in batch.iter().filter(own).filter_map(|packet| packet.class) {
            *classes.entry(class).or_default() += 1;
        }
    }
}
