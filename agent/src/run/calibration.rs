//! Is the link true? Idle round trips and packet trains along the paths, before the experiment starts.
//!
//! One packet or train is on its way at a time, and each is waited for until it came or can no longer come: nothing queues
//! behind a stranger, and the paths are empty again when this returns.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use crate::error::{Context, Result};
use crate::kernel::clock::realtime_offset_ns;
use crate::kernel::netns::Nodes;
use crate::kernel::sys::{self, socket};
use crate::path::disturb;
use crate::path::serial::Pace;
use crate::plan::{PingPath, Plan, Train};
use crate::result::{Calibration, Pings, TrainArrivals};
use crate::traffic::options;
use crate::traffic::ping::{Prober, NO_RIGHT};
use crate::traffic::udp;

/// After this long without an arrival, beyond all delays of the wires, the rest is lost: longer than a full-sized packet
/// takes at 1 kbit/s.
const PATIENCE_S: i64 = 20;
/// On a path of others: longer than any that TCP is used on.
const ANSWER_S: i64 = 2;

/// A device that has just come up drops packets until the kernel's own worker has put its queue to use, and timers are
/// coarse until the second tick after boot.
const SETTLE_NS: i64 = 50_000_000;

/// Identifiers of these echoes, apart from those of flows.
const FIRST_ID: u16 = 0x8000;

/// Where trains arrive: below the ports of flows.
const TRAIN_PORT: u16 = 5000;

/// Room for whole trains at both ends: the path is measured, not the sockets.
const SOCKET_BYTES: i32 = 32 << 20;

/// Measures every path and train of the plan, one after the other.
///
/// # Errors
/// Sockets that cannot be opened or paths without a route; what is lost on the way is data.
pub fn run(plan: &Plan, nodes: &Nodes) -> Result<Calibration> {
    sys::time::sleep_until(sys::time::monotonic_ns() + SETTLE_NS);
    let patience_s = patience_s(plan);
    let mut calibration = Calibration::default();
    for (index, path) in plan.calibration.paths.iter().enumerate() {
        let place = || format!("calibration {} → {}", path.from, path.to);
        let rtt_ns =
            nodes.within(&path.from, || ping(path, index, patience_s)).map_err(|error| error.at(place()))?;
        calibration.pings.push(Pings { path: index, rtt_ns });
    }
    for (index, train) in plan.calibration.trains.iter().enumerate() {
        let place = || format!("calibration {} → {}", train.from, train.to);
        let arrivals_ns = send_train(train, nodes, patience_s).map_err(|error| error.at(place()))?;
        calibration.trains.push(TrainArrivals { train: index, sent: train.packets, arrivals_ns });
    }
    Ok(calibration)
}

/// Idle round trips from a host along a path that is there, with or without somebody who answers.
///
/// # Errors
/// Sockets that cannot be opened or paths without a route.
pub fn from_here(plan: &Plan, nodes: &Nodes, warnings: &mut Vec<String>) -> Result<Vec<Pings>> {
    let mut pings = Vec::new();
    for (index, path) in plan.calibration.paths.iter().enumerate() {
        if !nodes.has(&path.from) {
            continue;
        }
        let place = || format!("calibration {} → {}", path.from, path.to);
        match ping(path, index, ANSWER_S) {
            Ok(rtt_ns) => {
                if rtt_ns.iter().all(|rtt_ns| *rtt_ns < 0) {
                    warnings.push(format!(
                        "{} does not answer echo requests from {}: perhaps a firewall drops ICMP",
                        path.dst, path.src
                    ));
                }
                pings.push(Pings { path: index, rtt_ns });
            }
            Err(error) if error.kind == NO_RIGHT => warnings.push(error.to_string()),
            Err(error) => return Err(error.at(place())),
        }
    }
    Ok(pings)
}

/// No path can be longer than all wires together.
fn patience_s(plan: &Plan) -> i64 {
    let wires = plan.links.iter().flat_map(|link| &link.ends).filter_map(|end| end.wire.as_ref());
    let longest_ns = wires.fold(0_u64, |sum, wire| {
        let sent_ns = wire.serial.map_or(0, |serial| 2 * Pace::of(&serial, 0).ahead_ns);
        sum.saturating_add(wire.delay_ns + wire.jitter_ns).saturating_add(sent_ns)
    });
    PATIENCE_S + (longest_ns / 1_000_000_000) as i64
}

fn patient(socket: &OwnedFd, patience_s: i64) -> Result<()> {
    let patience = libc::timeval { tv_sec: patience_s, tv_usec: 0 };
    sys::options::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, patience).context("set SO_RCVTIMEO")
}

/// Round trips, the next one when the last has come back.
fn ping(path: &PingPath, index: usize, patience_s: i64) -> Result<Vec<i64>> {
    let (from, to) = (options::address(&path.src, 0)?, options::address(&path.dst, 0)?);
    let prober = Prober::open(from, to, FIRST_ID | index as u16, path.size as usize)?;
    patient(&prober.socket, patience_s)?;
    let offset_ns = realtime_offset_ns();
    let mut found = Vec::new();
    for seq in 0..path.pings as u16 {
        // Who did not answer at all will not.
        let hopeless = patience_s == ANSWER_S && found.len() >= 2 && found.iter().all(|rtt_ns| *rtt_ns < 0);
        found.push(if hopeless { -1 } else { round_trip(&prober, seq, offset_ns)? });
    }
    Ok(found)
}

fn round_trip(prober: &Prober, seq: u16, offset_ns: i64) -> Result<i64> {
    disturb::here();
    let (sent_ns, asked) = prober.ask(seq);
    asked.context("send an echo request")?;
    // An answer to an earlier request may come late; an error means that the patience has ended.
    while let Ok(batch) = socket::receive_batch(&prober.socket, 1) {
        let answer = batch.first().filter(|packet| prober.answered(packet) == Some(seq));
        if let Some(realtime_ns) = answer.and_then(|packet| packet.realtime_ns) {
            return Ok(realtime_ns - offset_ns - sent_ns);
        }
    }
    Ok(-1)
}

/// Sends a train back to back; gives its arrivals counted from the first.
fn send_train(train: &Train, nodes: &Nodes, patience_s: i64) -> Result<Vec<i64>> {
    let to = options::address(&train.dst, TRAIN_PORT)?;
    let sink = nodes.within(&train.to, || {
        let socket = options::bound(to, libc::SOCK_DGRAM, 0)?;
        roomy(&socket, libc::SO_RCVBUFFORCE)?;
        udp::stamped(&socket)?;
        patient(&socket, patience_s)?;
        Ok(socket)
    })?;
    let source = nodes.within(&train.from, || train_source(train, to))?;
    let packet_bytes = (train.size as usize).max(udp::HEADER_BYTES);
    let packets: Vec<Vec<u8>> = (0..u64::from(train.packets))
        .map(|seq| {
            let mut packet = udp::header(u32::MAX, seq, 0).to_vec();
            packet.resize(packet_bytes, 0);
            packet
        })
        .collect();
    let messages: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    for burst in messages.chunks(socket::MAX_LIST) {
        socket::send_messages(&source, burst).context("send a train")?;
    }
    Ok(arrivals(&sink, packets.len()))
}

fn train_source(train: &Train, to: SocketAddr) -> Result<OwnedFd> {
    let socket = options::bound(options::address(&train.src, 0)?, libc::SOCK_DGRAM, 0)?;
    roomy(&socket, libc::SO_SNDBUFFORCE)?;
    socket::connect(&socket, to).context(format_args!("route to {}", to.ip()))?;
    Ok(socket)
}

/// Without the privilege the kernel's default has to do.
fn roomy(socket: &OwnedFd, option: i32) -> Result<()> {
    match sys::options::set_option(socket, libc::SOL_SOCKET, option, SOCKET_BYTES) {
        Err(cause) if cause.raw_os_error() != Some(libc::EPERM) => {
            Err(cause).context("make room for a train in a socket")
        }
        _ => Ok(()),
    }
}

fn arrivals(sink: &OwnedFd, expected: usize) -> Vec<i64> {
    let mut stamps: Vec<i64> = Vec::with_capacity(expected);
    while stamps.len() < expected {
        let wanted = (expected - stamps.len()).min(socket::MAX_LIST);
        let Ok(batch) = socket::receive_batch(sink, wanted) else { break };
        let ours = batch.iter().filter(|packet| udp::read_header(packet).is_some());
        stamps.extend(ours.filter_map(|packet| packet.realtime_ns));
        if batch.len() < wanted {
            break;
        }
    }
    // On several CPUs one may be taken up before another that came first.
    stamps.sort_unstable();
    let first = stamps.first().copied().unwrap_or(0);
    stamps.iter().map(|stamp| stamp - first).collect()
}
